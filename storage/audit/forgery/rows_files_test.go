package forgery

import (
	"fmt"
	"strings"
	"time"

	"curtsy/storage/audit"
)

// fileRows forge which files the archive has.
var fileRows = []row{
	{class: inArchive, name: "files with pages that the crawl never asked for are put behind the last one", found: audit.LedgerMissing, forge: func(e *evidence) {
		for n, host := range []string{"first.test", "second.test", "third.test"} {
			at := e.end().Add(time.Duration(n+1) * time.Minute)
			robots, page := e.planted(n, 0, "http://"+host+"/robots.txt", at), e.planted(n, 1, "http://"+host+"/", at.Add(time.Second))
			e.file(n+1, at.Add(-10*time.Millisecond), robots, page)
		}
	}},
	{class: inBoth, name: "a page is dated before the one before it, in a file of its own", found: audit.LedgerDiffers, forge: func(e *evidence) { e.hasten(false) }},
	{class: inBoth, name: "a pause is too short, and the clock said to have been set back before it", found: audit.LedgerDiffers, forge: func(e *evidence) { e.hasten(true) }},
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
				f.Value = f.Value[:len("<urn:uuid:")] + fmt.Sprintf("%d%d", n, m) + f.Value[len("<urn:uuid:")+2:]
			}
		}
		r.set("WARC-Target-URI", url)
		r.set("WARC-IP-Address", fmt.Sprintf("198.18.9.%d", n))
	}
	x.told.del("WARC-IP-Address")
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	x.ask.replace(e.t, "Host: bakery.test", "Host: "+host)
	if like == bread {
		x.ask.replace(e.t, "GET /bread ", "GET /"+path+" ")
	}
	x.shift(e.t, at.Sub(x.began(e.t)))
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
