package audit

import (
	"slices"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// misses notes that the metadata record of an exchange without an answer names one all the same: the request names it too,
// or the metadata record would not have been found to be of it.
func (h *half) misses(rec *warc.Record) {
	if h.answered || !h.asked {
		return
	}
	if to := concurrent(rec); len(to) > 0 && !slices.Contains(h.ids, to[0]) && slices.Contains(h.to, to[0]) {
		h.e.LeftOut = to[0]
	}
}

// leftOut takes an exchange whose answer somebody took out of the archive. Who packs a crawl for others may do so with pages
// that ask not to be archived, and says how many (docs/wacz.md); what is more, or asks for no such thing, is missing. What
// such an answer said is known from the metadata alone.
func (a *audit) leftOut(h *half, to *host) {
	e := &h.e
	if e.LeftOut == "" {
		return
	}
	a.absent++
	l, robots := e.Line, e.asked().IsRobots()
	if robots || !noArchive(l.Directives) || a.absent > a.o.LeftOut {
		a.report(e.finding(finding.BadRecord, "the answer that request and metadata name (docs/warc.md), unless its page asks not to be archived and a package says that such are left out (docs/wacz.md)",
			"there is no record "+e.LeftOut))
	}
	if robots {
		return
	}
	to.reduced, h.answered, h.bodyless = true, true, true
	e.Answered, e.Status, e.Cut = true, l.Status, l.Truncated
}

// noArchive reports whether directives, as a crawl understood them, have noarchive among them.
func noArchive(directives string) bool {
	for d := range strings.SplitSeq(directives, ",") {
		if strings.EqualFold(strings.TrimSpace(d), "noarchive") {
			return true
		}
	}
	return false
}
