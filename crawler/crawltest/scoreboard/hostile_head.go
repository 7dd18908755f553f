package scoreboard

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"

	"curtsy/crawler/crawltest"
)

// headSites answer with heads that are too long, not HTTP or not to be believed.
func headSites() []*crawltest.Site {
	const page = "<!DOCTYPE html><title>Hm</title><p>Hm.</p>"
	const location = "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
	return []*crawltest.Site{
		ill("huge-head.test", "header of 1 MiB", false, crawltest.Expect{Octets: 640 << 10, Most: 20},
			raw("/huge.html", hugeHead)),
		ill("interim.test", "endless interim answers", false, crawltest.Expect{Octets: 1 << 20, Most: 20},
			raw("/hints.html", endlessHints)),
		ill("old.test", "HTTP/0.9", false, crawltest.Expect{Most: 20}, raw("/old.html", crawltest.Say(page+"\n", true))),
		ill("odd.test", "status 999", false, crawltest.Expect{Most: 10},
			raw("/999.html", crawltest.Say("HTTP/1.1 999 No such status\r\nContent-Type: text/html\r\nContent-Length: 42\r\n\r\n"+page, true))),
		ill("twice.test", "two lengths", false, crawltest.Expect{Most: 20},
			raw("/twice.html", crawltest.Say(crawltest.Head("Content-Length: 7", "Content-Length: 42")+page, false))),
		ill("injection.test", "header injection in Location", false, crawltest.Expect{Fields: []string{"X-Injected"}},
			raw("/escaped", crawltest.Say(location+"/x%0d%0aX-Injected:%20yes\r\n\r\n", true)),
			raw("/bare", crawltest.Say(location+"/y\rX-Injected: yes\r\n\r\n", true)),
			raw("/split", crawltest.Say(location+"/z\r\nX-Injected: yes\r\n\r\n", true))),
		ill("control.test", "control characters", false, crawltest.Expect{},
			raw("/urls.html", crawltest.Say(crawltest.Head()+"<!DOCTYPE html><title>\x1b[31mred\x07</title>"+
				"<a href=\"/nul\x00l\">a</a><a href=\"/t\tab\">b</a><a href=\"/new\nline\">c</a><a href=\"/\x1b[2J\">d</a>"+
				"<a href=\"/\u202egpj.exe\">e</a><a href=\"/\xff\xfe\">f</a><a href=\"http://\x01control.test/\">g</a>", true)),
			raw("/header.html", crawltest.Say(crawltest.Head("X-Note: \x1b[31mred\x07", "Content-Length: 42")+page, true))),
		ill("cookie.test", "cookies", true, crawltest.Expect{Fields: []string{"Cookie"}},
			target{"/cookie.html", crawltest.Page{Header: map[string]string{"Set-Cookie": "id=1; Path=/; Max-Age=99999"}}}),
		ill("locked.test", "401 with a challenge", true, crawltest.Expect{Fields: []string{"Authorization"}, Most: 10},
			target{"/locked.html", crawltest.Page{Status: http.StatusUnauthorized,
				Header: map[string]string{"Www-Authenticate": `Basic realm="members"`}}}),
	}
}

// hugeHead begins with a line that makes sense, and goes on with 1 MiB that do not.
func hugeHead(_ context.Context, conn net.Conn, _ *http.Request) bool {
	line := "X-Padding: " + strings.Repeat("x", 1000) + "\r\n"
	_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
	if err == nil && flow(conn, []byte(line), int64(len(line))<<10) {
		_, _ = io.WriteString(conn, "Content-Length: 0\r\n\r\n") // who left has seen enough
	}
	return false
}

// endlessHints promises an answer for ever (RFC 8297).
func endlessHints(_ context.Context, conn net.Conn, _ *http.Request) bool {
	flow(conn, []byte(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n", 64)), 16<<20)
	return false
}

// frameSites end where they should not, or do not end where they should.
func frameSites() []*crawltest.Site {
	const page = "<!DOCTYPE html><title>Hm</title><p>Hm.</p>" // of 42 bytes
	const smuggled = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 40\r\n\r\n<a href=\"/smuggled.html\">smuggled</a>    "
	const chunked = "Transfer-Encoding: chunked"
	failing := crawltest.Expect{Most: 20}
	return []*crawltest.Site{
		ill("short.test", "body short of its length", false, failing,
			raw("/short.html", crawltest.Say(crawltest.Head("Content-Length: 4200")+page, false))),
		ill("long.test", "body beyond its length", true, crawltest.Expect{Left: []string{"/smuggled.html"}},
			raw("/long.html",
				crawltest.Say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 42\r\n\r\n"+page+smuggled, true))),
		ill("chunks.test", "broken chunks", false, failing, raw("/chunks.html",
			crawltest.Say(crawltest.Head(chunked)+"2a\r\n"+page+"\r\nzz\r\n"+page+"\r\n0\r\n\r\n", false))),
		ill("huge-chunk.test", "chunk of 16 EiB", false, failing,
			raw("/chunk.html", crawltest.Say(crawltest.Head(chunked)+"ffffffffffffffff\r\n"+page, false))),
		ill("nothing.test", "connection closed at once", false, failing, raw("/nothing.html", crawltest.Say("", false))),
		ill("reset-head.test", "reset within the head", false, failing,
			raw("/reset.html", crawltest.Cut("HTTP/1.1 200 OK\r\nContent-Le"))),
		ill("reset-body.test", "reset within the body", false, failing,
			raw("/reset.html", crawltest.Cut(crawltest.Head("Content-Length: 42")+page[:20]))),
	}
}
