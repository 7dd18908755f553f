package forgery

import (
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// The pages that most rows forge.
const (
	bread     = "http://bakery.test/bread"
	cakes     = "http://bakery.test/cakes"
	plums     = "http://bakery.test/plums"
	bakery    = "http://bakery.test/robots.txt"
	station   = "http://station.test/robots.txt"
	timetable = "http://station.test/timetable"
	platforms = "http://station.test/platforms"
	secret    = "http://bakery.test/secret" // it asks not to be archived
)

// on makes a row that forges one exchange in the archive.
func on(url, name string, found finding.Code, forge func(t *testing.T, x exchange)) row {
	return row{class: inArchive, name: name, found: found, forge: func(e *evidence) { forge(e.t, e.of(url)) }}
}

// asking makes a row that replaces something in the request for a page.
func asking(name string, found finding.Code, old, with string) row {
	return on(bread, name, found, func(t *testing.T, x exchange) { x.ask.replace(t, old, with) })
}

// answering makes a row that replaces something in an answer.
func answering(url, name string, found finding.Code, old, with string) row {
	return on(url, name, found, func(t *testing.T, x exchange) { x.answer.replace(t, old, with) })
}

// telling makes a row that sets a field in the metadata of an exchange.
func telling(url, name string, found finding.Code, field, value string) row {
	return on(url, name, found, func(t *testing.T, x exchange) { x.told.field(t, field, value) })
}

// packing makes a row of a package that says how many answers it leaves out.
func packing(name string, declared int64, forge func(e *evidence)) row {
	return row{class: inArchive, name: name, found: finding.BadRecord, forge: forge, show: func(e *evidence) trial {
		tr := directory(e.write())
		tr.o.LeftOut = declared
		return tr
	}}
}

// declaring makes a row that replaces something in the warcinfo record.
func declaring(name string, found finding.Code, old, with string) row {
	return row{class: inArchive, name: name, found: found, forge: func(e *evidence) { e.kind("warcinfo")[0].replace(e.t, old, with) }}
}

// archiveRows forge the archive and leave the ledger as it is.
var archiveRows = slices.Concat(goneRows, bodyRows, robotsRows, requestRows, toldRows, strayRows, headRows)

// goneRows take something out, or put it elsewhere.
var goneRows = []row{
	{class: inArchive, name: "a page is removed", found: finding.LedgerExtra, forge: func(e *evidence) { e.drop(e.of(bread).all()...) }},
	{class: inArchive, name: "a host is removed", found: finding.LedgerExtra, forge: func(e *evidence) {
		for _, x := range e.exchanges("") {
			if strings.HasPrefix(x.url(), "http://harbour.test/") {
				e.drop(x.all()...)
			}
		}
	}},
	{class: inArchive, name: "an answer is removed, and its request stays", found: finding.BadRecord, forge: func(e *evidence) { e.drop(e.of(bread).answer) }},
	packing("an answer that may be kept is among those that a package says it leaves out", 1, func(e *evidence) { e.drop(e.of(bread).answer) }),
	packing("one answer more is left out of a package than it says", 0, func(e *evidence) { e.drop(e.of(secret).answer) }),
	packing("a robots.txt is among the answers that a package says it leaves out", 1, func(e *evidence) { e.drop(e.of(bakery).answer) }),
	{class: inArchive, name: "a request is removed, and its answer stays", found: finding.BadRecord, forge: func(e *evidence) { e.drop(e.of(bread).ask) }},
	{class: inArchive, name: "the metadata of a request is removed", found: finding.BadRecord, forge: func(e *evidence) { e.drop(e.of(bread).told) }},
	{class: inArchive, name: "all metadata is removed, and robots.txt made permissive", found: finding.BadRecord, forge: func(e *evidence) {
		e.of(bakery).answer.replace(e.t, "Disallow: /kitchen/", "Disallow: /nothing/")
		for _, x := range e.exchanges("") {
			e.drop(x.told)
		}
	}},
	{class: inArchive, name: "a refusal is removed", found: finding.LedgerExtra, forge: func(e *evidence) {
		r := e.refusals()
		_, r.block, _ = strings.Cut(r.block, "\n")
	}},
	{class: inArchive, name: "all refusals are removed", found: finding.LedgerExtra, forge: func(e *evidence) { e.drop(e.refusals()) }},
	{class: inArchive, name: "a refusal is invented", found: finding.LedgerMissing, forge: func(e *evidence) {
		r := e.refusals()
		first, _, _ := strings.Cut(r.block, "\n")
		r.block += strings.Replace(first, "http://far.test/", "http://far.test/more", 1) + "\n"
	}},
	{class: inArchive, name: "a page is there twice", found: finding.LedgerMissing, forge: func(e *evidence) {
		x := e.of(bread)
		at := slices.Index(e.records, x.told) + 1
		e.records = slices.Insert(e.records, at, x.ask.clone(), x.answer.clone(), x.told.clone())
	}},
	{class: inArchive, name: "a page is invented", found: finding.LedgerMissing, forge: func(e *evidence) { e.invent("http://bakery.test/buns") }},
	{class: inArchive, name: "two pages are in another order", found: finding.BadRecord, forge: func(e *evidence) {
		x, y := e.of(bread), e.of(plums)
		e.drop(x.all()...)
		e.records = slices.Insert(e.records, slices.Index(e.records, y.told)+1, x.all()...)
	}},
	on(timetable, "a date is moved so that a delay is too short", finding.Gap, func(t *testing.T, x exchange) { x.shift(t, -2500*time.Millisecond) }),
	on(bread, "a date is moved by half a millisecond", finding.LedgerDiffers, func(t *testing.T, x exchange) { x.shift(t, 500*time.Microsecond) }),
	on(bread, "an address", finding.LedgerDiffers, func(_ *testing.T, x exchange) {
		x.ask.set("WARC-IP-Address", "198.18.0.77")
		x.answer.set("WARC-IP-Address", "198.18.0.77")
	}),
	{class: inArchive, name: "one address for all", found: finding.LedgerDiffers, forge: func(e *evidence) {
		for _, x := range e.exchanges("") {
			x.ask.set("WARC-IP-Address", "198.18.0.1")
			x.answer.set("WARC-IP-Address", "198.18.0.1")
		}
	}},
	on(bread, "no address", finding.LedgerDiffers, func(_ *testing.T, x exchange) {
		x.ask.del("WARC-IP-Address")
		x.answer.del("WARC-IP-Address")
	}),
}

// invent adds an exchange like that with bread, with ids of its own, behind all others of its host.
func (e *evidence) invent(url string) exchange {
	x := e.of(bread)
	n := exchange{x.ask.clone(), x.answer.clone(), x.told.clone()}
	last := e.of("http://bakery.test/new")
	by := last.began(e.t).Add(5 * time.Second).Sub(x.began(e.t))
	for _, r := range n.all() {
		for i := range r.fields {
			if f := &r.fields[i]; strings.HasPrefix(f.Value, "<urn:uuid:") && f.Name != "WARC-Warcinfo-ID" {
				f.Value = strings.Replace(f.Value, "<urn:uuid:", "<urn:uuid:a", 1)
			}
		}
		r.set("WARC-Target-URI", url)
	}
	n.shift(e.t, by)
	n.ask.replace(e.t, "GET /bread ", "GET "+strings.TrimPrefix(url, "http://bakery.test")+" ")
	n.told.field(e.t, "gapMs", "5000")
	n.bindHeads(e)
	e.records = slices.Insert(e.records, slices.Index(e.records, last.told)+1, n.all()...)
	return n
}

// bodyRows forge what was answered.
var bodyRows = []row{
	answering(bread, "a body", finding.LedgerDiffers, loaf, "<p>Cake, they said."),
	answering(bread, "a body, by one of the same length", finding.LedgerDiffers, "Rye, wheat", "Oat, wheat"),
	{class: inArchive, name: "the bodies of two pages are swapped", found: finding.LedgerDiffers, forge: func(e *evidence) {
		x, y := e.of(plums), e.of("http://bakery.test/new")
		x.answer.block, y.answer.block = y.answer.block, x.answer.block
	}},
	on(bread, "a body, and its digests are left", finding.Digest, func(t *testing.T, x exchange) {
		x.answer.kept = true
		x.answer.replace(t, "Rye", "Oat")
	}),
	on(bread, "a body, and its digests are taken away", finding.Digest, func(t *testing.T, x exchange) {
		x.answer.del("WARC-Block-Digest")
		x.answer.del("WARC-Payload-Digest")
		x.answer.replace(t, "Rye", "Oat")
	}),
	on(bread, "a body, and a digest of another kind", finding.Digest, func(t *testing.T, x exchange) {
		x.answer.kept = true
		x.answer.set("WARC-Block-Digest", "md5x:00")
		x.answer.replace(t, "Rye", "Oat")
	}),
	on(bread, "a body is cut, and said to be", finding.LedgerDiffers, func(_ *testing.T, x exchange) {
		x.answer.block = x.answer.block[:len(x.answer.block)-20]
		x.answer.set("WARC-Truncated", "length")
	}),
	on("http://harbour.test/long", "a body that was cut is said to be whole", finding.LedgerDiffers, func(_ *testing.T, x exchange) { x.answer.del("WARC-Truncated") }),
	on("http://bakery.test/secret", "a body that was not kept is made up", finding.LedgerDiffers, func(_ *testing.T, x exchange) { x.answer.block += "<p>made up" }),
	answering("http://harbour.test/pier", "a body in chunks", finding.LedgerDiffers, "planks", "boards"),
	answering(cakes, "a media type", finding.LedgerDiffers, "Content-Type: text/html", "Content-Type: text/plan"),
	answering(bread, "a status", finding.LedgerDiffers, "HTTP/1.1 200 OK", "HTTP/1.1 202 OK"),
	answering("http://station.test/", "a field of the head, by one of the same length", finding.LedgerDiffers, "Date: Sat", "Dote: Sat"),
	answering("http://library.test/hours", "a field that requires a delay, by one of the same length", finding.LedgerDiffers, "Ratelimit", "Ratelimot"),
	{class: inArchive, name: "a Retry-After that was obeyed is removed", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.exchanges("http://station.test/busy")[0].answer.replace(e.t, "Retry-After: 20\r\n", "")
	}},
	answering(bread, "a Retry-After that was not obeyed", finding.RetryAfter, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 503 Busy\r\nRetry-After: 60\r\n"),
	answering(bread, "a RateLimit that was not obeyed", finding.Gap, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nRateLimit: \"p\";r=20;t=60\r\n"),
	answering(bread, "an error without a back-off after it", finding.Gap, "HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 No\r\n"),
	{class: inArchive, name: "a revisit of another payload", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.revisit().answer.set("WARC-Payload-Digest", digest("another"))
	}},
	{class: inArchive, name: "a revisit of another record", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.set("WARC-Refers-To", e.of(cakes).answer.get("WARC-Record-ID"))
	}},
	{class: inArchive, name: "a revisit of another URL", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.set("WARC-Refers-To-Target-URI", cakes)
	}},
	{class: inArchive, name: "a revisit of another time", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.set("WARC-Refers-To-Date", e.of(cakes).answer.get("WARC-Date"))
	}},
	{class: inArchive, name: "a revisit without a payload digest", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.del("WARC-Payload-Digest")
	}},
	on(bread, "a second URL of a record", finding.BadRecord, func(_ *testing.T, x exchange) { x.answer.again("WARC-Target-URI", cakes) }),
	on(bread, "a second payload digest", finding.BadRecord, func(_ *testing.T, x exchange) {
		x.answer.again("WARC-Payload-Digest", x.answer.get("WARC-Payload-Digest"))
	}),
	on(bread, "a second type of a record", finding.BadRecord, func(_ *testing.T, x exchange) { x.answer.again("WARC-Type", "resource") }),
	{class: inArchive, name: "a protocol", found: finding.FileDiffers, forge: func(e *evidence) {
		e.of(bread).answer.set("WARC-Protocol", "http/1.0")
	}},
}

// robotsRows forge robots.txt.
var robotsRows = []row{
	answering(bakery, "robots.txt is made permissive", finding.Verdict, "Disallow: /kitchen/", "Disallow: /nothing/"),
	answering(bakery, "robots.txt forbids a requested URL", finding.Disallowed, "Disallow: /kitchen/", "Disallow: /cakes   "),
	answering(bakery, "a comment in robots.txt", finding.Verdict, "Allow: /kitchen/tour\n", "Allow: /kitchen/tour\n# welcome\n"),
	answering(bakery, "robots.txt was out of order", finding.RobotsUnreachable, "200 OK", "503 No"),
	answering(bakery, "robots.txt did not exist", finding.Verdict, "200 OK", "404 No"),
	answering(station, "a longer Crawl-delay", finding.Gap, "Crawl-delay: 3", "Crawl-delay: 9"),
	answering(station, "a shorter Crawl-delay", finding.Verdict, "Crawl-delay: 3", "Crawl-delay: 1"),
	answering(bakery, "a Request-rate", finding.Gap, "Disallow: /kitchen/", "Request-rate: 1/9  "),
	answering("http://museum.test/robots.txt", "robots.txt leads elsewhere", finding.RobotsMissing, "http://library.test/for-others.txt", "http://library.test/for-nobody.txt"),
	{class: inArchive, name: "robots.txt is removed", found: finding.RobotsMissing, forge: func(e *evidence) { e.drop(e.of(bakery).all()...) }},
	{class: inArchive, name: "robots.txt is after the pages", found: finding.RobotsMissing, forge: func(e *evidence) {
		x := e.of(bakery)
		e.drop(x.all()...)
		e.records = append(e.records, x.all()...)
		x.shift(e.t, 10*time.Minute)
	}},
	on(bakery, "robots.txt is of the day before", finding.RobotsExpired, func(t *testing.T, x exchange) { x.shift(t, -25*time.Hour) }),
	on(bakery, "robots.txt was due to be requested again soon", finding.RobotsExpired, func(t *testing.T, x exchange) {
		x.answer.replace(t, "200 OK\r\n", "200 OK\r\nCache-Control: max-age=0\r\n")
		x.shift(t, -10*time.Minute)
	}),
}

// requestRows forge what was asked.
var requestRows = []row{
	asking("another page was requested", finding.BadRecord, "GET /bread ", "GET /buns "),
	asking("a form is sent", finding.Method, "GET ", "POST "),
	asking("another method is used", finding.Method, "GET ", "DELETE "),
	asking("a browser's name", finding.UserAgent, identity.UserAgent(), "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0"),
	asking("no name", finding.UserAgent, "User-Agent: "+identity.UserAgent()+"\r\n", ""),
	asking("another version of the name", finding.UserAgent, "User-Agent: curtsy/1 ", "User-Agent: curtsy/2 "),
	asking("a name without a contact", finding.UserAgent, " (+"+contact+")", ""),
	asking("two names", finding.UserAgent, "Accept:", "User-Agent: "+identity.UserAgent()+"\r\nAccept:"),
	asking("a From of somebody", finding.UserAgent, "Accept:", "From: somebody@far.test\r\nAccept:"),
	asking("the Host of another", finding.BadRecord, "Host: bakery.test", "Host: far.test"),
	asking("two Hosts", finding.BadRecord, "Accept:", "Host: bakery.test\r\nAccept:"),
	asking("a cookie", finding.Credentials, "Accept:", "Cookie: id=7\r\nAccept:"),
	asking("a password", finding.Credentials, "Accept:", "Authorization: Basic eDp5\r\nAccept:"),
	asking("a password that is masked, and the host is foreign", finding.Credentials, "Accept:", "Authorization: (masked)\r\nAccept:"),
	asking("another masked field, and the host is foreign", finding.Credentials, "Accept:", "X-Key: (masked)\r\nAccept:"),
	asking("a proxy's password", finding.Credentials, "Accept:", "Proxy-Authorization: Basic eDp5\r\nAccept:"),
	asking("a field that no rule speaks of", finding.LedgerDiffers, "Accept:", "X-Mood: good\r\nAccept:"),
}

// toldRows forge the metadata.
var toldRows = []row{
	telling(bread, "a duration is recorded longer than the delay allows", finding.InFlight, "fetchTimeMs", "2500"),
	telling("http://station.test/slow", "a duration is recorded shorter", finding.LedgerDiffers, "fetchTimeMs", "1900"),
	telling("http://station.test/slow", "a response time is recorded shorter", finding.LedgerDiffers, "firstByteTimeMs", "100"),
	telling("http://station.test/slow", "an answer begins after it ends", finding.BadRecord, "firstByteTimeMs", "2500"),
	telling(timetable, "a delay due is recorded shorter", finding.GapTold, "paceMs", "1000"),
	telling(timetable, "a delay due has another reason", finding.GapTold, "paceBy", "ratelimit"),
	telling(timetable, "a delay due is not a number", finding.BadRecord, "paceMs", "three"),
	telling(timetable, "a delay is recorded longer", finding.GapTold, "gapMs", "5000"),
	telling(timetable, "a delay is recorded shorter", finding.GapTold, "gapMs", "1500"),
	telling(timetable, "no delay is recorded", finding.GapTold, "gapMs", ""),
	telling(timetable, "a clock that jumped", finding.LedgerDiffers, "clockAheadMs", "2000"),
	telling("http://bakery.test/kitchen/tour", "another line of robots.txt decided", finding.Verdict, "robotsLine", "2"),
	telling(bread, "another robots.txt decided", finding.Verdict, "robotsSha256", strings.Repeat("ab", 32)),
	telling("http://bakery.test/kitchen/tour", "another rule is quoted", finding.LedgerDiffers, "robotsRule", "Allow: /"),
	telling(bread, "another record of robots.txt", finding.LedgerDiffers, "robotsRecord", "urn:uuid:00000000-0000-4000-8000-000000000000"),
	telling(bread, "a host is called the operator's own", finding.LedgerDiffers, "ownHost", "true"),
	telling(bread, "another page led there", finding.LedgerDiffers, "via", "http://bakery.test/elsewhere"),
	telling(bread, "another depth", finding.LedgerDiffers, "depth", "7"),
	telling(bread, "another attempt", finding.LedgerDiffers, "attempt", "2"),
	telling(bread, "another outcome", finding.LedgerDiffers, "outcome", "failed"),
	telling(bread, "another status", finding.LedgerDiffers, "status", "404"),
	telling(bread, "another back-off", finding.LedgerDiffers, "restMs", "60000"),
	telling("http://bakery.test/secret", "the robots directives of the response are left out", finding.LedgerDiffers, "directives", ""),
	telling("http://bakery.test/", "links that were found are left out", finding.LedgerDiffers, "outlink", ""),
	telling(bread, "a field that is not known", finding.LedgerDiffers, "mood", "good"),
	{class: inArchive, name: "the rule of a refusal", found: finding.LedgerMissing, forge: func(e *evidence) { e.refusals().replace(e.t, "Disallow: /depot", "Disallow: /dep") }},
	{class: inArchive, name: "the line of a refusal", found: finding.Verdict, forge: func(e *evidence) { e.refusals().replace(e.t, `"line":2`, `"line":1`) }},
}

// strayRows forge the warcinfo record, and add records of other kinds.
var strayRows = []row{
	{class: inArchive, name: "the warcinfo record is removed", found: finding.BadRecord, forge: func(e *evidence) { e.drop(e.kind("warcinfo")...) }},
	declaring("another software is declared", finding.BadRecord, "software: curtsy/1", "software: otherbot/1"),
	declaring("another User-Agent is declared", finding.UserAgent, "http-header-user-agent: curtsy/1", "http-header-user-agent: curtsy/3"),
	declaring("no User-Agent is declared", finding.BadRecord, "http-header-user-agent: ", "x-was: "),
	declaring("another product token is declared", finding.UserAgent, "product-token: curtsy", "product-token: Lantern"),
	declaring("a longer pace is declared", finding.Gap, "pace-floor-ms: 1000", "pace-floor-ms: 4000"),
	declaring("hours are declared that were not kept", finding.Hours, "ip-delay-ms: 500\r\n", "ip-delay-ms: 500\r\nhost-hours: 03:17-03:18 bakery.test\r\n"),
	declaring("a window is declared that was not kept", finding.Window, "ip-delay-ms: 500\r\n", "ip-delay-ms: 500\r\nwindow: Sun 03:17-03:18 Europe/Berlin\r\n"),
	declaring("fewer requests a day are declared", finding.PerDay, "ip-delay-ms: 500\r\n", "ip-delay-ms: 500\r\nhost-per-day: 2 *\r\n"),
	declaring("a shorter pace is declared", finding.LedgerDiffers, "pace-floor-ms: 1000", "pace-floor-ms: 10"),
	declaring("hosts are declared the operator's own", finding.LedgerDiffers, "own-sites: none", "own-sites: bakery.test"),
	declaring("another operator is declared", finding.LedgerDiffers, "operator: The tests", "operator: The others"),
	declaring("more concurrent requests are declared", finding.LedgerDiffers, "exchanges-at-once: 320", "exchanges-at-once: 99999"),
	{class: inArchive, name: "a second warcinfo record", found: finding.BadRecord, forge: func(e *evidence) {
		e.records = slices.Insert(e.records, 4, e.kind("warcinfo")[0].clone())
		e.records[4].set("WARC-Record-ID", "<urn:uuid:00000000-0000-4000-8000-000000000007>")
	}},
	stray("a page kept as a resource", "resource", "http://bakery.test/kitchen/oven", "text/html"),
	stray("a page kept as a conversion", "conversion", "http://bakery.test/kitchen/oven", "text/plain"),
	stray("a record of an unknown kind", "snapshot", "http://bakery.test/kitchen/oven", "text/html"),
	stray("an answer of a name server", "response", "dns:bakery.test", "text/dns"),
	stray("metadata in other words", "metadata", "http://bakery.test/", "text/plain"),
	stray("an answer that is not HTTP", "response", "http://bakery.test/kitchen/oven", "text/html"),
	stray("an answer without a request", "response", "http://bakery.test/kitchen/oven", "application/http; msgtype=response"),
}

// stray makes a row that adds a record.
func stray(name, kind, url, media string) row {
	return row{class: inArchive, name: name, found: finding.BadRecord, forge: func(e *evidence) {
		r := &record{block: "HTTP/1.1 200 OK\r\n\r\nnothing", fields: warc.Fields{
			{Name: "WARC-Type", Value: kind}, {Name: "WARC-Record-ID", Value: "<urn:uuid:00000000-0000-4000-8000-000000000008>"},
			{Name: "WARC-Date", Value: e.of("http://bakery.test/new").told.get("WARC-Date")}, {Name: "WARC-Target-URI", Value: url},
			{Name: "WARC-Block-Digest", Value: "sha256:"}, {Name: "Content-Type", Value: media}, {Name: "Content-Length", Value: "0"},
		}}
		e.records = append(e.records, r)
	}}
}
