package text

import (
	"fmt"
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
	return Render("status", statusText{s, dir, now})
}

// statusText is what the template of a status takes.
type statusText struct {
	status.Status
	Dir string // in the command that continues it; empty for none
	now time.Time
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

// Ages say since when, and how long ago.
func (s statusText) Ages() string {
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
		parts = append(parts, began+ShortWait(s.now.Sub(*s.Began))+" ago")
	}
	if s.Status.Last != nil {
		parts = append(parts, "last written "+ShortWait(s.now.Sub(*s.Status.Last))+" ago")
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

// Full counts the hosts that have had as many pages as they may, which Others leaves out.
func (s statusText) Full() (n int64) {
	for _, by := range s.Why {
		n += by[overPages]
	}
	return n
}

// Others are the hosts that are left alone for another reason.
func (s statusText) Others() []status.Resting {
	return slices.DeleteFunc(slices.Clone(s.Resting), func(r status.Resting) bool { return r.Reason == overPages })
}

// MoreResting reports whether there may be more hosts that are left alone.
func (s statusText) MoreResting() bool { return len(s.Resting) == status.MaxResting }

// Retry is when a host gets its next request, if that is known.
func (statusText) Retry(r status.Resting) string {
	if r.Wait > 0 && (r.Condition == frontier.Open.String() || strings.HasPrefix(r.Condition, "parked")) {
		return Seconds(r.Wait).Round(time.Second).String()
	}
	return ""
}
