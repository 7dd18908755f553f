package forgery

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/finding"
)

// bind makes the line of an exchange fit its records, and makes and signs the log anew.
func (e *evidence) bind(xs ...exchange) {
	for _, x := range xs {
		i := e.lineOf(x)
		x.bindHeads(e)
		e.value(i, "heads_sha256", `"`+x.heads()+`"`)
		e.bindBlocks(x)
		if x.answer.is("response") && x.answer.get("WARC-Truncated") == "" {
			e.value(i, "payload_sha256", `"`+strings.TrimPrefix(digest(x.answer.payload()), "sha256:")+`"`)
			e.value(i, "octets", fmt.Sprint(len(x.answer.block)))
		}
		e.value(i, "began", `"`+x.told.get("WARC-Date")+`"`)
	}
	e.resign()
}

// bindBlocks makes the line of an exchange fit the blocks of its records.
func (e *evidence) bindBlocks(x exchange) {
	var sums []byte
	for _, r := range x.all() {
		if slices.Contains(e.records, r) {
			sum := sha256.Sum256([]byte(r.block))
			sums = append(sums, sum[:]...)
		}
	}
	e.value(e.lineOf(x), "blocks_sha256", fmt.Sprintf(`"%x"`, sha256.Sum256(sums)))
}

// heads is the digest that binds the heads of an exchange.
func (x exchange) heads() string {
	head, _, whole := strings.Cut(x.answer.block, "\r\n\r\n")
	if head += "\r\n\r\n"; !whole {
		head = ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(x.ask.block+head)))
}

// bindHeads makes the metadata of an exchange fit its heads.
func (x exchange) bindHeads(e *evidence) { x.told.field(e.t, "headsSha256", x.heads()) }

// agreeing makes a row that forges an exchange in the archive, and its line with it.
func agreeing(url, name string, found finding.Code, with helper, forge func(t *testing.T, x exchange, line func(field, value string))) row {
	return row{class: inBoth, name: name, found: found, with: with, forge: func(e *evidence) {
		x := e.of(url)
		forge(e.t, x, func(field, value string) { e.value(e.lineOf(x), field, value) })
		e.bind(x)
	}}
}

// without takes an exchange out of both.
func (e *evidence) without(xs ...exchange) {
	for _, x := range xs {
		e.cut(e.lineOf(x))
		e.drop(x.all()...)
	}
	e.resign()
}

// bothRows forge archive and ledger so that they agree.
var bothRows = slices.Concat(bothGone, bothTold)

// bothGone take something out of both, or add it to both.
var bothGone = []row{
	{class: inBoth, name: "a request is removed", found: finding.GapTold, forge: func(e *evidence) { e.without(e.of(timetable)) }},
	{class: inBoth, name: "a request is removed, and the next delay recorded longer", found: finding.LedgerHead, with: lodged, forge: (*evidence).closed},
	{class: inBoth, name: "a request is removed, the next delay recorded longer, and the host keeps a log", found: finding.LogExtra, with: logs, forge: (*evidence).closed},
	{class: inBoth, name: "a request is removed, and a clock declared to have jumped", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		_, gone, next := e.tail("http://station.test/")
		by := next.began(e.t).Sub(gone.began(e.t)) // the answer took no time
		e.edit(e.lineOf(next), `,"salt"`, fmt.Sprintf(`,"clock_ahead_ms":%d,"salt"`, by.Milliseconds()))
		next.told.field(e.t, "clockAheadMs", fmt.Sprint(by.Milliseconds()))
		e.bind(next)
		e.without(gone)
	}},
	{class: inBoth, name: "a request is removed, and a clock declared to have jumped there and back", found: finding.GapTold, forge: func(e *evidence) {
		gone, next := e.of("http://station.test/slow"), e.of(timetable)
		e.edit(e.lineOf(next), `,"salt"`, `,"clock_ahead_ms":5000,"salt"`)
		next.told.field(e.t, "clockAheadMs", "5000")
		e.bind(next)
		e.without(gone)
	}},
	{class: inBoth, name: "a request is removed, and an attempt that reached no server put in its place", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		gone := e.of(timetable)
		i := e.lineOf(gone)
		e.drop(gone.all()...)
		e.book[i] = `{"time":"2000-01-01T00:00:34.000000Z","url":"` + timetable + `","decision":"allow","reason":"connect","attempt":1,"outcome":"failed","salt":"0123456789abcdef0123456789abcdef"}` + "\n"
		e.resign()
	}},
	{class: inBoth, name: "the last request to a host is removed", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		_, _, last := e.tail("http://station.test/")
		e.without(last)
	}},
	{class: inBoth, name: "a host is removed", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		for _, x := range e.exchanges("") {
			if strings.HasPrefix(x.url(), "http://harbour.test/") {
				e.without(x)
			}
		}
	}},
	{class: inBoth, name: "robots.txt is removed", found: finding.RobotsMissing, forge: func(e *evidence) { e.without(e.of(bakery)) }},
	{class: inBoth, name: "a refusal is removed", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		r := e.refusals()
		_, r.block, _ = strings.Cut(r.block, "\n")
		e.cut(e.line(`"decision":"refuse"`))
		e.resign()
	}},
	{class: inBoth, name: "a request is invented after the last to its host", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) { e.inventBoth("http://bakery.test/buns") }},
	{class: inBoth, name: "a page that robots.txt forbids is invented", found: finding.Disallowed, forge: func(e *evidence) { e.inventBoth("http://bakery.test/kitchen/oven") }},
	{class: inBoth, name: "all metadata is removed", found: finding.BadRecord, forge: func(e *evidence) {
		all := e.exchanges("")
		for _, x := range all {
			e.drop(x.told)
		}
		e.bind(all...)
	}},
	{class: inBoth, name: "the end of the crawl is cut off, and the crawl declared as killed", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		all := e.exchanges("")
		e.without(all[len(all)-1])
		e.book = e.book[:len(e.book)-3]
		e.resign()
	}},
}

// tail returns the last exchanges with a site.
func (e *evidence) tail(site string) (before, last, next exchange) {
	var all []exchange
	for _, x := range e.exchanges("") {
		if strings.HasPrefix(x.url(), site) {
			all = append(all, x)
		}
	}
	n := len(all)
	return all[n-3], all[n-2], all[n-1]
}

// closed takes an exchange out, and makes the next one follow on the one before.
func (e *evidence) closed() {
	before, gone, next := e.tail("http://station.test/")
	gap := next.began(e.t).Sub(before.began(e.t)) // the answer took no time
	e.value(e.lineOf(next), "gap_ms", fmt.Sprint(gap.Milliseconds()))
	next.told.field(e.t, "gapMs", fmt.Sprint(gap.Milliseconds()))
	e.bind(next)
	e.without(gone)
}

// inventBoth invents an exchange with its line.
func (e *evidence) inventBoth(url string) {
	line := e.book[e.lineOf(e.of(bread))]
	x := e.invent(url)
	i := e.line(`{"mark":"stop"`)
	e.book = slices.Insert(e.book, i, line)
	e.value(i, "record", `"`+x.id()+`"`)
	e.value(i, "url", `"`+url+`"`)
	e.value(i, "gap_ms", "5000")
	e.bind(x)
}

// bothTold forge what both tell.
var bothTold = []row{
	agreeing("http://bakery.test/style.css", "a body", finding.LedgerHead, lodged, func(t *testing.T, x exchange, _ func(string, string)) {
		x.answer.replace(t, "#333", "#999")
	}),
	agreeing(bread, "a status", finding.LedgerHead, lodged, func(t *testing.T, x exchange, line func(string, string)) { status(t, x, line) }),
	agreeing(bread, "a status, and the host keeps a log", finding.LogMissing, logs, func(t *testing.T, x exchange, line func(string, string)) { status(t, x, line) }),
	agreeing(timetable, "a date, so that a delay is too short", finding.Gap, "", func(t *testing.T, x exchange, _ func(string, string)) { x.shift(t, -2500*time.Millisecond) }),
	{class: inBoth, name: "all dates of a host, alike", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) { e.later("http://harbour.test/", 10*time.Second) }},
	{class: inBoth, name: "all dates of a host, alike, and the host keeps a log", found: finding.LogExtra, with: logs, forge: func(e *evidence) { e.later("http://station.test/", 10*time.Second) }},
	agreeing(cakes, "another page was requested", finding.LedgerHead, lodged, buns),
	agreeing(cakes, "another page was requested, and the host keeps a log", finding.LogMissing, logs, buns),
	agreeing(timetable, "a delay is recorded longer", finding.GapTold, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "gapMs", "4000")
		line("gap_ms", "4000")
	}),
	agreeing(timetable, "a delay is recorded shorter", finding.GapTold, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "gapMs", "1500")
		line("gap_ms", "1500")
	}),
	agreeing(timetable, "a delay due is recorded shorter", finding.GapTold, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "paceMs", "1000")
		line("pace_ms", "1000")
	}),
	agreeing(timetable, "a delay due has another reason", finding.GapTold, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "paceBy", "floor")
		line("pace_by", `"floor"`)
	}),
	agreeing(timetable, "a delay is declared as the operator's, who raised none", finding.GapTold, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "paceBy", "operator")
		line("pace_by", `"operator"`)
	}),
	{class: inBoth, name: "a delay is too short, and a mark attributes it to the operator", found: finding.Gap, forge: func(e *evidence) {
		x := e.of(timetable)
		x.shift(e.t, -2500*time.Millisecond)
		e.book = slices.Insert(e.book, e.lineOf(x), `{"mark":"operator","time":"`+x.began(e.t).Format(stamp)+`","act":"delay","about":"all hosts: 0s, was 4s","whom":"*","delay_ms":1}`)
		e.bind(x)
	}},
	{class: inBoth, name: "a Retry-After that was obeyed is removed", found: finding.GapTold, forge: func(e *evidence) {
		x := e.exchanges("http://station.test/busy")[0]
		x.answer.replace(e.t, "Retry-After: 20\r\n", "")
		e.bind(x)
	}},
	agreeing("http://bakery.test/kitchen/tour", "another line of robots.txt decided", finding.Verdict, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "robotsLine", "2")
		line("line", "2")
	}),
	agreeing(bakery, "robots.txt forbids a requested URL", finding.Disallowed, "", func(t *testing.T, x exchange, _ func(string, string)) {
		x.answer.replace(t, "Disallow: /kitchen/", "Disallow: /cakes   ")
	}),
	{class: inBoth, name: "robots.txt, and all references to it", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) { e.reword("Allow: /kitchen/tour\n", "Allow: /kitchen/tour\n# hi\n") }},
	{class: inBoth, name: "robots.txt is made permissive, with all that names it", found: finding.Verdict, forge: func(e *evidence) { e.reword("Disallow: /kitchen/\n", "Disallow: /cellar/\n") }},
	{class: inBoth, name: "robots.txt is recorded as requested for another host, whose own robots.txt redirects there", found: finding.RobotsMissing, forge: func(e *evidence) {
		const mist = "http://mist.test/robots.txt"
		x, y := e.of(mist), e.of("http://museum.test/robots.txt")
		x.answer.replace(e.t, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 302 Found\r\nLocation: "+y.url()+"\r\n")
		x.told.field(e.t, "status", "302")
		e.value(e.lineOf(x), "status", "302")
		y.told.field(e.t, "via", mist)
		e.edit(e.lineOf(y), `\}\n$`, `,"via":"`+mist+`"}`+"\n")
		e.bind(x, y)
	}},
	agreeing(bread, "another name of the crawler", finding.UserAgent, "", func(t *testing.T, x exchange, _ func(string, string)) {
		x.ask.replace(t, "User-Agent: curtsy/1 ", "User-Agent: curtsy/2 ")
	}),
	agreeing(bread, "a cookie", finding.Credentials, "", func(t *testing.T, x exchange, _ func(string, string)) {
		x.ask.replace(t, "Accept:", "Cookie: id=7\r\nAccept:")
	}),
	agreeing(bread, "another method is used", finding.Method, "", func(t *testing.T, x exchange, _ func(string, string)) { x.ask.replace(t, "GET ", "DELETE ") }),
	agreeing(bread, "the page that led there", finding.LedgerHead, lodged, func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, "via", "http://bakery.test/elsewhere")
		line("via", `"http://bakery.test/elsewhere"`)
	}),
}

// buns makes an exchange one with another page.
func buns(t *testing.T, x exchange, line func(string, string)) {
	x.ask.replace(t, "GET /cakes ", "GET /buns ")
	for _, r := range x.all() {
		r.set("WARC-Target-URI", "http://bakery.test/buns")
	}
	line("url", `"http://bakery.test/buns"`)
}

// status makes an answer one of another status.
func status(t *testing.T, x exchange, line func(string, string)) {
	x.answer.replace(t, "HTTP/1.1 200 OK", "HTTP/1.1 203 OK")
	x.told.field(t, "status", "203")
	line("status", "203")
}

// later moves all dates of a host.
func (e *evidence) later(site string, d time.Duration) {
	for _, x := range e.exchanges("") {
		if strings.HasPrefix(x.url(), site) {
			x.shift(e.t, d)
			e.bind(x)
		}
	}
}

// reword replaces a part of bakery's robots.txt, and its digest wherever it stands.
func (e *evidence) reword(old, with string) {
	x := e.of(bakery)
	sum := func() string { return strings.TrimPrefix(digest(x.answer.payload()), "sha256:") }
	was := sum()
	x.answer.replace(e.t, old, with)
	is := sum()
	for _, r := range e.records {
		if r.is("metadata") {
			r.block = strings.ReplaceAll(r.block, was, is)
		}
	}
	for i := range e.book {
		e.book[i] = strings.ReplaceAll(e.book[i], was, is)
	}
	for _, x := range e.exchanges("") {
		if strings.HasPrefix(x.url(), "http://bakery.test/") {
			e.bind(x)
		}
	}
}
