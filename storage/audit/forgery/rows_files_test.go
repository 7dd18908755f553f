package forgery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// fileRows forge which files the archive has.
var fileRows = []row{
	{class: inArchive, name: "files with pages that the crawl never requested are added after the last one", found: finding.LedgerMissing, forge: func(e *evidence) {
		for n, host := range []string{"first.test", "second.test", "third.test"} {
			at := e.end().Add(time.Duration(n+1) * time.Minute)
			robots, page := e.planted(n, 0, "http://"+host+"/robots.txt", at), e.planted(n, 1, "http://"+host+"/", at.Add(time.Second))
			e.file(n+1, at.Add(-10*time.Millisecond), robots, page)
		}
	}},
	{class: inArchive, name: "a file of a run that the ledger does not have is added after the last one", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.foreignRun("first.test")
	}},
	{class: inArchive, name: "the same, of a crawl that was killed", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.killed()
		e.foreignRun("first.test")
	}},
	{class: inArchive, name: "several such files that share a URL", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.killed()
		e.foreignRun("first.test", "first.test", "first.test")
	}},
	{class: inArchive, name: "more pages than a kill leaves are added after the end of a killed crawl", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.killed()
		e.pages(ledger.MaxUnsynced+321, time.Second)
	}},
	{class: inArchive, name: "a page of the day before the crawl is added after the end of a killed one", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.killed()
		e.pages(1, -24*time.Hour)
	}},
	{class: inArchive, name: "a page is added after the end of a killed crawl",
		why: "a kill may leave as much: it is named as in flight, and an access log decides", forge: func(e *evidence) {
			e.killed()
			e.pages(1, time.Second)
		}},
	{class: inArchive, name: "a WARC file is added to a folder", found: finding.BadRecord, forge: func(e *evidence) {
		at := e.end().Add(time.Minute)
		e.file(1, at, e.planted(1, 0, "http://first.test/robots.txt", at))
		e.more["more/curtsy-00001.warc"] = e.more["curtsy-00001.warc"]
		delete(e.more, "curtsy-00001.warc")
	}},
	{class: inBoth, name: "another operator is declared, and the mark of the run commits to it", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		info := e.kind("warcinfo")[0]
		info.replace(e.t, "operator: The tests", "operator: The others")
		e.edit(e.line(`"mark":"run"`), `"warcinfo_sha256":"[0-9a-f]+"`, `"warcinfo_sha256":"`+strings.TrimPrefix(digest(info.block), "sha256:")+`"`)
		e.resign()
	}},
	{class: inLedger, name: "the mark of the run is removed", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.cut(e.line(`"mark":"run"`))
		e.resign()
	}},
	{class: inLedger, name: "a value that the mark of the run commits to", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"run"`), `"warcinfo_sha256":"[0-9a-f]+"`, `"warcinfo_sha256":`+other)
		e.resign()
	}},
	{class: inLedger, name: "the mark of the run binds nothing", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"run"`), `,"warcinfo_sha256":"[0-9a-f]+"`, "")
		e.resign()
	}},
	{class: inBoth, name: "a page is dated before the one before it, in a separate file", found: finding.LedgerDiffers, forge: func(e *evidence) { e.hasten(false) }},
	{class: inBoth, name: "a delay is too short, and the clock is declared as set back before it", found: finding.LedgerDiffers, forge: func(e *evidence) { e.hasten(true) }},
}

// killed makes the crawl one that was killed before its file was finished. That is no forgery.
func (e *evidence) killed() {
	e.torn = true
	e.book = slices.DeleteFunc(e.book, func(l string) bool {
		return strings.HasPrefix(l, `{"mark":"file"`) || strings.HasPrefix(l, `{"mark":"stop"`)
	})
	e.resign()
	e.remade = false
}

// foreignRun puts files behind the last one, each with a page and said to be of a run of its own.
func (e *evidence) foreignRun(hosts ...string) {
	for n, host := range hosts {
		at := e.end().Add(time.Duration(n+1) * time.Minute)
		robots, page := e.planted(n, 0, "http://"+host+"/robots.txt", at), e.planted(n, 1, "http://"+host+"/", at.Add(time.Second))
		e.file(n+1, at.Add(-10*time.Millisecond), robots, page)
		e.more[fmt.Sprintf("curtsy-%05d.warc", n+1)][0].block += "run-began: " + at.Format(stamp) + "\r\n"
	}
}

// pages puts robots.txt of so many hosts behind all else, as long behind the last exchange.
func (e *evidence) pages(hosts int, behind time.Duration) {
	end := e.end()
	for n := range hosts {
		at := end.Add(behind + time.Duration(n)*10*time.Millisecond)
		e.records = append(e.records, e.planted(n, 0, fmt.Sprintf("http://planted%d.test/robots.txt", n), at).all()...)
	}
}

// hasten brings the last exchange with a host to a moment behind the one before it, or before that one, and gives it a file
// that another run is said to have begun.
func (e *evidence) hasten(said bool) {
	_, last, next := e.tail("http://station.test/")
	by := last.began(e.t).Add(100 * time.Millisecond)
	run := last.began(e.t).Add(-time.Second)
	if !said {
		by, run = run, time.Time{}
	}
	next.shift(e.t, by.Sub(next.began(e.t)))
	e.bind(next)
	e.drop(next.all()...)
	e.file(1, by.Add(-10*time.Millisecond), next)
	if said {
		e.more["curtsy-00001.warc"][0].block += "run-began: " + run.Format(stamp) + "\r\n"
	}
}

// end is when the last exchange began.
func (e *evidence) end() (end time.Time) {
	for _, x := range e.exchanges("") {
		if at := x.began(e.t); at.After(end) {
			end = at
		}
	}
	return end
}

// planted is an exchange like one with bread or its robots.txt, with ids of its own.
func (e *evidence) planted(n, m int, url string, at time.Time) exchange {
	like := bread
	if strings.HasSuffix(url, "/robots.txt") {
		like = bakery
	}
	x := e.of(like)
	x = exchange{x.ask.clone(), x.answer.clone(), x.told.clone()}
	for _, r := range x.all() {
		for i := range r.fields {
			if f := &r.fields[i]; strings.HasPrefix(f.Value, "<urn:uuid:") && f.Name != "WARC-Warcinfo-ID" {
				f.Value = f.Value[:len("<urn:uuid:")] + fmt.Sprintf("%06x", 16*n+m) + f.Value[len("<urn:uuid:")+6:]
			}
		}
		r.set("WARC-Target-URI", url)
		r.set("WARC-IP-Address", fmt.Sprintf("198.19.%d.%d", n/250, n%250))
	}
	x.told.del("WARC-IP-Address")
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	x.ask.replace(e.t, "Host: bakery.test", "Host: "+host)
	if like == bread {
		x.ask.replace(e.t, "GET /bread ", "GET /"+path+" ")
	}
	x.shift(e.t, at.Sub(x.began(e.t)))
	x.bindHeads(e)
	return x
}

// file gives the archive one more file.
func (e *evidence) file(n int, at time.Time, xs ...exchange) {
	info := e.kind("warcinfo")[0].clone()
	name := fmt.Sprintf("curtsy-%05d.warc", n)
	info.set("WARC-Date", at.Format(stamp))
	info.set("WARC-Filename", name)
	info.set("WARC-Record-ID", fmt.Sprintf("<urn:uuid:00000000-0000-4000-8000-%012d>", 100+n))
	records := []*record{info}
	for _, x := range xs {
		records = append(records, x.all()...)
	}
	for _, r := range records[1:] {
		r.set("WARC-Warcinfo-ID", info.get("WARC-Record-ID"))
	}
	if e.more == nil {
		e.more = map[string][]*record{}
	}
	e.more[name], e.changed = records, true
}
