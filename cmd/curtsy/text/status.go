package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// Status is a status for people. It names the command that goes on after a kill, unless dir is empty.
func Status(s status.Status, dir string, now time.Time) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("state", "%s%s", StateWord(s.State), ages(s, now))
	if s.Opens != nil {
		row("", "outside its window; continues at %s", s.Opens.Format("Mon 2 Jan 15:04 MST"))
	}
	if s.Watch != nil {
		row("watch", "%s", Watch(*s.Watch))
	}
	if s.Killed && s.State != "running" && dir != "" {
		row("", "nothing is lost; continue with curtsy resume %s", plainly.OneLine(plainly.Argument(dir)))
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
			fmt.Fprintf(&b, "  %-10s %d%s\n", r.name, r.n, Because(s.Reasons[r.outcome]))
		}
	}
	row("received", "%s, %s in %s, %d for robots.txt", plainly.Count(s.Pages, "HTML page"), plainly.RoughSize(s.Bytes), plainly.Count(s.Exchanges, "request"), s.Robots)
	if s.Sitemaps > 0 {
		row("sitemaps", "%d read, %s in them", s.Sitemaps, plainly.Count(s.Listed, "URL"))
	}
	for _, l := range []struct {
		name, thing string
		reasons     map[string]int64
		because     func(map[string]int64) string
	}{
		{"responses", "", s.Answers, itemized}, {"types", "", s.Types, itemized}, {"tags", "", s.Tags, itemized}, {"by scripts", "", s.Scripts, Because},
		{"errors", "request", s.Failures, Because}, {"not read", "", s.NotRead, Because}, {"not followed", "link", s.Links, Because},
		{"over a limit", "link", s.Capped, Because},
	} {
		if len(l.reasons) > 0 {
			n := fmt.Sprint(sum(l.reasons))
			if l.thing != "" {
				n = plainly.Count(sum(l.reasons), l.thing)
			}
			row(l.name, "%s%s", n, l.because(l.reasons))
		}
	}
	if s.Suspects > 0 || s.Quarantined > 0 {
		row("suspects", "%d to be retried one at a time, %d set aside as %s", s.Suspects, s.Quarantined, frontier.ReasonQuarantined)
	}
	if s.Size > 0 {
		row("frontier", "%s", plainly.RoughSize(s.Size))
	}
	hostsText(&b, s)
	return b.String()
}

// StateWord is the state of a crawl for people.
func StateWord(state string) string {
	if state == "draining" {
		return "ending"
	}
	return state
}

// Watch says what a watch does.
func Watch(w status.Watch) string {
	if !w.Ends.IsZero() {
		return fmt.Sprintf("%s watched; no further round starts before the watch ends at %s (--for)", plainly.Count(w.URLs, "URL"), w.Ends.UTC().Format(time.RFC3339))
	}
	if w.Next.IsZero() {
		return "a round is running"
	}
	by := w.Why
	if w.URL != "" {
		by += ", " + plainly.OneLine(w.URL)
	}
	return fmt.Sprintf("%s watched; the next round is not before %s (%s)", plainly.Count(w.URLs, "URL"), w.Next.UTC().Format(time.RFC3339), by)
}

// ages say since when, and how long ago.
func ages(s status.Status, now time.Time) string {
	var parts []string
	began := "began "
	if s.Generation > 1 {
		began = "the first began "
		parts = append(parts, fmt.Sprintf("generation %d", s.Generation))
	}
	if s.Runs > 1 {
		parts = append(parts, plainly.Count(s.Runs, "run"))
	}
	if s.Began != nil {
		parts = append(parts, began+ShortWait(now.Sub(*s.Began))+" ago")
	}
	if s.Last != nil {
		parts = append(parts, "last written "+ShortWait(now.Sub(*s.Last))+" ago")
	}
	if s.Killed {
		parts = append(parts, "the last run was interrupted: it was killed, the machine stopped, or the disk was full")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// overPages is the reason of hosts that have had as many pages as they may.
const overPages = "budget: " + budget.MaxPerHost

// hostsText is the part of a status about hosts.
func hostsText(b *strings.Builder, s status.Status) {
	fmt.Fprintf(b, "%-12s %d", "hosts", s.Hosts)
	if s.Parked+s.Retired+s.Refused+s.Stopped > 0 {
		fmt.Fprintf(b, ", of these %d parked, %d retired, %d refused", s.Parked, s.Retired, s.Refused)
		if s.Stopped > 0 {
			fmt.Fprintf(b, ", %d parked or dropped by you", s.Stopped)
		}
	}
	b.WriteString("\n")
	if s.LimitedByIP > 0 {
		fmt.Fprintf(b, "  limited by IP: %s\n", plainly.Count(s.LimitedByIP, "host"))
	}
	for _, condition := range slices.Sorted(maps.Keys(s.Why)) {
		if len(s.Why[condition]) > 1 {
			fmt.Fprintf(b, "  %-10s %d%s\n", condition, sum(s.Why[condition]), Because(s.Why[condition]))
		}
	}
	if len(s.Longest) > 0 {
		fmt.Fprintf(b, "\n%9s %9s %7s %7s %8s  %s\n", "PENDING", "FETCHED", "DELAY", "DUE IN", "LAST", "LONGEST QUEUES")
	}
	for _, q := range s.Longest {
		last := "–"
		if q.Last != nil {
			last = ShortWait(Seconds(*q.Last)) + " ago"
		}
		due := ShortWait(Seconds(q.Wait))
		if q.Never {
			due = "never"
		}
		state := ""
		if q.State != "" {
			state = "  (" + q.State + ")"
		}
		fmt.Fprintf(b, "%9d %9d %7s %7s %8s  %s%s\n", q.Pending, q.Fetched, ShortWait(Seconds(q.Pace)), due, last, plainly.OneLine(q.Host), state)
	}
	full := 0
	for _, by := range s.Why {
		full += int(by[overPages])
	}
	if full > 0 {
		fmt.Fprintf(b, "\n%s reached --max-per-host\n", plainly.Count(int64(full), "host"))
	}
	others := slices.DeleteFunc(slices.Clone(s.Resting), func(r status.Resting) bool { return r.Reason == overPages })
	if len(others) > 0 {
		b.WriteString("\nWAITING OR CLOSED\n")
	}
	if len(others) == 0 && len(s.Resting) == status.MaxResting {
		b.WriteString("others: see curtsy frontier ls\n")
	}
	for i, r := range others {
		if i == MaxShown {
			fmt.Fprintf(b, "  … see --json for more, or curtsy frontier ls\n")
			break
		}
		fmt.Fprintf(b, "  %s %s", plainly.OneLine(r.Host), r.Condition)
		if r.Reason != "" {
			fmt.Fprintf(b, ": %s", plainly.OneLine(plainly.Reason(r.Reason)))
		}
		if r.Wait > 0 && (r.Condition == frontier.Open.String() || strings.HasPrefix(r.Condition, "parked")) {
			fmt.Fprintf(b, "; next try in %v", Seconds(r.Wait).Round(time.Second))
		}
		fmt.Fprintf(b, "; %s pending\n", plainly.Count(r.Pending, "URL"))
	}
}
