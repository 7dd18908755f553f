package progress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// Full is a crawl on a whole screen of so many columns and lines.
func Full(v View, columns, rows int) []terminalLine {
	s := &v.Look.Status
	lines := []terminalLine{
		{{Text: v.elapsed() + " "}, v.state(), {Text: "  " + plainly.Count(s.Hosts, "host") + ", " + plainly.RoughSize(s.Bytes)}, {Text: "  " + v.Dir, Style: bold}},
		nil,
	}
	row := func(name string, parts ...terminalPart) {
		if len(parts) > 0 {
			lines = append(lines, append(terminalLine{{Text: pad(name, label), Style: dim}}, parts...))
		}
	}
	folded := func(name string, parts terminalLine) {
		for _, part := range screenBroken(parts, columns-label) {
			row(name, part...)
			name = ""
		}
	}
	folded("URLs", v.urls())
	if s.Opens != nil {
		row("window", terminalPart{Text: "closed; continues at " + s.Opens.Format(opening), Style: yellow})
	}
	if s.State == "running" {
		row("rate", v.speed()...)
		row("", v.reached(columns)...)
		row("end", v.end()...)
		if e := v.Look.Estimate; e.Host != "" {
			row("", terminalPart{Text: "by "}, terminalPart{Text: e.Host, Style: cyan}, terminalPart{Text: fmt.Sprintf(", pace %v (%s)", e.Pace, e.PaceBy)})
		}
		folded("hosts", v.waits())
		for i, line := range fold(v.Look.Waits.Why(s.State, v.Rates.Exchanges, v.Rates.Permitted), columns-label) {
			row([]string{"why", ""}[min(i, 1)], terminalPart{Text: line})
		}
	}
	if len(s.Failures) > 0 {
		folded("failures", counted(s.Failures))
	}
	return v.lists(lines, columns, rows)
}

// label is how wide the names of rows are.
const label = 10

// screenBroken breaks a line between its parts where it is too wide. A part that is too wide alone stays whole.
func screenBroken(l terminalLine, columns int) (lines []terminalLine) {
	var line terminalLine
	width := 0
	for _, p := range l {
		w := terminalWidth(strings.TrimRight(plainly.OneLine(p.Text), ", "))
		if len(line) > 0 && width+w > columns {
			lines, line, width = append(lines, line), nil, 0
			if p.Text = strings.TrimLeft(p.Text, ", "); p.Text == "" {
				continue
			}
		}
		line, width = append(line, p), width+terminalWidth(plainly.OneLine(p.Text))
	}
	if len(line) > 0 {
		lines = append(lines, line)
	}
	return lines
}

// urls are the outcomes.
func (v *View) urls() (l terminalLine) {
	s := &v.Look.Status
	for _, x := range []struct {
		n     int64
		what  string
		style style
		all   bool
	}{
		{s.Fetched, "fetched", green, true}, {v.left(), "to go", bold, true}, {s.Failed, "failed", red, false},
		{s.Gone, "gone", plain, false}, {s.Redirected, "redirected", plain, false},
		{s.Disallowed, "disallowed", plain, false}, {s.Dropped + s.Held, "dropped", plain, false},
	} {
		if x.n == 0 && !x.all {
			continue
		}
		if len(l) > 0 {
			l = append(l, terminalPart{Text: ", "})
		}
		l = append(l, terminalPart{Text: fmt.Sprintf("%d %s", x.n, x.what), Style: x.style})
	}
	return l
}

// reached is the share of the permitted rate that was reached.
func (v *View) reached(columns int) terminalLine {
	share, ok := v.share()
	if !ok {
		return nil
	}
	return terminalLine{{Text: bar(share, min(max(columns-40, 10), 40)), Style: green}, {Text: fmt.Sprintf(" %.0f %% of permitted", 100*share)}}
}

// counted lists classes, the most frequent first.
func counted(classes map[string]int64) (l terminalLine) {
	names := slices.Collect(maps.Keys(classes))
	slices.SortFunc(names, func(a, b string) int {
		if d := classes[b] - classes[a]; d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		if i > 0 {
			l = append(l, terminalPart{Text: ", "})
		}
		l = append(l, terminalPart{Text: fmt.Sprintf("%d %s", classes[name], plainly.Reason(name)), Style: red})
	}
	return l
}

// lists fills what is left of the screen with hosts: those that decide, and those that are left alone.
func (v *View) lists(lines []terminalLine, columns, rows int) []terminalLine {
	s := &v.Look.Status
	room := rows - len(lines)
	queues := min(len(s.Longest), room-2)
	if len(s.Resting) > 0 {
		queues = min(queues, room*2/3-2)
	}
	if queues > 0 {
		room -= queues + 2
		lines = append(lines, nil, terminalLine{{Text: queueHead(columns), Style: dim}})
		for _, q := range longestFirst(s.Longest)[:queues] {
			lines = append(lines, queueLine(q, columns))
		}
	}
	if alone := min(len(s.Resting), room-2); alone > 0 {
		lines = append(lines, nil, terminalLine{{Text: "NOT CONTACTED", Style: dim}})
		for _, r := range s.Resting[:alone] {
			lines = append(lines, restLine(r))
		}
	}
	return lines
}

// longestFirst are queues by how long each takes.
func longestFirst(all []status.Queue) []status.Queue {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b status.Queue) int {
		x, y := float64(a.Pending)*a.Pace, float64(b.Pending)*b.Pace
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return all
}

// narrow is below how many columns a table has its host and what is left alone.
const narrow = 60

func queueHead(columns int) string {
	if columns < narrow {
		return fmt.Sprintf("%8s %7s  %s", "LEFT", "TAKES", "HOST")
	}
	return fmt.Sprintf("%8s %8s %7s %7s %7s  %s", "LEFT", "FETCHED", "DELAY", "DUE IN", "TAKES", "HOST")
}

func queueLine(q status.Queue, columns int) terminalLine {
	takes := text.ShortWait(time.Duration(float64(q.Pending) * q.Pace * float64(time.Second)))
	due := text.ShortWait(text.Seconds(q.Wait))
	if q.Never {
		due = "never"
	}
	cells := fmt.Sprintf("%8d %8d %7s %7s %7s  ", q.Pending, q.Fetched, text.ShortWait(text.Seconds(q.Pace)), due, takes)
	if columns < narrow {
		cells = fmt.Sprintf("%8d %7s  ", q.Pending, takes)
	}
	l := terminalLine{{Text: cells}, {Text: q.Host, Style: cyan}}
	if q.State != "" {
		l = append(l, terminalPart{Text: "  (" + q.State + ")", Style: yellow})
	}
	return l
}

func restLine(r status.Resting) terminalLine {
	l := terminalLine{{Text: fmt.Sprintf("%8d ", r.Pending)}, {Text: r.Host, Style: cyan}, {Text: " " + r.Condition, Style: yellow}}
	if r.Reason != "" {
		l = append(l, terminalPart{Text: ": " + plainly.Reason(r.Reason)})
	}
	if r.Wait > 0 && strings.HasPrefix(r.Condition, "parked") {
		l = append(l, terminalPart{Text: fmt.Sprintf("; next try in %v", text.Seconds(r.Wait).Round(time.Second))})
	}
	return l
}
