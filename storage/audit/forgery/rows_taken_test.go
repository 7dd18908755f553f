package forgery

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/redact"
)

// takenDown makes a row of which something is taken down behind the forgery, as curtsy redact --all does it: the ledger has
// its stubs and its mark.
func takenDown(url, name string, found finding.Code, why string, forge func(e *evidence)) row {
	return reduced(url, name, found, why, true, forge)
}

// reduced is takenDown, of everything or of the body alone.
func reduced(url, name string, found finding.Code, why string, all bool, forge func(e *evidence)) row {
	return row{class: inBoth, name: name, found: found, why: why, forge: forge, show: func(e *evidence) trial {
		dir := e.write()
		s := redact.Subject{Text: url, Covers: func(other string) bool { return other == url }, Host: strings.HasSuffix(url, "/robots.txt")}
		if err := takeDown(e.t, dir, s, all); err != nil {
			e.t.Fatal(err)
		}
		return directory(dir)
	}}
}

// takeDown forgets something of a crawl directory.
func takeDown(t *testing.T, dir string, s redact.Subject, all bool) error {
	t.Helper()
	j, err := redact.Prepare(t.Context(), redact.Request{Dir: dir, Subject: s, All: all})
	if err != nil {
		return err
	}
	return j.Finish(t.Context(), dir, redact.Ending{Ledger: func() (*ledger.Writer, error) {
		return ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger"), Signer: operatorKey, Software: "curtsy/1"})
	}})
}

// takenRows hide behind a takedown: something was asked for, and nobody can see any more what it said. That excuses what it
// may have said, in its place, and nothing else.
var takenRows = []row{
	takenDown(cakes, "a RateLimit that was not obeyed, and the page behind it is redacted", "",
		"the redacted page may have had another RateLimit: the delay is counted as unprovable", limitBread),
	takenDown("http://station.test/", "a RateLimit that was not obeyed, and a page of another host is redacted", finding.Gap, "", limitBread),
	takenDown("http://bakery.test/style.css", "a RateLimit that was not obeyed, and a page before it is redacted", finding.Gap, "", limitBread),
	takenDown(cakes, "responses are recorded as slow, the delay stays, and one of them is redacted", finding.Gap, "", func(e *evidence) {
		for i, x := range e.exchanges("") {
			if strings.HasPrefix(x.url(), "http://bakery.test/") {
				x.slowed(e, i)
			}
		}
	}),
	takenDown(timetable, "a Crawl-delay that was not obeyed, after a page that is redacted", finding.Gap, "", func(e *evidence) {
		x := e.of(platforms)
		x.shift(e.t, -4*time.Second)
		e.bind(x)
	}),
	takenDown("http://library.test/hours", "a request is removed, and a page of another host that was requested then is redacted", finding.GapTold, "",
		func(e *evidence) { e.without(e.of(timetable)) }),
	reduced(bread, "a revisit of another payload, and the body that it repeats is redacted", finding.BadRecord, "", false, func(e *evidence) {
		x := e.revisit()
		x.answer.set("WARC-Payload-Digest", "sha256:"+strings.Trim(other, `"`))
		e.value(e.lineOf(x), "payload_sha256", other)
		e.resign()
	}),
	reduced(bread, "a revisit of another URL, and the body that it repeats is redacted", finding.BadRecord, "", false, func(e *evidence) {
		e.revisit().answer.set("WARC-Refers-To-Target-URI", cakes)
		e.resign()
	}),
	takenDown(bakery, "robots.txt is redacted, and the pages of its host stay", finding.RobotsMissing, "", func(e *evidence) { e.changed = true }),
}

// limitBread has an answer ask for five seconds between two requests.
func limitBread(e *evidence) {
	x := e.of(bread)
	x.answer.replace(e.t, "Content-Type:", "RateLimit: \"p\";r=12;t=60\r\nContent-Type:")
	e.bind(x)
}

// slowed has the answers of a host take a second, and moves what follows.
func (x exchange) slowed(e *evidence, n int) {
	x.shift(e.t, time.Duration(n)*time.Second)
	for _, name := range []string{"fetchTimeMs", "firstByteTimeMs"} {
		x.told.field(e.t, name, "1000")
	}
	i := e.lineOf(x)
	e.value(i, "took_ms", "1000")
	e.value(i, "first_byte_ms", "1000")
	e.bind(x)
}

// backRows have the clock set back by a day, and forward again: so a robots.txt of before may be young by its dates. It is
// not where the crawl asked for something else meanwhile.
var backRows = []row{
	{class: inArchive, name: "the clock is set back and forth, and pages are requested meanwhile by an old robots.txt", found: finding.RobotsExpired, forge: func(e *evidence) {
		e.backAndForth("/0", "/1", "/2")
	}},
	{class: inArchive, name: "the clock is set back and forth, and robots.txt and pages are requested meanwhile", found: finding.RobotsExpired, forge: func(e *evidence) {
		e.backAndForth("/robots.txt", "/0", "/1", "/2")
	}},
}

// backAndForth gives the archive the files of two more runs: one of a day before, in which a host is asked for something, and
// one of an hour behind, which asks it for a page by the robots.txt that the first run had.
func (e *evidence) backAndForth(meanwhile ...string) {
	end := e.end()
	run := func(n int, at time.Time, paths ...string) {
		var xs []exchange
		for m, path := range paths {
			xs = append(xs, e.planted(n, m, "http://bakery.test"+path, at.Add(time.Duration(5*m+1)*time.Second)))
		}
		e.file(n, at, xs...)
		e.more["curtsy-0000"+string(rune('0'+n))+".warc"][0].block += "run-began: " + at.Format(stamp) + "\r\n"
	}
	run(1, end.Add(-25*time.Hour), meanwhile...)
	run(2, end.Add(time.Hour), "/later")
}
