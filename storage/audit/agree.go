package audit

import (
	"strconv"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
)

// sameStory checks that request line, request record and answer of another crawler's exchange speak of one URL. Which of
// several the server was asked for, nobody can say. (Ours says the same octets everywhere, which whole checks.)
func (a *audit) sameStory(h *evidence.Joined) {
	e := &h.Exchange
	if h.RequestURL != "" {
		a.report(e.Finding(finding.BadRecord, "a request and its answer are of one URL (WARC 1.1, 5.7)", "its request is of "+strconv.Quote(finding.Short(h.RequestURL))))
		return
	}
	p, err := weburl.Parse(e.URL)
	if err == nil && h.HasRequest && !weburl.SameTarget(e.Target, p.Target) {
		a.report(e.Finding(finding.BadRecord, "a request for the record's URL", "the request line asks for "+strconv.Quote(finding.Short(e.Target))))
	}
}
