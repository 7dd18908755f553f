package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// statusText is a status for people. It names the command that goes on after a kill, unless dir is empty.
func statusText(s crawler.Status, dir string, now time.Time) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("state", "%s%s", s.State, ages(s, now))
	if s.Killed && s.State != "running" && dir != "" {
		row("", "nothing is lost; go on with curtsy resume %s", oneLine(word(dir)))
	}
	row("discovered", "%d", s.Discovered)
	for _, r := range []struct {
		name, outcome string
		n             int64
	}{
		{"fetched", "", s.Fetched}, {"redirected", "redirected", s.Redirected}, {"gone", "gone", s.Gone},
		{"failed", "failed", s.Failed}, {"disallowed", "", s.Disallowed}, {"dropped", "dropped", s.Dropped},
		{"held", "held", s.Held}, {"queued", "", s.Queued}, {"in flight", "", s.InFlight}, {"deferred", "", s.Deferred},
	} {
		if r.name != "held" || r.n > 0 {
			fmt.Fprintf(&b, "  %-10s %d%s\n", r.name, r.n, because(s.Reasons[r.outcome]))
		}
	}
	row("received", "%s, %s in %s, %d for robots.txt", several(s.Pages, "HTML page"), roughSize(s.Bytes), several(s.Exchanges, "exchange"), s.Robots)
	if s.Sitemaps > 0 {
		row("sitemaps", "%d read, %s in them", s.Sitemaps, several(s.Listed, "URL"))
	}
	if len(s.Failures) > 0 {
		fmt.Fprintf(&b, "%-12s%s\n", "failures", because(s.Failures))
	}
	if len(s.NotRead) > 0 {
		fmt.Fprintf(&b, "%-12s%s\n", "not read", because(s.NotRead))
	}
	if len(s.Links) > 0 {
		fmt.Fprintf(&b, "%-12s%s\n", "not followed", because(s.Links))
	}
	if len(s.Capped) > 0 {
		fmt.Fprintf(&b, "%-12s%s\n", "over a limit", because(s.Capped))
	}
	if s.Suspects > 0 || s.Quarantined > 0 {
		row("suspects", "%d to be tried alone, %d set aside as %s", s.Suspects, s.Quarantined, frontier.ReasonQuarantined)
	}
	if s.Size > 0 {
		row("frontier", "%s", roughSize(s.Size))
	}
	hostsText(&b, s)
	return b.String()
}

// ages say since when, and how long ago.
func ages(s crawler.Status, now time.Time) string {
	var parts []string
	began := "began "
	if s.Generation > 1 {
		began = "the first began "
		parts = append(parts, fmt.Sprintf("generation %d", s.Generation))
	}
	if s.Runs > 1 {
		parts = append(parts, several(s.Runs, "run"))
	}
	if s.Began != nil {
		parts = append(parts, began+shortWait(now.Sub(*s.Began))+" ago")
	}
	if s.Last != nil {
		parts = append(parts, "last written "+shortWait(now.Sub(*s.Last))+" ago")
	}
	if s.Killed {
		parts = append(parts, "the last run did not end by itself: it was killed, the machine stopped, or its disk was full")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// hostsText is the part of a status about hosts.
func hostsText(b *strings.Builder, s crawler.Status) {
	fmt.Fprintf(b, "%-12s %d", "hosts", s.Hosts)
	if s.Parked+s.Retired+s.Refused+s.Stopped > 0 {
		fmt.Fprintf(b, ", of these %d parked, %d retired, %d refused", s.Parked, s.Retired, s.Refused)
		if s.Stopped > 0 {
			fmt.Fprintf(b, ", %d parked or dropped by you", s.Stopped)
		}
	}
	b.WriteString("\n")
	if s.LimitedByIP > 0 {
		fmt.Fprintf(b, "  limited by IP: %s\n", several(s.LimitedByIP, "host"))
	}
	for _, condition := range slices.Sorted(maps.Keys(s.Why)) {
		if len(s.Why[condition]) > 1 {
			fmt.Fprintf(b, "  %-10s%s\n", condition, because(s.Why[condition]))
		}
	}
	if len(s.Longest) > 0 {
		fmt.Fprintf(b, "\n%9s %9s %7s %7s %8s  %s\n", "PENDING", "FETCHED", "PACE", "DUE IN", "LAST", "LONGEST QUEUES")
	}
	for _, q := range s.Longest {
		last := "–"
		if q.Last != nil {
			last = shortWait(fromSeconds(*q.Last)) + " ago"
		}
		due := shortWait(fromSeconds(q.Wait))
		if q.Never {
			due = "never"
		}
		state := ""
		if q.State != "" {
			state = "  (" + q.State + ")"
		}
		fmt.Fprintf(b, "%9d %9d %7s %7s %8s  %s%s\n", q.Pending, q.Fetched, shortWait(fromSeconds(q.Pace)), due, last, oneLine(q.Host), state)
	}
	if len(s.Resting) > 0 {
		b.WriteString("\nLEFT ALONE\n")
	}
	for i, r := range s.Resting {
		if i == maxShown {
			fmt.Fprintf(b, "  … see --json for more, or curtsy frontier ls\n")
			break
		}
		fmt.Fprintf(b, "  %s %s", oneLine(r.Host), r.Condition)
		if r.Reason != "" {
			fmt.Fprintf(b, ": %s", oneLine(plainly.Reason(r.Reason)))
		}
		if r.Wait > 0 && strings.HasPrefix(r.Condition, "parked") {
			fmt.Fprintf(b, "; asked again in %v", fromSeconds(r.Wait).Round(time.Second))
		}
		fmt.Fprintf(b, "; %s pending\n", several(r.Pending, "URL"))
	}
}

func fromSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// shortWait writes a duration in a few characters: its two largest units.
func shortWait(d time.Duration) string {
	switch {
	case d == frontier.Never:
		return "ever"
	case d <= 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }
