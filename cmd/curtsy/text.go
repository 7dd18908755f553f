package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"curtsy/crawler"
)

// maxShown bounds the lines of a list in a text for people; JSON has them all.
const maxShown = 20

// statusText is a status for people.
func statusText(s crawler.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %s\n", "state", s.State)
	fmt.Fprintf(&b, "%-12s %d\n", "discovered", s.Discovered)
	for _, row := range []struct {
		name, outcome string
		n             int64
	}{
		{"fetched", "", s.Fetched}, {"redirected", "redirected", s.Redirected}, {"gone", "gone", s.Gone},
		{"failed", "failed", s.Failed}, {"disallowed", "", s.Disallowed}, {"dropped", "dropped", s.Dropped},
		{"queued", "", s.Queued}, {"in flight", "", s.InFlight}, {"deferred", "", s.Deferred},
	} {
		fmt.Fprintf(&b, "  %-10s %d%s\n", row.name, row.n, because(s.Reasons[row.outcome]))
	}
	fmt.Fprintf(&b, "%-12s %s, %s in %s, %d of them for robots.txt\n", "received",
		several(s.Pages, "HTML page"), roughSize(s.Bytes), several(s.Exchanges, "exchange"), s.Robots)
	fmt.Fprintf(&b, "%-12s %d", "hosts", s.Hosts)
	if s.Parked+s.Retired+s.Refused > 0 {
		fmt.Fprintf(&b, ", of these %d parked, %d retired, %d refused", s.Parked, s.Retired, s.Refused)
	}
	b.WriteString("\n")
	if len(s.Links) > 0 {
		fmt.Fprintf(&b, "%-12s%s\n", "not followed", because(s.Links))
	}
	for i, r := range s.Resting {
		if i == maxShown {
			fmt.Fprintf(&b, "  … see --json for more\n")
			break
		}
		fmt.Fprintf(&b, "  %s %s: %s", oneLine(r.Host), r.Condition, oneLine(r.Reason))
		if r.Wait > 0 && r.Condition == "parked" {
			fmt.Fprintf(&b, "; asked again in %v", time.Duration(r.Wait*float64(time.Second)).Round(time.Second))
		}
		fmt.Fprintf(&b, "; %s pending\n", several(r.Pending, "URL"))
	}
	return b.String()
}

// several counts things.
func several(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

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
		names[i] = fmt.Sprintf("%d %s", reasons[r], oneLine(r))
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
	fmt.Fprintf(&b, "%s\n", statusText(s.Status))
	for _, seed := range s.Seeds {
		fmt.Fprintf(&b, "no usable answer from seed %s\n", oneLine(seed))
	}
	if more := s.SeedsUnanswered - int64(len(s.Seeds)); more > 0 {
		fmt.Fprintf(&b, "no usable answer from %s; the ledger says why\n", several(more, further(len(s.Seeds))+"seed"))
	}
	fmt.Fprintf(&b, "archive  %s\nledger   %s\n", oneLine(inDir(dir, warcName)), oneLine(inDir(dir, ledgerName)))
	if s.Status.Queued+s.Status.InFlight+s.Status.Deferred > 0 && goOn {
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
