package crawler

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/robots"
)

// outcomeRow is a row of the outcome table, section 3.1 of the robots policy.
type outcomeRow struct {
	name   string
	answer http.HandlerFunc // what a.test says until it is mended
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

// silent answers nothing.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// dripping sends a comment that does not end.
func dripping(rw http.ResponseWriter, r *http.Request) {
	fmt.Fprint(rw, fileOfGated)
	for r.Context().Err() == nil {
		fmt.Fprint(rw, "#\n")
		http.NewResponseController(rw).Flush()
		time.Sleep(10 * time.Second)
	}
}

func outcomeRows() []outcomeRow {
	same := func(want string) [3]string { return [3]string{want, want, want} }
	ok := body(200, fileOfGated)
	rows := []outcomeRow{
		{name: "200 with body", answer: ok, want: same(asRules)},
		{name: "203 with body", answer: body(203, fileOfGated), want: same(asRules)},
		{name: "299 with body", answer: body(299, fileOfGated), want: same(asRules)},
		{name: "2xx ended by the end of the connection", answer: raw("HTTP/1.0 200 OK\r\n\r\n" + fileOfGated), want: same(asRules)},
		{name: "2xx empty body", answer: withStatus(200), want: same(asEmpty)}, // 1994 alone would say ALLOW, which is no sterner
		{name: "204", answer: withStatus(204), want: same(asEmpty)},
		{name: "2xx wrong Content-Type", answer: body(200, fileOfGated, "Content-Type", "text/html"), want: same(asRules), flags: robots.HTML},
		{name: "2xx HTML", answer: body(200, "<html><body>\n"+fileOfGated, "Content-Type", "text/html"), want: same(asRules), flags: robots.HTML},
		{name: "2xx looks binary, NUL", answer: body(200, "\x7FELF\x00\x00\n"), want: same(asEmpty), flags: robots.Binary},
		{name: "2xx looks binary, image type", answer: body(200, "GIF89a\n", "Content-Type", "image/gif"), want: same(asEmpty), flags: robots.Binary},
		{name: "2xx body over 500 KiB", answer: body(200, over500KiB()), want: same(asRules), flags: robots.Truncated},
		{name: "2xx gzip body over 500 KiB decoded", answer: body(200, zipped(over500KiB()), "Content-Encoding", "gzip"), want: same(asRules), flags: robots.Truncated},
		{name: "gzip declared", answer: body(200, zipped(fileOfGated), "Content-Encoding", "gzip"), want: same(asRules)},

		{name: "401", answer: withStatus(401), want: [3]string{asAllow, asClosed, asAllow}},
		{name: "403", answer: withStatus(403), want: [3]string{asAllow, asClosed, asAllow}},
		{name: "404", answer: body(404, fileOfGated), want: same(asAllow)},
		{name: "410", answer: withStatus(410), want: same(asAllow)},

		{name: "hop 6", answer: hopsThen(6, 302, ok), want: [3]string{asAllow, asRules, asDeny}, why: "too many redirects"},
		{name: "hop 10", answer: hopsThen(10, 302, ok), want: [3]string{asAllow, asRules, asDeny}, why: "too many redirects"},
		{name: "hop 11", answer: hopsThen(11, 302, ok), want: [3]string{asAllow, asDeny, asDeny}, why: "too many redirects"},
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		for _, hops := range []int{1, 5} {
			rows = append(rows, outcomeRow{name: fmt.Sprintf("%d, hop %d", code, hops), answer: hopsThen(hops, code, ok), want: same(asRules)})
		}
	}
	for _, code := range []int{400, 402, 405, 407, 418, 451, 499} {
		rows = append(rows, outcomeRow{name: fmt.Sprintf("other 4xx %d", code), answer: withStatus(code), want: same(asAllow)})
	}
	for _, code := range []int{206, 300, 304, 305, 306, 408, 425, 429, 500, 501, 502, 503, 504, 599, 600, 999} {
		why := fmt.Sprintf("status %d", code)
		if code == 206 {
			why = "partial content"
		}
		answer := body(code, fileOfGated, "Location", "/elsewhere")
		if code == 304 {
			answer = withStatus(code)
		}
		rows = append(rows, outcomeRow{name: fmt.Sprint(code), answer: answer, want: same(asDeny), why: why})
	}
	for _, row := range []struct {
		name, why string
		answer    http.HandlerFunc
	}{
		{"2xx cut, Content-Length short", "incomplete", raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + fileOfGated)},
		{"2xx cut, chunk missing", "incomplete", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n" + fileOfGated + "\r\n")},
		{"2xx cut, chunk error", "protocol", raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n26\r\n" + fileOfGated + "\r\nzz\r\n\r\n")},
		{"2xx cut, gzip error", "coding", body(200, zipped(fileOfGated)[:30], "Content-Encoding", "gzip")},
		{"2xx cut, gzip checksum", "coding", body(200, zipped(fileOfGated)[:len(zipped(fileOfGated))-8]+"12345678", "Content-Encoding", "gzip")},
		{"gzip undeclared", "compressed, but not declared", body(200, zipped(fileOfGated))},
		{"br declared", "coding", body(200, fileOfGated, "Content-Encoding", "br")},
		{"redirect without Location", "redirect without Location", withStatus(302)},
		{"redirect with an invalid Location", "redirect to an invalid URL", withStatus(302, "Location", "http://[/robots.txt")},
		{"redirect to a scheme not http(s)", "redirect to a scheme other than http and https", withStatus(302, "Location", "ftp://a.test/robots.txt")},
		{"redirect loop of one", "redirect loop", withStatus(302, "Location", "/robots.txt")},
		{"redirect loop of two", "redirect loop", hopsThen(1, 302, withStatus(302, "Location", "/robots.txt"))},
		{"redirect to a private address", "private address (see --allow-net)", withStatus(302, "Location", "http://10.0.0.1/robots.txt")},
		{"redirect to loopback", "private address (see --allow-net)", withStatus(302, "Location", "http://127.0.0.1/robots.txt")},
		{"redirect to a name with a private address", "private address (see --allow-net)", withStatus(302, "Location", "http://private.test/robots.txt")},
		{"1xx final", "protocol", raw("HTTP/1.1 101 Switching Protocols\r\n\r\n")},
		{"1xx and nothing", "reset", raw("HTTP/1.1 103 Early Hints\r\n\r\n")},
		{"malformed status", "protocol", raw("HTTP/1.1 abc OK\r\n\r\n")},
		{"not HTTP", "protocol", raw("220 mail.test ESMTP\r\n")},
		{"response header > 64 KiB", "protocol", raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10) + "\r\n\r\n" + fileOfGated)},
		{"connection reset", "reset", raw("")},
		{"timeout of the header", "timeout", silent},
		{"timeout of the whole", "timeout", dripping},
	} {
		rows = append(rows, outcomeRow{name: row.name, answer: row.answer, want: same(asDeny), why: row.why})
	}
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	lookUp := func(e net.DNSError) error { e.Name = "a.test"; return &e }
	return append(rows,
		outcomeRow{name: "DNS NXDOMAIN", answer: ok, want: same(asDeny), why: "nxdomain", lookUp: lookUp(net.DNSError{IsNotFound: true})},
		outcomeRow{name: "DNS timeout", answer: ok, want: same(asDeny), why: "dns", lookUp: lookUp(net.DNSError{IsTimeout: true})},
		outcomeRow{name: "DNS failure", answer: ok, want: same(asDeny), why: "dns", lookUp: lookUp(net.DNSError{Err: "server misbehaving"})},
		outcomeRow{name: "connect refused", answer: ok, want: same(asDeny), why: "connect", dial: refused},
		outcomeRow{name: "connect timeout", answer: ok, want: same(asDeny), why: "timeout", dial: context.DeadlineExceeded},
	)
}

// Every row, and by another standard where that adds refusals. After a DENY the server is repaired, and its rules hold.
func TestGate_3_1(t *testing.T) {
	for _, row := range outcomeRows() {
		for i, standard := range robots.Standards() {
			if row.want[i] == row.want[0] && i > 0 {
				continue
			}
			t.Run("3.1 "+row.name+"/"+standard.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
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
			})
		}
	}
}

func TestGate_3_1_RedirectsAcrossAuthorities(t *testing.T) {
	for _, tt := range []struct {
		hosts int // hops after the first authority
		want  string
	}{{1, asRules}, {5, asRules}, {6, asAllow}} {
		t.Run(fmt.Sprintf("3.1 redirect across authorities, hop %d", tt.hosts), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
		})
	}
}

// secured makes a fetcher that reaches a.test by TLS, with a certificate that it trusts or not. A request over it is
// answered by answer, and the connection is closed.
func (g *gated) secured(trusted bool, name string, answer func(target string) string) {
	g.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		g.t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		g.t.Fatal(err)
	}
	if cert, err = x509.ParseCertificate(der); err != nil {
		g.t.Fatal(err)
	}
	serve := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	g.fetchBy(func(cfg *fetch.Config) {
		cfg.RootCAs = x509.NewCertPool()
		if trusted {
			cfg.RootCAs.AddCert(cert)
		}
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !strings.HasSuffix(address, ":443") {
				return g.web.Dial(ctx, network, address)
			}
			near, far := net.Pipe()
			go func() { // ends with the connection
				defer far.Close()
				conn := tls.Server(far, serve)
				defer conn.Close()
				head := make([]byte, 4096)
				if n, err := conn.Read(head); err == nil {
					_, target, _ := strings.Cut(string(head[:n]), " ")
					target, _, _ = strings.Cut(target, " ")
					fmt.Fprint(conn, answer(target))
				}
			}()
			return near, nil
		}
	})
}

func TestGate_3_1_TLSFailure(t *testing.T) {
	said := func(string) string { return "HTTP/1.0 404 Not Found\r\n\r\n" }
	for name, tt := range map[string]struct {
		trusted bool
		name    string
		later   time.Duration
		want    string
		why     string
	}{
		"3.1 TLS, all is well":     {true, "a.test", 0, asAllow, "tls"},
		"3.1 TLS failure, name":    {true, "b.test", 0, asDeny, "tls wrong name"},
		"3.1 TLS failure, expired": {true, "a.test", 2 * time.Hour, asDeny, "tls expired"},
		"3.1 TLS failure, chain":   {false, "a.test", 0, asDeny, "tls unknown issuer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t, "https", withStatus(404))
				g.secured(tt.trusted, tt.name, func(target string) string {
					if target == "/robots.txt" {
						return said(target)
					}
					return "HTTP/1.0 200 OK\r\n\r\n"
				})
				time.Sleep(tt.later)
				g.wantPolicy(tt.want, tt.why, g.run())
			})
		})
	}
}

func TestGate_3_1_RedirectFromHTTPSToHTTP(t *testing.T) {
	t.Run("3.1 redirect leaves https for http", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGated(t, "https", body(200, fileOfGated))
			g.secured(true, "a.test", func(target string) string {
				if target == "/robots.txt" {
					return "HTTP/1.0 301 Moved\r\nLocation: http://a.test/robots.txt\r\n\r\n"
				}
				return "HTTP/1.0 200 OK\r\n\r\n"
			})
			g.wantPolicy(asRules, "", g.run())
			if got := g.policy("https://a.test/"); got.Flags() != robots.Downgraded || got.FinalURL() != "http://a.test/robots.txt" {
				t.Errorf("flags %q, final URL %q", got.Flags(), got.FinalURL())
			}
		})
	})
}

func TestGate_3_1_CancelledByOurOwnShutdown(t *testing.T) {
	t.Run("3.1 cancelled by our own shutdown", func(t *testing.T) {
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
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("the host rested for it: %v", took)
			}
		})
	})
}
