package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// Status is a status for people. It names the command that resumes a killed crawl, unless dir is "".
func Status(s status.Status, dir string, now time.Time) string {
	return Render("status", statusText{s, dir, now})
}

type statusText struct {
	status.Status
	Dir string // of the resume command; "" for none
	now time.Time
}

func StateWord(state string) string {
	if state == "draining" {
		return "ending"
	}
	return state
}

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

// Ages describes the age of a crawl, and its runs.
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

// overPages is the reason of hosts at their limit of pages.
const overPages = "budget: " + budget.MaxPerHost

// Full counts the hosts at their limit of pages, which Others omits.
func (s statusText) Full() (n int64) {
	for _, by := range s.Why {
		n += by[overPages]
	}
	return n
}

// Others are the hosts that are not crawled for another reason.
func (s statusText) Others() []status.Resting {
	return slices.DeleteFunc(slices.Clone(s.Resting), func(r status.Resting) bool { return r.Reason == overPages })
}

// MoreResting reports whether more hosts may not be crawled.
func (s statusText) MoreResting() bool { return len(s.Resting) == status.MaxResting }

// Retry is the delay until a host's next request; "" if not known.
func (statusText) Retry(r status.Resting) string {
	if r.Wait > 0 && (r.Condition == frontier.Open.String() || strings.HasPrefix(r.Condition, "parked")) {
		return Seconds(r.Wait).Round(time.Second).String()
	}
	return ""
}

var endings = map[string]string{
	crawler.EndedDrained:      "everything in scope is done",
	crawler.EndedWaiting:      "the remaining URLs are not due within --max-wait",
	crawler.EndedInterrupted:  "it was interrupted",
	crawler.EndedMaxPages:     "--max-pages is reached",
	crawler.EndedMaxBytes:     "--max-bytes is reached",
	crawler.EndedMaxTime:      "--max-time is over",
	crawler.EndedMaxPerHost:   "the remaining URLs are over --max-per-host",
	crawler.EndedMaxPerDomain: "the remaining URLs are over --max-per-domain",
	crawler.EndedMaxPerTag:    "everything is done except URLs over --max-per-tag",
	crawler.EndedMaxDBSize:    "the frontier is as large as --max-db-size lets it be",
}

// limitOf has the flags of limits that count over all runs: with the same limit, resume would end at once.
var limitOf = map[string]string{
	crawler.EndedMaxPages:     "--max-pages",
	crawler.EndedMaxBytes:     "--max-bytes",
	crawler.EndedMaxPerHost:   "--max-per-host",
	crawler.EndedMaxPerDomain: "--max-per-domain",
}

// Summary describes the end of a run, its results, and with goOn the next commands.
func Summary(s crawler.Summary, dir string, goOn bool) string {
	return Render("summary", summaryText{s, dir, goOn})
}

type summaryText struct {
	crawler.Summary
	Dir  string
	goOn bool
}

func (s summaryText) Elapsed() time.Duration { return Seconds(s.Status.Elapsed) }

func (s summaryText) StatusText() statusText { return statusText{s.Status, "", time.Now()} }

// In is the path of a file of the crawl.
func (s summaryText) In(name string) string { return filepath.Join(s.Dir, name) }

// Why is the reason of the end.
func (s summaryText) Why() string {
	waiting := s.EndedBy == crawler.EndedWaiting
	condition, stopped := strings.CutPrefix(s.EndedBy, crawler.EndedStopWhen)
	switch {
	case waiting && s.Status.Bytes == 0 && s.Opens == nil:
		return "no host has answered"
	case waiting && onlyPrivate(s.Status):
		return "the remaining hosts have private addresses"
	case s.Opens != nil:
		return "it is outside its --window, which opens at " + s.Opens.Format("Mon 2 Jan 15:04 MST") + ", later than --max-wait allows"
	case s.EndedBy == crawler.EndedDrained:
		return cmp.Or(s.Capped("everything is done but links over "), endings[s.EndedBy])
	case stopped:
		return "--stop-when " + condition
	}
	return endings[s.EndedBy]
}

// MoreSeeds counts the unlisted seeds without a usable response.
func (s summaryText) MoreSeeds() string {
	more := s.SeedsUnanswered - int64(len(s.Seeds))
	switch {
	case more <= 0:
		return ""
	case len(s.Seeds) > 0:
		return plainly.Count(more, "further seed")
	}
	return plainly.Count(more, "seed")
}

// WithoutScript counts the pages that are empty without JavaScript.
func (s summaryText) WithoutScript() int64 { return s.Status.NotRead[budget.EmptyWithoutScript] }

// MoreEmpty reports whether there are more such pages than Empty lists.
func (s summaryText) MoreEmpty() bool {
	return len(s.Empty) > 0 && s.WithoutScript() > int64(len(s.Empty))
}

// Rel are the rel values whose links are followed; "" for the default.
func (s summaryText) Rel() string {
	if s.Manners.FollowRel == strings.Join(crawler.DefaultFollowRel(), ",") {
		return ""
	}
	return s.Manners.FollowRel
}

// Chosen reports whether to print opt-outs and the wishes of pages.
func (s summaryText) Chosen() bool {
	m := s.Manners
	return len(m.OptOut)+len(m.Troubles) > 0 || m.Kept || m.NoArchive > 0 || m.NoIndex > 0 || s.Rel() != ""
}

// Continue has the arguments of the curtsy resume that continues the crawl; "" if it cannot continue.
func (s summaryText) Continue() string {
	dir := plainly.Argument(s.Dir)
	switch {
	case !s.goOn || s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0:
		return ""
	case s.EndedBy == crawler.EndedMaxDBSize:
		size := crawldir.Size(max(2*s.Status.Size, 1<<20) >> 20 << 20)
		return fmt.Sprintf("--max-db-size %v %s   (a larger limit)", &size, dir)
	case strings.HasPrefix(s.EndedBy, crawler.EndedStopWhen):
		return "--stop-when none " + dir + "   (or another condition)"
	case limitOf[s.EndedBy] != "":
		return limitOf[s.EndedBy] + " 0 " + dir + "   (or another limit)"
	case s.EndedBy == crawler.EndedWaiting && onlyPrivate(s.Status):
		return "--allow-net NETWORK " + dir + "   (NETWORK has their addresses, such as 127.0.0.0/8; only for networks of your own)"
	}
	return dir
}

// Next are commands to inspect the crawl, padded to one width, with descriptions.
func (s summaryText) Next() (commands [][2]string) {
	if !s.goOn || s.Status.Bytes == 0 {
		return nil
	}
	dir := plainly.OneLine(plainly.Argument(s.Dir))
	if s.Status.Queued+s.Status.InFlight+s.Status.Deferred > 0 {
		commands = append(commands, [2]string{"status " + dir, "URLs left, and hosts that are not being crawled"})
	}
	commands = append(commands, [2]string{"report " + dir, "what was crawled and what was not, as a web page"}, [2]string{"audit " + dir, "was it polite?"})
	if s.Status.Failed+s.Status.Disallowed+s.Status.Dropped > 0 {
		commands = append(commands, [2]string{"explain " + dir + " URL", "why a URL was not fetched"})
	}
	widest := 0
	for _, c := range commands {
		widest = max(widest, utf8.RuneCountInString(c[0]))
	}
	for i := range commands {
		commands[i][0] = fmt.Sprintf("%-*s", widest, commands[i][0])
	}
	return commands
}

// onlyPrivate reports whether all hosts with pending URLs have private addresses, which --allow-net allows.
func onlyPrivate(s status.Status) bool {
	pending := s.Queued + s.InFlight + s.Deferred
	for _, r := range s.Resting {
		if r.Condition == frontier.Retired.String() && strings.Contains(r.Reason, storage.ReasonPrivateAddress) {
			pending -= r.Pending
		}
	}
	// The status may omit hosts; the counts of reasons cover all.
	return len(s.Resting) > 0 && (pending == 0 || len(s.Resting) == status.MaxResting && allPrivate(s.Why))
}

// allPrivate reports whether all hosts that are not crawled have private addresses.
func allPrivate(why map[string]map[string]int64) bool {
	for condition, reasons := range why {
		for reason := range reasons {
			if condition != frontier.Retired.String() || !strings.Contains(reason, storage.ReasonPrivateAddress) {
				return false
			}
		}
	}
	return len(why) > 0
}

// Capped returns what with the flags of the exceeded link limits, or "" if there are none.
func (s summaryText) Capped(what string) string {
	var flags []string
	for _, c := range budget.Caps {
		if s.Status.Capped[c[0]] > 0 {
			flags = append(flags, "--"+c[1])
		}
	}
	if flags == nil {
		return ""
	}
	return what + strings.Join(flags, ", ") + " (curtsy update with a larger limit requests them)"
}
