package progress

import (
	"fmt"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// View is a crawl at one instant.
type View struct {
	Dir     string
	At      time.Time // in the zone that times of day are told in
	Running bool
	Look    status.Look
	Rates   status.Rates // of the last seconds
}

// left is how many URLs are to go.
func (v *View) left() int64 {
	s := &v.Look.Status
	return s.Queued + s.InFlight + s.Deferred
}

// elapsed is how long the run has gone on.
func (v *View) elapsed() string { return text.Clock(text.Seconds(v.Look.Status.Elapsed)) }

// compact is a crawl in at most three lines, for beside its own sentences.
func compact(v View) []terminalLine {
	s := &v.Look.Status
	head := terminalLine{
		{Text: v.elapsed() + " "}, v.state(), {Text: fmt.Sprintf("  %d fetched  %d to go", s.Fetched, v.left())},
	}
	if n := s.Failed; n > 0 {
		head = append(head, terminalPart{Text: fmt.Sprintf("  %d failed", n), Style: red})
	}
	head = append(head, terminalPart{Text: "  " + plainly.Count(s.Hosts, "host")})
	if n := s.Parked + s.Retired + s.Refused; n > 0 {
		head = append(head, terminalPart{Text: fmt.Sprintf(" (%d resting)", n), Style: yellow})
	}
	head = append(head, terminalPart{Text: "  " + plainly.RoughSize(s.Bytes), Style: dim})
	lines := []terminalLine{head}
	if s.Opens != nil {
		lines = append(lines, terminalLine{{Text: "outside its window; continues at " + s.Opens.Format(opening), Style: yellow}})
	}
	if s.State != "running" {
		return lines
	}
	second := append(v.end(), terminalPart{Text: "  " + perSecond(v.Rates.Pages) + " pages/s", Style: bold})
	if share, ok := v.share(); ok {
		second = append(second, terminalPart{Text: fmt.Sprintf(", %.0f %% of permitted", 100*share)})
	}
	lines = append(lines, append(second, terminalPart{Text: ", " + plainly.RoughSize(int64(v.Rates.Bytes)) + "/s", Style: dim}))
	if waits := v.waits(); len(waits) > 0 {
		third := append(terminalLine{{Text: "waiting for ", Style: dim}}, waits...)
		if q := v.slowest(); q != nil {
			third = append(third, terminalPart{Text: "; longest "}, terminalPart{Text: q.Host, Style: cyan},
				terminalPart{Text: fmt.Sprintf(" (%d left at %s)", q.Pending, text.ShortWait(text.Seconds(q.Pace)))})
		}
		lines = append(lines, third)
	}
	return lines
}

// state is how it stands, in a colour.
func (v *View) state() terminalPart {
	style := yellow
	switch v.Look.Status.State {
	case "running", "finished":
		style = green
	}
	return terminalPart{Text: v.Look.Status.State, Style: style}
}

// speed is the rate beside the one that is permitted.
func (v *View) speed() terminalLine {
	l := terminalLine{{Text: perSecond(v.Rates.Pages) + " pages/s", Style: bold}, {Text: ", " + perSecond(v.Rates.Exchanges)}}
	if p := v.Rates.Permitted; p > 0 {
		l = append(l, terminalPart{Text: fmt.Sprintf(" of %s requests/s permitted", perSecond(p))})
	} else {
		l = append(l, terminalPart{Text: " requests/s"})
	}
	return append(l, terminalPart{Text: ", " + plainly.RoughSize(int64(v.Rates.Bytes)) + "/s", Style: dim})
}

// share is how much of the permitted rate was reached; hosts come and go meanwhile, so that it may seem to be more than all.
func (v *View) share() (share float64, ok bool) {
	if v.Rates.Permitted <= 0 {
		return 0, false
	}
	return min(v.Rates.Exchanges/v.Rates.Permitted, 1), true
}

// perSecond writes a rate in as many digits as mean anything.
func perSecond(r float64) string {
	switch {
	case r >= 100:
		return fmt.Sprintf("%.0f", r)
	case r >= 10 || r == 0:
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// end is when it will be over.
func (v *View) end() terminalLine {
	e := &v.Look.Estimate
	switch {
	case v.left() == 0:
		return nil
	case e.Host == "" && e.Likely == 0:
		return terminalLine{{Text: "only hosts in back-off are left", Style: yellow}}
	}
	left, more := e.RestText()
	return terminalLine{{Text: left, Style: bold}, {Text: more}, {Text: " (" + v.clock(e.Rest()) + ")", Style: dim}}
}

// clock is the time of day so long from now.
func (v *View) clock(in time.Duration) string {
	at := v.At.Add(in)
	if in < 20*time.Hour {
		return at.Format("15:04")
	}
	return at.Format("Mon 2 Jan 15:04")
}

// waits says how many hosts wait for what.
func (v *View) waits() terminalLine {
	w := &v.Look.Waits
	var l terminalLine
	for _, x := range []struct {
		n     int64
		what  string
		style style
	}{
		{w.Pace, "pace", plain}, {w.Address, "address", plain}, {w.Due, "a worker", yellow},
		{w.Robots, "robots.txt", yellow}, {w.Rest, "rest", yellow}, {w.Retry, "retry", yellow},
		{w.Operator, "you", yellow}, {w.Shut, "nothing (shut)", red},
	} {
		if x.n == 0 {
			continue
		}
		if len(l) > 0 {
			l = append(l, terminalPart{Text: ", "})
		}
		l = append(l, terminalPart{Text: fmt.Sprintf("%s %d", x.what, x.n), Style: x.style})
	}
	return l
}

// slowest is the queue that takes longest; nil for none.
func (v *View) slowest() (longest *status.Queue) {
	all := v.Look.Status.Longest
	for i := range all {
		q := &all[i]
		if q.State == "" && q.Pending > 0 && (longest == nil || float64(q.Pending)*q.Pace > float64(longest.Pending)*longest.Pace) {
			longest = q
		}
	}
	return longest
}

// Plain is a crawl in one line, for where there is no terminal.
func Plain(v View) string {
	s := &v.Look.Status
	line := fmt.Sprintf("%s %s  %d fetched  %d to go  %s  %s", v.elapsed(), s.State,
		s.Fetched, v.left(), plainly.Count(s.Hosts, "host"), plainly.RoughSize(s.Bytes))
	if n := s.Failed; n > 0 {
		line += fmt.Sprintf("  %d failed", n)
	}
	if n := s.Parked + s.Retired + s.Refused; n > 0 {
		line += "  " + plainly.Count(n, "host") + " resting"
	}
	if s.Opens != nil {
		line += "  outside its window; continues at " + s.Opens.Format(opening)
	}
	if s.State == "running" && v.Rates.Exchanges > 0 {
		line += "  " + perSecond(v.Rates.Pages) + " pages/s"
		if e := v.Look.Estimate; e.Likely > 0 {
			left, more := e.RestText()
			line += "  " + left + more
		}
	}
	return plainly.OneLine(line)
}

// opening is how the time is written at which a window opens.
const opening = "Mon 2 Jan 15:04 MST"

// bar is a share as so many cells.
func bar(share float64, cells int) string {
	full := int(min(max(share, 0), 1)*float64(cells) + 0.5)
	return strings.Repeat("█", full) + strings.Repeat("░", cells-full)
}
