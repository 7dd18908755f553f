package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/value"
	"curtsy/storage/plainly"
)

// maxShown bounds the lines of a list in a text for people; JSON has them all.
const maxShown = 20

// several counts things.
func several(n int64, thing string) string { return plainly.Count(n, thing) }

// because lists reasons, the most frequent first.
func because(reasons map[string]int64) string {
	if len(reasons) == 0 {
		return ""
	}
	names := make([]string, 0, len(reasons))
	for r := range reasons {
		names = append(names, r)
	}
	sort.Slice(names, func(i, j int) bool {
		if reasons[names[i]] != reasons[names[j]] {
			return reasons[names[i]] > reasons[names[j]]
		}
		return names[i] < names[j]
	})
	for i, r := range names {
		names[i] = fmt.Sprintf("%d %s", reasons[r], oneLine(plainly.Reason(r)))
	}
	if len(names) > 6 {
		names = append(names[:6], "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// endings say in words why a run ended.
var endings = map[string]string{
	crawler.EndedDrained:     "everything in scope is done",
	crawler.EndedWaiting:     "what is left is not due within --max-wait",
	crawler.EndedInterrupted: "it was interrupted",
	crawler.EndedMaxPages:    "--max-pages is reached",
	crawler.EndedMaxBytes:    "--max-bytes is reached",
	crawler.EndedMaxTime:     "--max-time is over",
	crawler.EndedMaxPerHost:  "--max-per-host is reached everywhere",
	crawler.EndedMaxDBSize:   "the frontier is as large as --max-db-size lets it be",
}

// limitOf names the flags of limits that count over all runs: with the same limit resume would end at once.
var limitOf = map[string]string{
	crawler.EndedMaxPages:   "--max-pages",
	crawler.EndedMaxBytes:   "--max-bytes",
	crawler.EndedMaxPerHost: "--max-per-host",
}

// summaryText says how a run ended, or that there was nothing to run, where everything is, and what to do next
// if the crawl can go on.
func summaryText(s crawler.Summary, dir string, goOn bool) string {
	var b strings.Builder
	elapsed := time.Duration(s.Status.Elapsed * float64(time.Second))
	switch {
	case elapsed == 0:
		fmt.Fprintf(&b, "%s is finished: nothing is left to do.\n\n", oneLine(dir))
	case s.EndedBy == crawler.EndedWaiting && s.Status.Bytes == 0:
		fmt.Fprintf(&b, "Ended after %s: no host has answered.\n\n", clockTime(elapsed))
	default:
		fmt.Fprintf(&b, "Ended after %s: %s.\n\n", clockTime(elapsed), endings[s.EndedBy])
	}
	fmt.Fprintf(&b, "%s\n", statusText(s.Status, "", time.Now()))
	for _, seed := range s.Seeds {
		fmt.Fprintf(&b, "no usable answer from seed %s\n", oneLine(seed))
	}
	if more := s.SeedsUnanswered - int64(len(s.Seeds)); more > 0 {
		fmt.Fprintf(&b, "no usable answer from %s; the ledger says why\n", several(more, further(len(s.Seeds))+"seed"))
	}
	b.WriteString(mannersText(s.Manners))
	fmt.Fprintf(&b, "archive  %s\nledger   %s\n", oneLine(inDir(dir, crawldir.ArchiveName)), oneLine(inDir(dir, crawldir.LedgerName)))
	switch {
	case !goOn || s.Status.Queued+s.Status.InFlight+s.Status.Deferred == 0:
	case s.EndedBy == crawler.EndedMaxDBSize:
		size := value.Size(max(2*s.Status.Size, 1<<20) >> 20 << 20)
		fmt.Fprintf(&b, "go on    curtsy resume --max-db-size %v %s   (a larger limit)\n", &size, oneLine(word(dir)))
	case limitOf[s.EndedBy] != "":
		fmt.Fprintf(&b, "go on    curtsy resume %s 0 %s   (or another limit)\n", limitOf[s.EndedBy], oneLine(word(dir)))
	default:
		fmt.Fprintf(&b, "go on    curtsy resume %s\n", oneLine(word(dir)))
	}
	return b.String()
}

// further is what to say before a thing when n of its kind were named.
func further(n int) string {
	if n > 0 {
		return "further "
	}
	return ""
}
