package forgery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"curtsy/storage/audit/finding"
)

const (
	bakeryRobots = "http://bakery.test/robots.txt"
	kitchen      = "http://bakery.test/kitchen/oven" // which robots.txt forbids
)

// hiddenRows are crawls of others who hide what they did, so that their archives look polite.
var hiddenRows = []row{
	alien("robots.txt requested only by HEAD", finding.RobotsMissing, func(s strange) {
		ask, answer := s.pair(bakeryRobots)
		ask.replace(s.t, "GET ", "HEAD ")
		answer.body("")
	}),
	alien("ten bytes of robots.txt requested", finding.RobotsMissing, func(s strange) {
		_, answer := s.pair(bakeryRobots)
		answer.status("206 Partial Content\r\nContent-Range: bytes 0-9/60")
		answer.body("User-agent")
	}),
	alien("a robots.txt that the network cut", finding.RobotsUnreachable, func(s strange) {
		_, answer := s.pair(bakeryRobots)
		answer.body("User-agent: *\n")
		answer.set("WARC-Truncated", "disconnect")
	}),
	alien("a robots.txt that is shorter than stated", finding.RobotsUnreachable, func(s strange) {
		_, answer := s.pair(bakeryRobots)
		answer.status("200 OK\r\nContent-Length: 60")
		answer.body("User-agent: *\n")
	}),
	alien("dot segments lead into a forbidden path", finding.Disallowed, asksFor("/plums/../kitchen/oven")),
	alien("an escaped dot leads into a forbidden path", finding.Disallowed, asksFor("/%2e/kitchen/oven")),
	alien("a stray percent sign in a forbidden path", finding.Disallowed, asksFor("/kitchen/100%.html")),
	nobody("another host's robots.txt redirects to a forbidden path", "RFC 9309 2.3.1.2 lets a crawler follow it: a note names the page", func(s strange) {
		_, redirect := s.pair("http://museum.test/robots.txt")
		redirect.replace(s.t, "http://library.test/for-others.txt", kitchen)
		ask, answer := s.pair("http://library.test/for-others.txt")
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Target-URI", kitchen)
		}
		ask.replace(s.t, "GET /for-others.txt", "GET /kitchen/oven")
		ask.replace(s.t, "Host: library.test", "Host: bakery.test")
	}),
	alien("/robots.txt? gives no rules, and then a forbidden URL is requested", finding.Disallowed, func(s strange) {
		asksFor("/robots.txt?")(s)
		_, answer := s.pair("http://bakery.test/robots.txt?")
		answer.status("404 Not Found")
		ask, answer := s.pair(plums)
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Target-URI", kitchen)
		}
		ask.replace(s.t, "GET /plums ", "GET /kitchen/oven ")
	}),
	alien("a second URL of a record", finding.BadRecord, func(s strange) {
		_, answer := s.pair(bread)
		answer.again("WARC-Target-URI", kitchen)
	}),
	alien("a revisit of another payload", finding.BadRecord, func(s strange) {
		_, cake := s.pair(cakes)
		_, answer := s.pair(plums)
		was := answer.get("WARC-Payload-Digest")
		answer.body("")
		for name, value := range map[string]string{"WARC-Type": "revisit", "WARC-Refers-To": cake.get("WARC-Record-ID"),
			"WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Payload-Digest": was} {
			answer.set(name, value)
		}
	}),
	alien("another Host than the URL's", finding.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "Host: bakery.test", "Host: station.test")
	}),
	alien("a whole URL of another host in the request line", finding.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "GET /bread", "GET http://station.test/bread")
	}),
	alien("another name for pages than for robots.txt", finding.UserAgent, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "Otherbot/2", "Goodbot/2")
	}),
	alien("another name than the archive declares", finding.UserAgent, func(s strange) {
		s.records[0].block += "http-header-user-agent: Goodbot/2 (+" + contact + ")\r\n"
	}),
	alien("a forbidden page kept as a resource", finding.Disallowed, keeps("resource", "text/html")),
	alien("a forbidden page kept as a conversion", finding.Disallowed, keeps("conversion", "text/html")),
	alien("a forbidden page in a response that is not HTTP", finding.Disallowed, keeps("response", "text/html")),
	alien("a forbidden page in a record of another spelling", finding.Disallowed, keeps("Response", "Application/HTTP")),
	alien("a forbidden page under a URL that cannot be read", finding.BadRecord, func(s strange) {
		ask, answer := s.pair(bread)
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Target-URI", "http://bakery.test:port/kitchen/oven")
		}
	}),
	alien("a forbidden page without a URL", finding.BadRecord, func(s strange) {
		ask, answer := s.pair(bread)
		ask.replace(s.t, "GET /bread", "GET /kitchen/oven")
		ask.del("WARC-Target-URI")
		answer.del("WARC-Target-URI")
	}),
	alien("all pages of a host within a whole second, its Crawl-delay 3 s", finding.Gap, func(s strange) {
		s.hurry("http://station.test/", time.Second)
	}),
	alien("the same, and the records turned round", finding.Gap, func(s strange) {
		s.hurry("http://station.test/", time.Second)
		s.turn("http://station.test/")
	}),
	alien("the robots.txt of yesterday", finding.RobotsExpired, func(s strange) {
		ask, answer := s.pair(bread)
		for _, r := range []*record{ask, answer} {
			r.move(s, 25*time.Hour)
		}
	}),
	alien("Retry-After not waited for", finding.RetryAfter, func(s strange) {
		ask, answer := s.pair("http://station.test/timetable")
		_, busy := s.pair("http://station.test/slow")
		busy.status("429 Too Many Requests\r\nRetry-After: 86400")
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Date", busy.get("WARC-Date"))
			r.move(s, 5*time.Second)
		}
	}),
	strictly("a cookie, by curtsy's rules", finding.Credentials, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "Host: bakery.test", "Host: bakery.test\r\nCookie: id=7")
	}),
	strictly("no back-off after a 500, by curtsy's rules", finding.Gap, func(s strange) {
		_, answer := s.pair(bread)
		answer.status("500 Oops")
	}),
	strictly("no contact, by curtsy's rules", finding.UserAgent, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, " (+"+contact+")", "")
	}),
	nobody("a robots.txt cut at a length", "the crawler may have read more than it kept: forbidden URLs are counted as unprovable", func(s strange) {
		_, answer := s.pair(bakeryRobots)
		answer.body("User-agent: *\n")
		answer.set("WARC-Truncated", "length")
	}),
	nobody("a page left out", "no record of it and nothing outside the archive; an access log names it", func(s strange) {
		ask, answer := s.pair(bread)
		s.drop(ask, answer)
	}),
	nobody("a forbidden page under an innocent URL", "the request line is the crawler's word; an access log names it", func(s strange) {
		_, answer := s.pair(bread)
		answer.body("<p>The oven")
	}),
}

// asksFor asks for another target in the place of a page.
func asksFor(target string) func(s strange) {
	return func(s strange) {
		ask, answer := s.pair(bread)
		for _, r := range []*record{ask, answer} {
			r.set("WARC-Target-URI", "http://bakery.test"+target)
		}
		ask.replace(s.t, "GET /bread ", "GET "+target+" ")
	}
}

// keeps keeps a forbidden page in a record of that type, without its request.
func keeps(kind, media string) func(s strange) {
	return func(s strange) {
		ask, answer := s.pair(bread)
		s.drop(ask)
		for name, value := range map[string]string{"WARC-Target-URI": kitchen, "WARC-Type": kind, "Content-Type": media} {
			answer.set(name, value)
		}
		answer.del("WARC-Payload-Digest")
		if media == "text/html" {
			answer.block = answer.payload()
		}
	}
}

// strictly makes a row about what only our rules forbid.
func strictly(name string, found finding.Code, forge func(s strange)) row {
	r := alien(name, found, forge)
	show := r.show
	r.show = func(e *evidence) trial {
		tr := show(e)
		tr.o.Strict = true
		return tr
	}
	return r
}

// nobody makes a row that nobody could find in an archive of another crawler.
func nobody(name, why string, forge func(s strange)) row {
	r := alien(name, "", forge)
	r.why = why
	return r
}

// hurry puts all exchanges with a host into one span, with dates of whole seconds.
func (s strange) hurry(host string, span time.Duration) {
	var all []*record
	for _, r := range s.records {
		if strings.HasPrefix(r.get("WARC-Target-URI"), host) {
			all = append(all, r)
		}
	}
	from, err := time.Parse(time.RFC3339Nano, all[0].get("WARC-Date"))
	if err != nil {
		s.t.Fatal(err)
	}
	for i, r := range all {
		r.set("WARC-Date", from.Truncate(time.Second).Add(span*time.Duration(i)/time.Duration(len(all))).Format("2006-01-02T15:04:05Z"))
	}
}

// turn turns the order of a host's records round, those of robots.txt apart.
func (s strange) turn(host string) {
	var at []int
	for i, r := range s.records {
		if url := r.get("WARC-Target-URI"); strings.HasPrefix(url, host) && !strings.HasSuffix(url, "/robots.txt") {
			at = append(at, i)
		}
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		s.records[at[i]], s.records[at[j]] = s.records[at[j]], s.records[at[i]]
	}
}

// move moves a record's date.
func (r *record) move(s strange, d time.Duration) {
	at, err := time.Parse(time.RFC3339Nano, r.get("WARC-Date"))
	if err != nil {
		s.t.Fatal(err)
	}
	r.set("WARC-Date", at.Add(d).Format(stamp))
}

// body replaces the body, and the fields that speak of its length and codings.
func (r *record) body(body string) {
	head, _, _ := strings.Cut(r.block, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		l = strings.ToLower(l)
		return strings.HasPrefix(l, "transfer-encoding:") || strings.HasPrefix(l, "content-encoding:") || l == fmt.Sprintf("content-length: %d", len(r.payload()))
	})
	r.block = strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// status replaces the status, and may add fields. Their names are no longer the answer's own.
func (r *record) status(line string) {
	first, rest, _ := strings.Cut(r.block, "\r\n")
	version, _, _ := strings.Cut(first, " ")
	_, more, _ := strings.Cut(line, "\r\n")
	name, _, _ := strings.Cut(more, ":")
	head, body, _ := strings.Cut(rest, "\r\n\r\n")
	lines := slices.DeleteFunc(strings.Split(head, "\r\n"), func(l string) bool {
		return name != "" && strings.HasPrefix(strings.ToLower(l), strings.ToLower(name)+":")
	})
	r.block = version + " " + line + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}
