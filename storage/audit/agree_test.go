package audit

import "time"

// sends writes an exchange whose request is those octets.
func (a *archive) sends(url string, at time.Duration, request string) {
	id := a.record("response", url, day0.Add(at), "Content-Type: application/http; msgtype=response", "HTTP/1.1 200 X\r\n\r\n<p>")
	a.record("request", url, day0.Add(at), "Content-Type: application/http; msgtype=request\r\nWARC-Concurrent-To: <"+id+">", request)
	a.record("metadata", url, day0.Add(at), "Content-Type: application/warc-fields\r\nWARC-Concurrent-To: <"+id+">", "fetchTimeMs: 100\r\n")
}

// sending makes an archive with such a request for /a.
func sending(request string) func(a *archive) {
	return func(a *archive) {
		a.robots(closedX)
		a.sends(site+"/a", s, request)
	}
}

// parted makes an archive whose records of an exchange have these two URLs.
func parted(request, response string) func(a *archive) {
	return func(a *archive) {
		a.robots(closedX)
		id := a.record("response", response, day0.Add(s), "Content-Type: application/http; msgtype=response", "HTTP/1.1 200 X\r\n\r\n<p>")
		a.record("request", request, day0.Add(s), "Content-Type: application/http; msgtype=request\r\nWARC-Concurrent-To: <"+id+">",
			"GET /a HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: "+lantern+"\r\n\r\n")
	}
}

// backwards makes an archive whose robots.txt asks for 10 s, and whose pages are dated so.
func backwards(at ...time.Duration) func(a *archive) {
	return func(a *archive) {
		a.robots("User-agent: *\nCrawl-delay: 10\n")
		for _, d := range at {
			a.add(fetch{url: site + "/" + d.String(), at: d, meta: "none"})
		}
	}
}

const asksA = "Host: bakery.test\r\nUser-Agent: " + lantern + "\r\n"

// contradictions are archives of other crawlers whose records tell two stories, and honest ones that look like them.
var contradictions = []judged{
	{name: "the request line asks for another page", codes: "record", make: asking("/x/", "/a")},
	{name: "the request line asks for no path", codes: "record", make: asking("/a", "?x")},
	{name: "the request line asks for another query", codes: "record", make: asking("/a?q=1", "/a?q=2")},
	{name: "two slashes make a path of a host", codes: "record", make: asking("/x/y", "//bakery.test/x/y")},
	{name: "other escapes", make: asking("/a b/%C3%BC?q=%7e'&x=1+2#f", "/a%20b/%fc?q=~%27&x=1%202")},
	{name: "octets beyond ASCII as the page has them", make: asking("/caf\u00e9?q=\u00fc", "/caf%E9?q=%FC")},
	{name: "a fragment is not sent, nor an empty query", make: asking("/a?#f", "/a")},
	{name: "dot segments are resolved", make: asking("/b/../a", "/a")},
	{name: "a whole URL", make: asking("/a", site+"/a")},
	{name: "two blanks before the path", codes: "record", make: sending("GET  /x/ HTTP/1.1\r\n" + asksA + "\r\n")},
	{name: "a second request behind the first", codes: "record", make: sending("GET /a HTTP/1.1\r\n" + asksA + "\r\nGET /x/ HTTP/1.1\r\n" + asksA + "\r\n")},
	{name: "a second request behind an empty line", codes: "record", make: sending("GET /a HTTP/1.1\r\n" + asksA + "\r\n\r\nGET /x/ HTTP/1.0\n\n")},
	{name: "a second request behind a body", codes: "record", make: sending("GET /a HTTP/1.1\r\nContent-Length: 3\r\n" + asksA + "\r\na=bGET /x/ HTTP/1.1\r\n" + asksA + "\r\n")},
	{name: "a body", make: sending("GET /a HTTP/1.1\r\nContent-Length: 3\r\n" + asksA + "\r\na=b")},
	{name: "empty lines behind a request", make: sending("GET /a HTTP/1.1\r\n" + asksA + "\r\n\r\n\r\n")},
	{name: "a browser's name before the own", codes: "user-agent", make: sending("GET /a HTTP/1.1\r\nUser-Agent: Mozilla/5.0 (X11) Chrome/1\r\n" + asksA + "\r\n")},
	{name: "a browser's name behind the own", codes: "user-agent", make: sending("GET /a HTTP/1.1\r\n" + asksA + "User-Agent: Mozilla/5.0 (X11) Chrome/1\r\n\r\n")},
	{name: "the same name twice", make: sending("GET /a HTTP/1.1\r\nUser-Agent: " + lantern + "\r\n" + asksA + "\r\n")},
	{name: "the answer is of another page", codes: "record", make: parted(site+"/a", site+"/b")},
	{name: "the answer is of another host", codes: "robots-missing record", make: parted(site+"/a", "http://station.test/a")},
	{name: "the URLs are written otherwise", make: parted("HTTPS://BAKERY.test:443/%61", site+"/a#x")},
	{name: "all records name each other, along a redirect", make: func(a *archive) {
		a.robots(closedX)
		at, ids := day0.Add(s), "WARC-Concurrent-To: <urn:test:5>\r\nWARC-Concurrent-To: <urn:test:6>\r\nContent-Type: application/http; msgtype="
		a.record("response", site+"/a", at, ids+"response", "HTTP/1.1 302 X\r\nLocation: /b\r\n\r\n")
		a.record("response", site+"/b", at, ids+"response", "HTTP/1.1 200 X\r\n\r\n<p>")
		a.record("request", site+"/a", at, ids+"request", "GET /a HTTP/1.1\r\n"+asksA+"\r\n")
		a.record("request", site+"/b", at, ids+"request", "GET /b HTTP/1.1\r\n"+asksA+"\r\n")
	}, whole: true},
	{name: "pages are dated one before the other, and too near", codes: "gap", make: backwards(100*s, 98*s, 96*s), whole: true},
	{name: "pages are dated one before the other, and far enough", make: backwards(100*s, 80*s, 60*s), whole: true},
	{name: "robots.txt stands before the page and is dated behind it", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", at: 100 * s, body: closedX, meta: "none"})
		a.add(fetch{url: site + "/a", at: 10 * s, meta: "none"})
	}, whole: true},
	{name: "a newer robots.txt forbids the page, and is ignored", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: "User-agent: *\nDisallow: /z/\n", meta: "none"})
		a.add(fetch{url: site + "/robots.txt", at: 100 * s, body: "User-agent: *\nDisallow: /a\n", meta: "none"})
		a.add(fetch{url: site + "/a", at: 200 * s, meta: "none"})
	}, whole: true},
	{name: "a newer robots.txt stands before the page", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: closedX, meta: "none"})
		a.add(fetch{url: site + "/robots.txt", at: 100 * s, body: closedX, meta: "none"})
		a.add(fetch{url: site + "/a", at: 10 * s, meta: "none"})
	}, whole: true},
}

// asking asks for a target in the name of a URL's path.
func asking(path, target string) func(a *archive) {
	return func(a *archive) {
		a.robots("User-agent: *\nDisallow: /z/\n")
		a.add(fetch{url: site + path, at: s, request: target})
	}
}
