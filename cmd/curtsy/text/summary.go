package text

import (
	"cmp"
	"fmt"
	"path/filepath"
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

// endings say in words why a run ended.
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

// limitOf names the flags of limits that count over all runs: with the same limit resume would end at once.
var limitOf = map[string]string{
	crawler.EndedMaxPages:     "--max-pages",
	crawler.EndedMaxBytes:     "--max-bytes",
	crawler.EndedMaxPerHost:   "--max-per-host",
	crawler.EndedMaxPerDomain: "--max-per-domain",
}

// Summary says how a run ended, or that there was nothing to run, where everything is, and what to do next
// if the crawl can go on.
func Summary(s crawler.Summary, dir string, goOn bool) string {
	var b strings.Builder
	elapsed := time.Duration(s.Status.Elapsed * float64(time.Second))
	switch {
	case elapsed == 0:
		fmt.Fprintf(&b, "%s is finished%s.\n\n", plainly.OneLine(dir),
			cmp.Or(capped(s.Status, " but links over "), "; curtsy update "+plainly.OneLine(plainly.Argument(dir))+" crawls it again"))
	case s.EndedBy == crawler.EndedWaiting && s.Status.Bytes == 0 && s.Opens == nil:
		fmt.Fprintf(&b, "Ended after %s: no host has answered.\n\n", Clock(elapsed))
	case s.EndedBy == crawler.EndedWaiting && onlyPrivate(s.Status):
		fmt.Fprintf(&b, "Ended after %s: the remaining hosts have private addresses.\n\n", Clock(elapsed))
	case s.Opens != nil:
		fmt.Fprintf(&b, "Ended after %s: it is outside its --window, which opens at %s, later than --max-wait allows.\n\n", Clock(elapsed), s.Opens.Format("Mon 2 Jan 15:04 MST"))
	default:
		how := ending(s.EndedBy)
		if s.EndedBy == crawler.EndedDrained {
			how = cmp.Or(capped(s.Status, "everything is done but links over "), how)
		}
		fmt.Fprintf(&b, "Ended after %s: %s.\n\n", Clock(elapsed), how)
	}
	fmt.Fprintf(&b, "%s\n", Status(s.Status, "", time.Now()))
	if s.SeedsUnanswered > 1 {
		fmt.Fprintf(&b, "seeds    %d without a usable response\n", s.SeedsUnanswered)
	}
	for _, seed := range s.Seeds {
		fmt.Fprintf(&b, "no usable response from seed %s\n", plainly.OneLine(seed))
	}
	if more := s.SeedsUnanswered - int64(len(s.Seeds)); more > 0 {
		fmt.Fprintf(&b, "no usable response from %s; the ledger has the reason\n", plainly.Count(more, further(len(s.Seeds))+"seed"))
	}
	for _, u := range s.Failed {
		fmt.Fprintf(&b, "failed   %s\n", plainly.OneLine(u))
	}
	b.WriteString(empty(s))
	b.WriteString(Manners(s.Manners))
	fmt.Fprintf(&b, "archive  %s\nledger   %s\n", plainly.OneLine(filepath.Join(dir, crawldir.ArchiveName)), plainly.OneLine(filepath.Join(dir, crawldir.LedgerName)))
	switch {
	case !goOn || s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0:
	case s.EndedBy == crawler.EndedMaxDBSize:
		size := crawldir.Size(max(2*s.Status.Size, 1<<20) >> 20 << 20)
		fmt.Fprintf(&b, "continue curtsy resume --max-db-size %v %s   (a larger limit)\n", &size, plainly.OneLine(plainly.Argument(dir)))
	case strings.HasPrefix(s.EndedBy, crawler.EndedStopWhen):
		fmt.Fprintf(&b, "continue curtsy resume --stop-when none %s   (or another condition)\n", plainly.OneLine(plainly.Argument(dir)))
	case limitOf[s.EndedBy] != "":
		fmt.Fprintf(&b, "continue curtsy resume %s 0 %s   (or another limit)\n", limitOf[s.EndedBy], plainly.OneLine(plainly.Argument(dir)))
	case s.EndedBy == crawler.EndedWaiting && onlyPrivate(s.Status):
		fmt.Fprintf(&b, "continue curtsy resume --allow-net NETWORK %s   (NETWORK has their addresses, such as 127.0.0.0/8; only for networks of your own)\n", plainly.OneLine(plainly.Argument(dir)))
	default:
		fmt.Fprintf(&b, "continue curtsy resume %s\n", plainly.OneLine(plainly.Argument(dir)))
	}
	if goOn && s.Status.Bytes > 0 {
		b.WriteString(next(s.Status, plainly.OneLine(plainly.Argument(dir))))
	}
	return b.String()
}

// onlyPrivate reports whether all hosts that have URLs pending are closed because of their addresses, which --allow-net allows.
func onlyPrivate(s status.Status) bool {
	pending := s.Queued + s.InFlight + s.Deferred
	for _, r := range s.Resting {
		if r.Condition == frontier.Retired.String() && strings.Contains(r.Reason, storage.ReasonPrivateAddress) {
			pending -= r.Pending
		}
	}
	// Of more hosts than the status names, the counts of reasons tell.
	return len(s.Resting) > 0 && (pending == 0 || len(s.Resting) == status.MaxResting && allPrivate(s.Why))
}

// allPrivate reports whether all hosts that are closed or wait do so because of their addresses.
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

// capped returns what with the flags of the limits that links were over, or "" if none was.
func capped(s status.Status, what string) string {
	var flags []string
	for _, c := range budget.Caps {
		if s.Capped[c[0]] > 0 {
			flags = append(flags, "--"+c[1])
		}
	}
	if flags == nil {
		return ""
	}
	return what + strings.Join(flags, ", ") + " (curtsy update with a larger limit requests them)"
}

// empty says which pages show nothing without JavaScript.
func empty(s crawler.Summary) string {
	n := s.Status.NotRead[budget.EmptyWithoutScript]
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s empty without JavaScript, which curtsy does not run: their content is not in the archive\n",
		map[bool]string{true: "1 page is", false: fmt.Sprintf("%d pages are", n)}[n == 1])
	for _, u := range s.Empty {
		fmt.Fprintf(&b, "         %s\n", plainly.OneLine(u))
	}
	if n > int64(len(s.Empty)) && len(s.Empty) > 0 {
		b.WriteString("         … and others; the ledger marks them (needs_script), and curtsy report has examples\n")
	}
	return b.String() + "\n"
}

// next are commands that look at a crawl, as they are typed.
func next(s status.Status, dir string) string {
	var commands [][2]string
	if s.Queued+s.InFlight+s.Deferred > 0 {
		commands = append(commands, [2]string{"status " + dir, "URLs left, and hosts that are not being crawled"})
	}
	commands = append(commands, [2]string{"report " + dir, "what was crawled and what was not, as a web page"}, [2]string{"audit " + dir, "was it polite?"})
	if s.Failed+s.Disallowed+s.Dropped > 0 {
		commands = append(commands, [2]string{"explain " + dir + " URL", "why a URL was not fetched"})
	}
	widest := 0
	for _, c := range commands {
		widest = max(widest, utf8.RuneCountInString(c[0]))
	}
	var b strings.Builder
	label := "look at"
	for _, c := range commands {
		fmt.Fprintf(&b, "%-8s curtsy %-*s  (%s)\n", label, widest, c[0], c[1])
		label = ""
	}
	return b.String()
}

// ending says in words why a run ended.
func ending(by string) string {
	if condition, ok := strings.CutPrefix(by, crawler.EndedStopWhen); ok {
		return "--stop-when " + plainly.OneLine(condition)
	}
	return endings[by]
}

// further is what to say before a thing when n of its kind were named.
func further(n int) string {
	if n > 0 {
		return "further "
	}
	return ""
}
