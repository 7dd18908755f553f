package audit

import (
	"strconv"
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// records holds exchanges to the records that they should have (WARC 1.1; docs/reference/archives.md). Package evidence has checked
// each record for itself.
type records struct {
	mayLack int64 // how many answers whoever packed the files says that he left out
	absent  int64 // answers that request and metadata name, and that are not there

	m     evidence.Measure
	found finding.List
}

// judge checks that an exchange has the records it should have.
func (j *records) judge(h *evidence.Joined) {
	e := &h.Exchange
	if e.OtherHost() {
		j.found.Add(e.Finding(finding.BadRecord, "a request to the host of the record's URL (RFC 9112 3.2)",
			"it names "+strconv.Quote(finding.Short(e.Host))))
	}
	if !j.m.Ours() {
		j.sameStory(h)
		return
	}
	if lost := e.Damaged; lost.File != "" && lost.Record == "" { // what the exchange lacks is that record
		f := e.Finding(finding.BadRecord, "the records of every request (archive reference)", "not even the head of one of them can be read")
		f.Place, f.Place.Record, f.Unreadable = lost, e.LeftOut, true
		j.found.Add(f)
		return
	}
	if wrong := h.Disagreement(); j.m.Ledger && wrong != "" {
		j.found.Add(e.Finding(finding.BadRecord,
			"request, response and metadata records are adjacent, name each other, and have one date, URL "+
				"and address (archive reference)", wrong))
	}
	if e.Line != nil {
		for _, w := range evidence.Troubles(e.Line, evidence.Answer{Status: e.Status, Whole: e.Answered && e.Cut == "",
			LeftOut: e.LeftOut != ""}) {
			f := e.Finding(finding.BadRecord, w.Required+" (ledger reference)",
				"the crawl recorded "+finding.Short(w.Said))
			if f.Place = e.LineAt; w.Field == "paceBy" {
				f.Code = finding.GapTold
			}
			j.found.Add(f)
		}
	}
	for _, f := range facts {
		if e.Line == nil || e.LeftOut != "" {
			break
		}
		if wrong := f.wrong(h, j.m.Info); wrong != "" {
			j.found.Add(e.Finding(finding.BadRecord, f.required, wrong))
		}
	}
	if f, differ := e.HeadsDiffer(); differ {
		j.found.Add(f)
	}
	if !h.HasMetadata && !(h.Last && evidence.Unfinished(e.File)) { // a kill may have come before it was written
		j.found.Add(e.Finding(finding.BadRecord, "a metadata record for every request (archive reference)",
			"a request without one"))
	}
	if !h.HasRequest {
		j.found.Add(e.Finding(finding.BadRecord, "a request record for every response (archive reference)",
			"a response without its request"))
	}
	if p, err := evidence.ParseURL(e.URL); err == nil && h.HasRequest && e.Target != p.Target {
		j.found.Add(e.Finding(finding.BadRecord, "a request for the record's URL",
			"the request line has "+e.Target))
	}
}

// sameStory checks that request line, request record and answer of another crawler's exchange speak of one URL.
// Nobody can say which of several the server was asked for. (Ours says the same bytes everywhere, which judge
// checks.)
func (j *records) sameStory(h *evidence.Joined) {
	e := &h.Exchange
	if h.RequestURL != "" {
		j.found.Add(e.Finding(finding.BadRecord, "a request and its answer are of one URL (WARC 1.1, 5.7)",
			"its request is of "+strconv.Quote(finding.Short(h.RequestURL))))
		return
	}
	p, err := evidence.ParseURL(e.URL)
	if err == nil && h.HasRequest && !evidence.SameTarget(e.Target, p.Target) {
		j.found.Add(e.Finding(finding.BadRecord, "a request for the record's URL",
			"the request line has "+strconv.Quote(finding.Short(e.Target))))
	}
}

// leftOut takes an exchange whose answer somebody took out of the archive. Whoever packs a crawl for others may leave
// out pages that ask not to be archived, and says how many (docs/reference/archives.md); any other answer is missing. The metadata
// alone tells what such an answer said.
func (j *records) leftOut(h *evidence.Joined, to *pacing.Host) {
	e := &h.Exchange
	if e.LeftOut == "" {
		return
	}
	j.absent++
	l, robots := e.Line, e.Asked().IsRobots()
	if e.Damaged.File == "" && (robots || !asks(l.Directives, "noarchive") || j.absent > j.mayLack) { // otherwise judge reports it
		j.found.Add(e.Finding(finding.BadRecord,
			"the answer that request and metadata name (archive reference), unless its page has noarchive and "+
				"the package records how many it leaves out (archive reference)",
			"no record "+e.LeftOut))
	}
	if robots {
		return
	}
	to.Reduced, h.HasAnswer, h.Bodyless = true, true, true
	e.Answered, e.Status, e.Cut = true, l.Status, l.Truncated
}

// asks reports whether directives, as a crawl understood them, have one among them.
func asks(directives, one string) bool {
	for d := range strings.SplitSeq(directives, ",") {
		if strings.EqualFold(strings.TrimSpace(d), one) {
			return true
		}
	}
	return false
}
