package forgery

import (
	"regexp"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// strange is the same crawl as another crawler would have archived it: without metadata of ours, without a ledger.
type strange struct{ *evidence }

// stranger takes away what makes an archive ours.
func stranger(e *evidence) strange {
	e.book = nil
	for _, x := range e.exchanges("") {
		e.drop(x.told)
	}
	var kept []*record
	for _, r := range e.records {
		switch {
		case r.is("metadata"), r.is("revisit"), r.is("request") && e.answerOf(r) == nil:
		case r.is("request") && e.answerOf(r).is("revisit"):
		default:
			kept = append(kept, r)
		}
	}
	e.records = kept
	for _, r := range e.records {
		if r.is("warcinfo") {
			r.block = "software: Otherbot/2\r\n"
		}
		if r.is("request") {
			r.block = strings.Replace(r.block, "User-Agent: curtsy/1", "User-Agent: Otherbot/2", 1)
		}
	}
	return strange{e}
}

// answerOf returns the answer that a request record names.
func (e *evidence) answerOf(ask *record) *record {
	for _, r := range e.records {
		if id := r.get("WARC-Record-ID"); (r.is("response") || r.is("revisit")) && id != "" && id == ask.get("WARC-Concurrent-To") {
			return r
		}
	}
	return nil
}

// show shows the archive alone.
func (s strange) show() trial {
	path := s.t.TempDir() + "/other.warc"
	s.put(path, s.archive())
	return trial{o: audit.Options{Files: []string{path}}}
}

// pair returns the records of an exchange with a URL: there is no metadata.
func (s strange) pair(url string) (ask, answer *record) {
	s.t.Helper()
	for _, r := range s.records {
		if r.is("request") && r.get("WARC-Target-URI") == url {
			ask, answer = r, s.answerOf(r)
		}
	}
	if answer == nil {
		s.t.Fatalf("no exchange with %s", url)
	}
	return ask, answer
}

// alien makes a row about an archive of another crawler.
func alien(name string, found finding.Code, forge func(s strange)) row {
	return row{class: foreign, name: name, found: found, forge: func(e *evidence) { forge(stranger(e)) },
		show: func(e *evidence) trial { return strange{e}.show() }}
}

// foreignRows forge archives of other crawlers, of which less is known.
var foreignRows = []row{
	alien("a page that robots.txt forbids", finding.Disallowed, func(s strange) {
		ask, answer := s.pair("http://bakery.test/bread")
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Target-URI", "http://bakery.test/kitchen/oven")
		}
		ask.replace(s.t, "GET /bread ", "GET /kitchen/oven ")
	}),
	alien("no robots.txt of a host", finding.RobotsMissing, func(s strange) {
		ask, answer := s.pair("http://bakery.test/robots.txt")
		s.drop(ask, answer)
	}),
	alien("a body that is not the one digested", finding.Digest, func(s strange) {
		_, answer := s.pair("http://bakery.test/bread")
		answer.kept = true
		answer.replace(s.t, "Rye", "Oat")
	}),
	alien("a Crawl-delay that was not kept", finding.Gap, func(s strange) {
		s.shift("http://station.test/timetable", -2500*time.Millisecond)
	}),
	alien("a browser's name", finding.UserAgent, func(s strange) {
		ask, _ := s.pair("http://bakery.test/bread")
		ask.replace(s.t, "User-Agent: Otherbot/2", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 xx")
		ask.block = strings.Replace(ask.block, " (+"+contact+")", "", 1)
	}),
	alien("a form is sent", finding.Method, func(s strange) {
		ask, _ := s.pair("http://bakery.test/bread")
		ask.replace(s.t, "GET ", "POST ")
	}),
	alien("no name", finding.UserAgent, func(s strange) {
		ask, _ := s.pair("http://bakery.test/bread")
		ask.block = userAgent.ReplaceAllString(ask.block, "")
	}),
	alien("robots.txt was out of order", finding.RobotsUnreachable, func(s strange) {
		_, answer := s.pair("http://bakery.test/robots.txt")
		answer.replace(s.t, "200 OK", "503 No")
	}),
	alien("robots.txt leads elsewhere", finding.RobotsMissing, func(s strange) {
		_, answer := s.pair("http://museum.test/robots.txt")
		answer.replace(s.t, "http://library.test/for-others.txt", "http://library.test/for-nobody.txt")
	}),
	alien("a record without a date", finding.BadRecord, func(s strange) {
		_, answer := s.pair("http://bakery.test/bread")
		answer.set("WARC-Date", "yesterday")
	}),
	alien("a record without an id", finding.BadRecord, func(s strange) {
		_, answer := s.pair("http://bakery.test/bread")
		answer.del("WARC-Record-ID")
	}),
	unknown("a body, with its digests", "nothing outside the archive shows the response", func(s strange) {
		_, answer := s.pair("http://bakery.test/bread")
		answer.replace(s.t, "Rye", "Oat")
	}),
	unknown("robots.txt is made permissive", "nothing outside the archive shows the response", func(s strange) {
		_, answer := s.pair("http://bakery.test/robots.txt")
		answer.replace(s.t, "Disallow: /kitchen/", "Disallow: /nothing/")
	}),
	unknown("a date, and the delay stays long enough", "nothing outside the archive dates a request", func(s strange) {
		s.shift("http://station.test/platforms", time.Minute)
	}),
}

var userAgent = regexp.MustCompile("User-Agent: .*\r\n")

// both are the records of pair.
func (s strange) both(url string) []*record {
	ask, answer := s.pair(url)
	return []*record{ask, answer}
}

// shift moves the dates of an exchange.
func (s strange) shift(url string, d time.Duration) {
	s.t.Helper()
	for _, r := range s.both(url) {
		at, err := time.Parse(time.RFC3339Nano, r.get("WARC-Date"))
		if err != nil {
			s.t.Fatal(err)
		}
		r.set("WARC-Date", at.Add(d).Format(stamp))
	}
}

// unknown makes a row about an archive of another crawler that nobody could find.
func unknown(name, why string, forge func(s strange)) row {
	r := alien(name, "", forge)
	r.why = why
	return r
}
