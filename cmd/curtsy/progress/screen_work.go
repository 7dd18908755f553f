package progress

import (
	"fmt"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// work is how far a long work is at one instant.
type work struct {
	Name  string
	Part  string // of it, that is under way; empty for none
	Thing string // that is counted; empty for bytes
	Done  int64
	Total int64 // zero: not known
	Took  time.Duration
}

// count writes a number of things, or bytes.
func (w work) count(n int64) string {
	if w.Thing == "" {
		return plainly.RoughSize(n)
	}
	return plainly.Count(n, w.Thing)
}

// far is how far it is, in words.
func (w work) far() string {
	if w.Total == 0 {
		return w.count(w.Done)
	}
	done := plainly.RoughSize(w.Done)
	if w.Thing != "" {
		done = fmt.Sprint(w.Done)
	}
	return done + " of " + w.count(w.Total)
}

// rate is how much is done in a second; empty where that is not known yet.
func (w work) rate() string {
	if w.Took < time.Second || w.Done == 0 {
		return ""
	}
	n := float64(w.Done) / w.Took.Seconds()
	if w.Thing == "" {
		return plainly.RoughSize(int64(n)) + "/s"
	}
	return perSecond(n) + "/s"
}

// left is how long it still takes at that rate; empty where that is not known.
func (w work) left() string {
	if w.Took < 2*time.Second || w.Done == 0 || w.Total == 0 || w.Done >= w.Total {
		return ""
	}
	left := time.Duration(float64(w.Took) / float64(w.Done) * float64(w.Total-w.Done))
	return status.Roughly(max(left, time.Second)) + " left"
}

// name is the work with its part.
func (w work) name() string {
	if w.Part == "" {
		return w.Name
	}
	return w.Name + ": " + w.Part
}

// share is how much of all is done, from 0 to 1.
func (w work) share() float64 { return min(float64(w.Done)/float64(max(w.Total, 1)), 1) }

// Bar is a work in one line of a terminal of so many columns.
func Bar(w work, columns int) terminalLine {
	l := terminalLine{{Text: w.name(), Style: bold}, {Text: "  "}}
	if w.Total > 0 {
		cells := 30
		if columns < 100 {
			cells = max(columns/4-2, 4)
		}
		l = append(l, terminalPart{Text: fmt.Sprintf("%3.0f %% ", 100*w.share())}, terminalPart{Text: bar(w.share(), cells), Style: green})
	}
	for i, s := range []string{w.left(), w.far(), w.rate()} {
		if s != "" {
			if i == 0 || w.Total > 0 || i == 2 {
				s = "  " + s
			}
			l = append(l, terminalPart{Text: s})
		}
	}
	return l
}

// plainWork is a work in one line, for where there is no terminal.
func plainWork(w work) string {
	line := text.Clock(w.Took) + " " + w.name() + "  " + w.far()
	if w.Total > 0 {
		line += fmt.Sprintf(", %.0f %%", 100*w.share())
	}
	for _, s := range []string{w.rate(), w.left()} {
		if s != "" {
			line += ", " + s
		}
	}
	return plainly.OneLine(line)
}
