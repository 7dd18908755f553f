package fetch

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Politeness rule 25: what comes more slowly than the least speed is cut when a span is over, wherever in the answer that
// is, and what comes a little faster is not.
func TestRule25_LeastSpeed(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"
	body := strings.Repeat("b", 20_000)
	at := func(perSecond int) time.Duration { return time.Second / time.Duration(perSecond) }
	for _, c := range []struct {
		name  string
		serve func(net.Conn)
		after time.Duration // zero: it comes whole
	}{
		{"an octet a second in the head", func(conn net.Conn) { drip(conn, head, time.Second) }, 31 * time.Second},
		{"an octet a second in the body", func(conn net.Conn) { say(conn, head); drip(conn, body, time.Second) }, 30 * time.Second},
		{"just below", func(conn net.Conn) { say(conn, head); drip(conn, body, at(98)) }, 30 * time.Second},
		{"just above", func(conn net.Conn) { say(conn, head); drip(conn, body, at(101)) }, 0},
		{"fast at first, then slow", func(conn net.Conn) { say(conn, head+body[:10_000]); drip(conn, body, time.Second) }, 60 * time.Second},
		{"after an interim response", func(conn net.Conn) {
			say(conn, "HTTP/1.1 103 Early Hints\r\n\r\n")
			time.Sleep(50 * time.Second) // the first octet's patience
			say(conn, head)
			drip(conn, body, time.Second)
		}, 80 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: func(_ int, conn net.Conn) { request(conn); c.serve(conn) }}
				begin := time.Now()
				x := get(t, w.fetcher(t, Config{}), "http://a.test/")
				if c.after == 0 {
					expect(t, x, "", "")
					return
				}
				expect(t, x, Timeout, CutTime)
				if took := time.Since(begin); took.Round(time.Second) != c.after || !errors.Is(x.Failure, ErrSlow) {
					t.Errorf("took %v, %v; want %v", took, x.Failure, c.after)
				}
				if x.Response.Size() == 0 {
					t.Error("nothing is kept of what came")
				}
			})
		})
	}
}

// Property: an answer comes whole if no span of its own could have had too little, and fails if all of them had.
func TestRule25_LeastSpeedOfRandomAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	for range 40 {
		size, pieces := 1+r.IntN(100_000), 1+r.IntN(60)
		pause := time.Duration(r.IntN(15_000)) * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			per := size/pieces + 1
			w := &world{serve: func(_ int, conn net.Conn) {
				request(conn)
				say(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
				for left := size; left > 0; left -= per {
					time.Sleep(pause)
					if _, err := io.WriteString(conn, strings.Repeat("b", min(per, left))); err != nil {
						return
					}
				}
			}}
			x := get(t, w.fetcher(t, Config{}), "http://a.test/")
			whole := pause * time.Duration((size+per-1)/per)
			inSpan := int64(0) // the least that came in any 30 s
			if pause > 0 {
				inSpan = int64(per) * int64(30*time.Second/pause)
			}
			switch {
			case whole < 30*time.Second || inSpan >= 3000:
				expect(t, x, "", "")
			case whole > 61*time.Second && inSpan+2*int64(per) < 3000:
				expect(t, x, Timeout, CutTime)
			}
		})
	}
}

// Waiting for our own rate is not the host's slowness.
func TestRule25_OurOwnRateIsNotTheHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok(strings.Repeat("b", 3000)))}
		m := &Meter{}
		begin := time.Now()
		x := do(t, w.fetcher(t, Config{MaxRate: 10}), Request{URL: mustURL(t, "http://a.test/"), Meter: m})
		expect(t, x, "", "")
		if took := time.Since(begin); took < 200*time.Second || m.Ours() != took || m.Octets() != x.Response.Size() {
			t.Errorf("took %v, of which %v are ours; %d octets", took, m.Ours(), m.Octets())
		}
	})
}

// Whatever an exchange waits for, a cause that is a *Failure ends it in that instant, and what came is kept.
func TestStopKeepsWhatCame(t *testing.T) {
	why := &Failure{Stopped, errors.New("enough")}
	for name, c := range map[string]struct {
		url, part string
		truncated string
		body      string
		resolve   bool // it hangs in the look-up
		dial      bool // in the dial
	}{
		"look-up":     {url: "http://a.test/", resolve: true},
		"dial":        {url: "http://a.test/", dial: true},
		"handshake":   {url: "https://a.test/"},
		"first octet": {url: "http://a.test/"},
		"head":        {url: "http://a.test/", part: "HTTP/1.1 200 OK\r\nConten", truncated: CutTime},
		"body": {url: "http://a.test/", part: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbre",
			truncated: CutTime, body: "bre"},
		"chunk": {url: "http://a.test/", part: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nbre",
			truncated: CutTime, body: "bre"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: func(_ int, conn net.Conn) {
					if c.url == "http://a.test/" {
						request(conn)
						say(conn, c.part)
					}
					drain(conn)
				}}
				config := Config{}
				if c.resolve {
					config.Resolve = func(ctx context.Context, _ string) ([]netip.Addr, error) { <-ctx.Done(); return nil, ctx.Err() }
				}
				if c.dial {
					config.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
				}
				f := w.fetcher(t, config)
				ctx, stop := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { stop(why) })
				begin := time.Now()
				x, err := f.Do(ctx, Request{URL: mustURL(t, c.url)})
				if err != nil {
					t.Fatal(err)
				}
				defer closed(t, x)
				expect(t, x, Stopped, c.truncated)
				if took := time.Since(begin); took != 5*time.Second || x.End.Sub(begin) != took {
					t.Errorf("took %v, ended after %v", took, x.End.Sub(begin))
				}
				if c.body != "" && text(t, x.Body) != c.body {
					t.Errorf("the body is %q", text(t, x.Body))
				}
				if c.resolve {
					if _, err := f.Addresses(ctx, mustURL(t, c.url).Authority()); !errors.Is(err, why) {
						t.Errorf("addresses: %v", err)
					}
				}
			})
		})
	}
}
