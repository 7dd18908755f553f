package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/cmd/curtsy/terminal"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// Full is a crawl on a whole screen of so many columns and lines.
func Full(v View, columns, rows int) []terminal.Line {
	s := &v.Look.Status
	lines := []terminal.Line{
		{{Text: v.elapsed() + " "}, v.state(), {Text: "  " + plainly.Count(s.Hosts, "host") + ", " + plainly.RoughSize(s.Bytes)}, {Text: "  " + v.Dir, Style: terminal.Bold}},
		nil,
	}
	row := func(name string, parts ...terminal.Part) {
		if len(parts) > 0 {
			lines = append(lines, append(terminal.Line{{Text: terminal.Pad(name, label), Style: terminal.Dim}}, parts...))
		}
	}
	folded := func(name string, parts terminal.Line) {
		for _, part := range broken(parts, columns-label) {
			row(name, part...)
			name = ""
		}
	}
	folded("URLs", v.urls())
	if s.Opens != nil {
		row("window", terminal.Part{Text: "closed; goes on at " + s.Opens.Format(opening), Style: terminal.Yellow})
	}
	if s.State == "running" {
		row("rate", v.speed()...)
		row("", v.reached(columns)...)
		row("end", v.end()...)
		if e := v.Look.Estimate; e.Host != "" {
			row("", terminal.Part{Text: "by "}, terminal.Part{Text: e.Host, Style: terminal.Cyan}, terminal.Part{Text: fmt.Sprintf(", pace %v (%s)", e.Pace, e.PaceBy)})
		}
		folded("hosts", v.waits())
		for i, line := range terminal.Fold(v.Look.Waits.Why(s.State, v.Rates.Exchanges, v.Rates.Permitted), columns-label) {
			row([]string{"why", ""}[min(i, 1)], terminal.Part{Text: line})
		}
	}
	if len(s.Failures) > 0 {
		folded("failures", counted(s.Failures))
	}
	return v.lists(lines, columns, rows)
}

// label is how wide the names of rows are.
const label = 10

// broken breaks a line between its parts where it is too wide. A part that is too wide alone stays whole.
func broken(l terminal.Line, columns int) (lines []terminal.Line) {
	var line terminal.Line
	width := 0
	for _, p := range l {
		w := terminal.Width(strings.TrimRight(plainly.OneLine(p.Text), ", "))
		if len(line) > 0 && width+w > columns {
			lines, line, width = append(lines, line), nil, 0
			if p.Text = strings.TrimLeft(p.Text, ", "); p.Text == "" {
				continue
			}
		}
		line, width = append(line, p), width+terminal.Width(plainly.OneLine(p.Text))
	}
	if len(line) > 0 {
		lines = append(lines, line)
	}
	return lines
}

// urls are the outcomes.
func (v *View) urls() (l terminal.Line) {
	s := &v.Look.Status
	for _, x := range []struct {
		n     int64
		what  string
		style terminal.Style
		all   bool
	}{
		{s.Fetched, "fetched", terminal.Green, true}, {v.left(), "to go", terminal.Bold, true}, {s.Failed, "failed", terminal.Red, false},
		{s.Gone, "gone", terminal.Plain, false}, {s.Redirected, "redirected", terminal.Plain, false},
		{s.Disallowed, "disallowed", terminal.Plain, false}, {s.Dropped + s.Held, "dropped", terminal.Plain, false},
	} {
		if x.n == 0 && !x.all {
			continue
		}
		if len(l) > 0 {
			l = append(l, terminal.Part{Text: ", "})
		}
		l = append(l, terminal.Part{Text: fmt.Sprintf("%d %s", x.n, x.what), Style: x.style})
	}
	return l
}

// reached is the share of the permitted rate that was reached.
func (v *View) reached(columns int) terminal.Line {
	share, ok := v.share()
	if !ok {
		return nil
	}
	return terminal.Line{{Text: bar(share, min(max(columns-40, 10), 40)), Style: terminal.Green}, {Text: fmt.Sprintf(" %.0f %% of permitted", 100*share)}}
}

// counted lists classes, the most frequent first.
func counted(classes map[string]int64) (l terminal.Line) {
	names := slices.Collect(maps.Keys(classes))
	slices.SortFunc(names, func(a, b string) int {
		if d := classes[b] - classes[a]; d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		if i > 0 {
			l = append(l, terminal.Part{Text: ", "})
		}
		l = append(l, terminal.Part{Text: fmt.Sprintf("%d %s", classes[name], plainly.Reason(name)), Style: terminal.Red})
	}
	return l
}

// lists fills what is left of the screen with hosts: those that decide, and those that are left alone.
func (v *View) lists(lines []terminal.Line, columns, rows int) []terminal.Line {
	s := &v.Look.Status
	room := rows - len(lines)
	queues := min(len(s.Longest), room-2)
	if len(s.Resting) > 0 {
		queues = min(queues, room*2/3-2)
	}
	if queues > 0 {
		room -= queues + 2
		lines = append(lines, nil, terminal.Line{{Text: queueHead(columns), Style: terminal.Dim}})
		for _, q := range longestFirst(s.Longest)[:queues] {
			lines = append(lines, queueLine(q, columns))
		}
	}
	if alone := min(len(s.Resting), room-2); alone > 0 {
		lines = append(lines, nil, terminal.Line{{Text: "LEFT ALONE", Style: terminal.Dim}})
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
	return fmt.Sprintf("%8s %8s %7s %7s %7s  %s", "LEFT", "FETCHED", "PACE", "DUE IN", "TAKES", "HOST")
}

func queueLine(q status.Queue, columns int) terminal.Line {
	takes := text.ShortWait(time.Duration(float64(q.Pending) * q.Pace * float64(time.Second)))
	due := text.ShortWait(text.Seconds(q.Wait))
	if q.Never {
		due = "never"
	}
	cells := fmt.Sprintf("%8d %8d %7s %7s %7s  ", q.Pending, q.Fetched, text.ShortWait(text.Seconds(q.Pace)), due, takes)
	if columns < narrow {
		cells = fmt.Sprintf("%8d %7s  ", q.Pending, takes)
	}
	l := terminal.Line{{Text: cells}, {Text: q.Host, Style: terminal.Cyan}}
	if q.State != "" {
		l = append(l, terminal.Part{Text: "  (" + q.State + ")", Style: terminal.Yellow})
	}
	return l
}

func restLine(r status.Resting) terminal.Line {
	l := terminal.Line{{Text: fmt.Sprintf("%8d ", r.Pending)}, {Text: r.Host, Style: terminal.Cyan}, {Text: " " + r.Condition, Style: terminal.Yellow}}
	if r.Reason != "" {
		l = append(l, terminal.Part{Text: ": " + plainly.Reason(r.Reason)})
	}
	if r.Wait > 0 && strings.HasPrefix(r.Condition, "parked") {
		l = append(l, terminal.Part{Text: fmt.Sprintf("; asked again in %v", text.Seconds(r.Wait).Round(time.Second))})
	}
	return l
}
