package audit

import (
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// leftOut takes an exchange whose answer somebody took out of the archive. Who packs a crawl for others may do so with pages
// that ask not to be archived, and says how many (docs/wacz.md); what is more, or asks for no such thing, is missing. What
// such an answer said is known from the metadata alone.
func (a *audit) leftOut(h *evidence.Joined, to *host) {
	e := &h.Exchange
	if e.LeftOut == "" {
		return
	}
	a.absent++
	l, robots := e.Line, e.Asked().IsRobots()
	if robots || !noArchive(l.Directives) || a.absent > a.o.LeftOut {
		a.report(e.Finding(finding.BadRecord, "the answer that request and metadata name (docs/warc.md), unless its page asks not to be archived and a package says that such are left out (docs/wacz.md)",
			"there is no record "+e.LeftOut))
	}
	if robots {
		return
	}
	to.reduced, h.HasAnswer, h.Bodyless = true, true, true
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
