package crawler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/robots"
)

// outcomeRow is a row of the outcome table, section 3.1 of the robots policy.
type outcomeRow struct {
	name   string
	answer http.HandlerFunc // what a.test says until it is mended; nil means the file
	want   [3]string        // rfc9309, draft1996, std1994; where the last two are empty, as the first
	why    string           // of a DENY
	flags  robots.Flags
	dial   error // what becomes of connections, or of look-ups, until then
	lookUp error
}

// over500KiB is a robots.txt whose last rule ends just before the 500 KiB are full. What is left of the line across that
// border would close /open.html, and so would the lines behind it.
func over500KiB() string {
	const half = "Disallow: /o"
	room := robots.MaxBody - len(fileOfGated) - len(half)
	head := strings.TrimSuffix(fileOfGated, "Disallow: /closed.html\n")
	pad := strings.Repeat("#\n", room/2) + strings.Repeat("\n", room%2)
	return head + pad + "Disallow: /closed.html\n" + half + "ld\nDisallow: /open.html\n" + strings.Repeat("#\n", 50_000)
}

// hopsThen redirects from /robots.txt to /r1, /r2, … within the host, n times, and then answers by last.
func hopsThen(n, code int, last http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		hop, _ := strconv.Atoi(strings.TrimPrefix(r.RequestURI, "/r")) // 0 for /robots.txt
		if hop == n {
			last(rw, r)
			return
		}
		withStatus(code, "Location", fmt.Sprintf("/r%d", hop+1))(rw, r)
	}
}

// dripping sends a comment that does not end.
func dripping(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprint(rw, fileOfGated)
	for r.Context().Err() == nil {
		fmt.Fprint(rw, "#\n")
		http.NewResponseController(rw).Flush()
		time.Sleep(10 * time.Second)
	}
}

// outcomeRows are rows by each way that an exchange can take through the crawler. Package robots has the whole table, package
// fetch all failures.
func outcomeRows() []outcomeRow {
	all := func(want string) [3]string { return [3]string{want} }
	ok := body(200, fileOfGated)
	const many, private = "too many redirects", "private address (see --allow-net)"
	return []outcomeRow{
		{name: "200 with body", answer: ok, want: all(asRules)},
		{name: "204", answer: withStatus(204), want: all(asEmpty)},
		{name: "2xx HTML", answer: body(200, "<html><body>\n"+fileOfGated, "Content-Type", "text/html"), want: all(asRules), flags: robots.HTML},
		{name: "2xx looks binary", answer: body(200, "\x7FELF\x00\x00\n"), want: all(asEmpty), flags: robots.Binary},
		{name: "2xx body over 500 KiB", answer: body(200, over500KiB()), want: all(asRules), flags: robots.Truncated},
		{name: "gzip body over 500 KiB", answer: body(200, zipped(over500KiB()), "Content-Encoding", "gzip"), want: all(asRules), flags: robots.Truncated},
		{name: "401", answer: withStatus(401), want: [3]string{asAllow, asClosed, asAllow}},
		{name: "404", answer: body(404, fileOfGated), want: all(asAllow)},
		{name: "301, hop 1", answer: hopsThen(1, 301, ok), want: all(asRules)},
		{name: "308, hop 5", answer: hopsThen(5, 308, ok), want: all(asRules)},
		{name: "hop 6", answer: hopsThen(6, 302, ok), want: [3]string{asAllow, asRules, asDeny}, why: many},
		{name: "hop 11", answer: hopsThen(11, 302, ok), want: [3]string{asAllow, asDeny, asDeny}, why: many},
		{name: "206", answer: body(206, fileOfGated), want: all(asDeny), why: "partial content"},
		{name: "304", answer: withStatus(304), want: all(asDeny), why: "status 304"},
		{name: "429", answer: withStatus(429), want: all(asDeny), why: "status 429"},
		{name: "503", answer: body(503, fileOfGated), want: all(asDeny), why: "status 503"},
		{name: "2xx cut", answer: raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + fileOfGated), want: all(asDeny), why: "incomplete"},
		{name: "2xx cut, gzip error", answer: body(200, zipped(fileOfGated)[:30], "Content-Encoding", "gzip"), want: all(asDeny), why: "coding"},
		{name: "gzip undeclared", answer: body(200, zipped(fileOfGated)), want: all(asDeny), why: "compressed, but not declared"},
		{name: "redirect without Location", answer: withStatus(302), want: all(asDeny), why: "redirect without Location"},
		{name: "redirect loop of two", answer: hopsThen(1, 302, withStatus(302, "Location", "/robots.txt")), want: all(asDeny), why: "redirect loop"},
		{name: "redirect to a private address", answer: withStatus(302, "Location", "http://10.0.0.1/robots.txt"), want: all(asDeny), why: private},
		{name: "redirect to a name with one", answer: withStatus(302, "Location", "http://private.test/robots.txt"), want: all(asDeny), why: private},
		{name: "not HTTP", answer: raw("220 mail.test ESMTP\r\n"), want: all(asDeny), why: "protocol"},
		{name: "connection reset", answer: raw(""), want: all(asDeny), why: "reset"},
		{name: "timeout of the header", answer: silent, want: all(asDeny), why: "timeout"},
		{name: "timeout of the whole", answer: dripping, want: all(asDeny), why: "timeout"},
		{name: "DNS NXDOMAIN", want: all(asDeny), why: "nxdomain", lookUp: &net.DNSError{Name: "a.test", IsNotFound: true}},
		{name: "DNS failure", want: all(asDeny), why: "dns", lookUp: &net.DNSError{Name: "a.test", Err: "server misbehaving"}},
		{name: "connect refused", want: all(asDeny), why: "connect", dial: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
	}
}

// Every row, and by another standard where that adds refusals. After a DENY the server is repaired, and its rules hold.
func TestGate_3_1(t *testing.T) {
	for _, row := range outcomeRows() {
		for i, standard := range robots.Standards() {
			if row.want[i] == "" || row.want[i] == row.want[0] && i > 0 {
				continue
			}
			bubble(t, "3.1 "+row.name+"/"+standard.String(), func(t *testing.T) {
				g := newGated(t, "http", row.answer)
				g.failing(row.dial, row.lookUp)
				g.cfg.Standard = standard
				s := g.run()
				g.wantPolicy(row.want[i], row.why, s)
				if got := g.policy("http://a.test/").Flags(); got != row.flags {
					t.Errorf("flags %q, want %q", got, row.flags)
				}
				if row.want[i] != asDeny {
					return
				}
				g.mended.Store(true)
				time.Sleep(25 * time.Hour)
				g.reopen() // a host that was left alone comes back with the next run
				g.wantPolicy(asRules, "", g.run())
			})
		}
	}
}

func TestGate_3_1_RedirectsAcrossAuthorities(t *testing.T) {
	for _, tt := range []struct {
		hosts int // hops after the first authority
		want  string
	}{{1, asRules}, {5, asRules}, {6, asAllow}} {
		bubble(t, fmt.Sprintf("3.1 redirect across authorities, hop %d", tt.hosts), func(t *testing.T) {
			var others []*crawltest.Site
			for i := range tt.hosts {
				site := &crawltest.Site{Name: fmt.Sprintf("hop%d.test", i+1), Pages: map[string]crawltest.Page{}}
				site.Robots.Redirect = fmt.Sprintf("http://hop%d.test/robots.txt", i+2)
				others = append(others, site)
			}
			others[tt.hosts-1].Robots = crawltest.Robots{Body: fileOfGated}
			g := newGated(t, "http", withStatus(301, "Location", "http://hop1.test/robots.txt"), others...)
			s := g.run()
			g.wantPolicy(tt.want, "", s)
			g.judged(crawltest.Rules{Token: "curtsy", Pace: Floor})
			if tt.want == asRules {
				if got := g.policy("http://a.test/").FinalURL(); got != fmt.Sprintf("http://hop%d.test/robots.txt", tt.hosts) {
					t.Errorf("final URL %q", got)
				}
			}
		})
	}
}

// 3.1: cancelled by our own shutdown.
func TestGate_3_1_CancelledByOurOwnShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, "http", silent)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		c, err := New(ctx, g.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		g.wantAsked("a.test", "/robots.txt")
		if s := g.policy("http://a.test/"); s != (robots.State{}) {
			t.Errorf("it says something of the policy: %+v", s)
		}
		if rs := g.archive.records; len(rs) != 1 || rs[0].Line.Reason != host.Aborted || len(g.ledger.all) != 1 { // it was asked for
			t.Errorf("%+v, %+v", rs, g.ledger.all)
		}
		g.mended.Store(true)
		start := time.Now()
		s := g.run()
		g.wantPolicy(asRules, "", s)
		if took := time.Since(start); took < Floor || took > 30*time.Second {
			t.Errorf("after the abort it took %v: the host does not rest, and has its pace", took)
		}
	})
}
