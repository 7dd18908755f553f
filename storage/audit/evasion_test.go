package audit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/evidence"
)

// kept writes a record that holds what a URL gave, and not the exchange.
func (a *archive) kept(kind, url string, at time.Duration, extra string) string {
	if extra != "" {
		extra = "\r\n" + extra
	}
	return a.record(kind, url, day0.Add(at), "Content-Type: text/html"+extra, "<p>kept")
}

const closedX = "User-agent: *\nDisallow: /x/\n"

// evasions are archives of other crawlers that hide what they did, and honest ones that look like them.
var evasions = []judged{
	{name: "robots.txt requested only by HEAD", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", method: "HEAD"})
		a.add(fetch{url: site + "/a", at: s})
	}},
	{name: "HEAD first, and GET then", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", method: "HEAD", head: "Content-Length: 99\r\n"})
		a.add(fetch{url: site + "/robots.txt", at: s, body: closedX})
		a.add(fetch{url: site + "/a", at: 2 * s})
	}},
	{name: "HEAD says that there is none", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", method: "HEAD", status: 404})
		a.add(fetch{url: site + "/a", at: s})
	}},
	{name: "HEAD frees from no rules at hand", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/robots.txt", at: s, method: "HEAD"})
		a.add(fetch{url: site + "/x/", at: 2 * s})
	}},
	{name: "the first octet of robots.txt", codes: "robots-missing", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 206, head: "Content-Range: bytes 0-0/29\r\n", body: "U"})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "all of robots.txt as a part", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", status: 206, head: fmt.Sprintf("Content-Range: bytes 0-%d/%d\r\n", len(closedX)-1, len(closedX)), body: closedX})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt that the network cut", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: closedX[:14], extra: "WARC-Truncated: disconnect"})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt that is shorter than it says", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Content-Length: 29\r\n", body: closedX[:14]})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt whose chunks end early", codes: "robots-unreachable", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Transfer-Encoding: chunked\r\n", body: "e\r\n" + closedX[:14] + "\r\nf\r\nDis"})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt of which the archive has a part", whole: true, make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: closedX[:14], extra: "WARC-Truncated: length"})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt of more than has to be read", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", body: closedX + strings.Repeat("#\n", evidence.Enough/2), extra: "WARC-Truncated: length"})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt whose coding the archive left out", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Content-Length: 49\r\nContent-Encoding: identity\r\n", body: closedX})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "a robots.txt of chunks, whose coding the archive left out", codes: "disallowed", make: func(a *archive) {
		a.add(fetch{url: site + "/robots.txt", head: "Transfer-Encoding: chunked\r\n", body: closedX})
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "dot segments", codes: "disallowed", make: dotted("/a/../x/")},
	{name: "a single dot", codes: "disallowed", make: dotted("/./x/")},
	{name: "an escaped dot", codes: "disallowed", make: dotted("/%2e/x/")},
	{name: "escaped dots", codes: "disallowed", make: dotted("/a/%2E./b/../x/y?z")},
	{name: "dots above the root", codes: "disallowed", make: dotted("/../../x/")},
	{name: "dots that are no segments", make: dotted("/x../..x/.../a..b/x/")},
	{name: "dots in a query", make: dotted("/a?/../x/")},
	{name: "another host than the URL's", codes: "record", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, host: "mill.test"})
	}},
	{name: "another host in the request line", codes: "record", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, request: "https://mill.test/a"})
	}},
	{name: "two hosts", codes: "record", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, host: "bakery.test\r\nHost: mill.test"})
	}},
	{name: "the same host in other words", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, host: "Bakery.TEST:443"})
		a.add(fetch{url: site + "/b", at: 2 * s, host: "bakery.test."})
		a.add(fetch{url: site + "/c", at: 3 * s, request: site + "/c"})
		a.add(fetch{url: "http://b\u00fccher.test:8080/robots.txt", host: "xn--bcher-kva.test:8080"})
		a.add(fetch{url: "http://[2001:db8::1]:8080/robots.txt", host: "[2001:DB8:0::1]:8080"})
	}},
	{name: "a name for robots.txt and another for pages", codes: "user-agent", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, agent: "Owl/3"})
	}},
	{name: "the same name in another version", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s, agent: "lantern/2 (new)"})
	}},
	{name: "another name than the archive declares", codes: "disallowed user-agent", info: []string{"http-header-user-agent: Owl/3 (+https://owl.test/)"}, make: func(a *archive) {
		a.robots("User-agent: owl\nDisallow: /x/\nUser-agent: lantern\nAllow: /\n")
		a.add(fetch{url: site + "/x/", at: s})
	}},
	{name: "the name that the archive declares", info: []string{"http-header-user-agent: Mozilla/5.0 (compatible; Lantern/1)"}, make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/a", at: s})
	}},
	{name: "what is forbidden, kept as a resource", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.kept("resource", site+"/x/", s, "")
	}},
	{name: "what is forbidden, kept as a conversion", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.kept("conversion", site+"/x/", s, "WARC-Refers-To: <urn:test:elsewhere>")
	}},
	{name: "a conversion that refers to something else", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		id := a.add(fetch{url: site + "/a", at: s})
		a.kept("conversion", site+"/x/", 2*s, "WARC-Refers-To: <"+id+">")
	}},
	{name: "a conversion of what was asked for while it might be", make: func(a *archive) {
		a.robots("")
		id := a.add(fetch{url: site + "/x/", at: s})
		a.add(fetch{url: site + "/robots.txt", at: 2 * s, body: closedX})
		a.kept("conversion", site+"/x/", 3*s, "WARC-Refers-To: <"+id+">")
	}},
	{name: "a conversion of another time's robots.txt", whole: true, make: func(a *archive) {
		a.robots("")
		a.add(fetch{url: site + "/robots.txt", at: 2 * s, body: closedX})
		a.kept("conversion", site+"/x/", 3*s, "")
	}},
	{name: "a resource that may be had, of which the rest is not known", whole: true, make: func(a *archive) {
		a.robots(closedX)
		a.kept("resource", site+"/a", s, "")
	}},
	{name: "a folder packed as resources is no crawl", whole: true, make: func(a *archive) {
		a.kept("resource", site+"/robots.txt", 0, "")
		a.kept("resource", site+"/x/", s, "")
	}},
	{name: "screenshots and manifests", make: func(a *archive) {
		a.robots(closedX)
		a.kept("resource", "urn:view:"+site+"/x/", s, "")
		a.kept("resource", "metadata://gnu.org/software/wget/warc/MANIFEST.txt", s, "")
	}},
	{name: "what is forbidden, in a response that is no HTTP", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.kept("response", site+"/x/", s, "")
	}},
	{name: "what is forbidden, in records of other spellings", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.record("Response", site+"/x/", day0.Add(s), "Content-Type: Application/HTTP;msgtype=response", "HTTP/1.1 200 OK\r\n\r\n")
	}},
	{name: "what is forbidden, in a record without a type", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.record("response", site+"/x/", day0.Add(s), "", "HTTP/1.1 200 OK\r\n\r\n")
	}},
	{name: "what is forbidden, with a stray percent sign", codes: "disallowed", make: func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + "/x/100%.html", at: s})
	}},
	{name: "a message of HTTP for no URL", codes: "record", make: func(a *archive) {
		a.robots(closedX)
		a.record("request", "", day0.Add(s), "Content-Type: application/http; msgtype=request", "GET /x/ HTTP/1.1\r\nHost: bakery.test\r\n\r\n")
	}},
	{name: "a message of HTTP for a URL of another scheme", codes: "record", make: func(a *archive) {
		a.robots(closedX)
		a.record("response", "shttp://bakery.test/x/", day0.Add(s), "Content-Type: application/http", "HTTP/1.1 200 OK\r\n\r\n")
	}},
}

// dotted asks for a target under a robots.txt that forbids /x/.
func dotted(target string) func(a *archive) {
	return func(a *archive) {
		a.robots(closedX)
		a.add(fetch{url: site + target, at: s, request: target})
	}
}

// Each way to hide something in an archive of another crawler is named, and nobody is accused who merely looks like it.
// Where whole is set something must be unprovable.
func TestEachEvasionOfOthersIsNamed(t *testing.T) {
	for _, c := range slices.Concat(evasions, contradictions) {
		t.Run(c.name, func(t *testing.T) {
			a := foreign(t)
			if len(c.info) > 0 {
				a.record("warcinfo", "", day0, "Content-Type: application/warc-fields", "software: Otherbot/2\r\n"+strings.Join(c.info, "\r\n")+"\r\n")
			}
			c.make(a)
			r := a.audit(c.opts)
			if got := codes(r); got != c.codes || r.Clean != (c.codes == "") {
				t.Errorf("found %q, want %q%s", got, c.codes, shown(r))
			}
			if c.codes == "" && c.whole != (r.Totals.Unprovable > 0) {
				t.Errorf("%d are unprovable%s", r.Totals.Unprovable, shown(r))
			}
		})
	}
}

// Whatever the type, the media type and the URL of a record: if its URL is of http or https, it counts somewhere.
func TestNoRecordOfAWebURLIsLeftOutUnsaid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	for i := range seeds(600) {
		a := foreign(t)
		uri := pick("http", "https", "HTTP", "Https") + pick("://", "://", "://", ":", ":/", ":\\\\") +
			pick("bakery.test", "BAKERY.test:81", "[::1]", "user@h", "h%zz", "", "a b", "xn--x", "h:99999", "h:port") +
			pick("/", "", "?", "/100%.html", "/%u0041", "/a b", "/\x01", "//", "/\xff", "#x", "\\x")
		kind := pick("request", "response", "revisit", "resource", "conversion", "Response", "RESOURCE")
		media := pick("application/http", "application/http; msgtype=x", "APPLICATION/HTTP", "text/html", "")
		block := pick("HTTP/1.1 200 OK\r\n\r\nx", "GET / HTTP/1.1\r\n\r\n", "<p>", "")
		extra := "WARC-Profile: p\r\nWARC-Refers-To: <urn:x>"
		if media != "" {
			extra += "\r\nContent-Type: " + media
		}
		if bytes.ContainsAny([]byte(uri), "\r\n") {
			t.Fatal("a line break in a field")
		}
		a.record(kind, uri, day0, extra, block)
		got := a.audit(Options{})
		if tot := got.Totals; tot.Exchanges+tot.Violations+tot.Unprovable == 0 {
			t.Errorf("%d: a %s of %q, %q, is left out: %+v", i, kind, uri, media, tot)
		}
	}
}
