package audit

import (
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
)

// sameStory checks that request line, request record and answer of another crawler's exchange speak of one URL. Which of
// several the server was asked for, nobody can say. (Ours says the same octets everywhere, which whole checks.)
func (a *audit) sameStory(h *half) {
	e := &h.e
	if h.otherURL != "" {
		a.report(e.finding(finding.BadRecord, "a request and its answer are of one URL (WARC 1.1, 5.7)", "its request is of "+strconv.Quote(finding.Short(h.otherURL))))
		return
	}
	p, err := locate(e.URL)
	if err == nil && h.asked && !sameTarget(e.Target, p.target) {
		a.report(e.finding(finding.BadRecord, "a request for the record's URL", "the request line asks for "+strconv.Quote(finding.Short(e.Target))))
	}
}

// sameURL reports whether two URLs, which may be written in different ways, lead to the same.
func sameURL(a, b string) bool {
	if a == b {
		return true
	}
	p, err := locate(a)
	q, err2 := locate(b)
	return err == nil && err2 == nil && bareName(p.authority) == bareName(q.authority) && sameTarget(p.target, q.target)
}

// sameTarget reports whether two targets may be the same, written in different ways: archives have URLs before or after they
// were escaped, in the encoding of a page or in UTF-8, with dot segments or without.
func sameTarget(a, b string) bool { return a == b || unspelt(a) == unspelt(b) }

// unspelt is a target without all that differs between ways of writing it.
func unspelt(target string) string {
	target, _, _ = strings.Cut(target, "#")
	target = undotted(strings.ReplaceAll(target, `\`, "/"))
	var b strings.Builder
	for i := 0; i < len(target); i++ {
		c := target[i]
		if c == '%' && i+2 < len(target) {
			if n, err := strconv.ParseUint(target[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
			}
		}
		if c > ' ' && c < 0x7f && c != '+' { // a blank of a query is written as +, too
			b.WriteByte(c)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(b.String(), "?"), "/")
}
