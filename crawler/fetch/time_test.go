package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// drip writes s octet by octet, every d, until the other side closes.
func drip(conn net.Conn, s string, d time.Duration) {
	for i := range len(s) {
		time.Sleep(d)
		if _, err := io.WriteString(conn, s[i:i+1]); err != nil {
			return
		}
	}
	drain(conn)
}

// Politeness rule 15: connect 10 s, first byte 60 s, idle 20 s, whole 20 min.
func TestTimeouts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
	endless := make([]byte, 100_000)
	for _, c := range []struct {
		name      string
		url       string
		serve     func(net.Conn)
		after     time.Duration
		class     Class
		truncated string
		whole     bool
	}{
		{"request not taken", "http://a.test/", func(conn net.Conn) { time.Sleep(time.Hour) }, 20 * time.Second, Timeout, "", false},
		{"TLS handshake not answered", "https://a.test/", func(conn net.Conn) { drain(conn) }, 10 * time.Second, Timeout, "", false},
		{"no answer", "http://a.test/", func(conn net.Conn) { request(conn); drain(conn) }, 60 * time.Second, Timeout, "", false},
		{"answer in the last moment, then idle", "http://a.test/", func(conn net.Conn) {
			request(conn)
			time.Sleep(59 * time.Second)
			drip(conn, "H", 0)
		}, 79 * time.Second, Timeout, CutTime, false},
		{"idle in the head", "http://a.test/", func(conn net.Conn) { request(conn); drip(conn, head[:20], 0) }, 20 * time.Second, Timeout, CutTime, false},
		{"idle after an interim response has the first octet's patience", "http://a.test/", func(conn net.Conn) {
			request(conn)
			drip(conn, "HTTP/1.1 102 Processing\r\n\r\n", 0)
		}, 60 * time.Second, Timeout, "", false},
		{"idle in the body", "http://a.test/", func(conn net.Conn) { request(conn); drip(conn, head+"bre", time.Second) },
			time.Duration(len(head)+3+20) * time.Second, Timeout, CutTime, false},
		{"slow head", "http://a.test/", func(conn net.Conn) { request(conn); drip(conn, head+string(endless), 19*time.Second) },
			20 * time.Minute, Timeout, CutTime, true},
		{"slow body", "http://a.test/", func(conn net.Conn) {
			request(conn)
			say(conn, head)
			drip(conn, string(endless), 19*time.Second)
		}, 20 * time.Minute, Timeout, CutTime, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: func(_ int, conn net.Conn) { c.serve(conn) }}
				begin := time.Now()
				x := get(t, w.fetcher(t, Config{MinRate: -1}), c.url)
				expect(t, x, c.class, c.truncated)
				if took := time.Since(begin); took != c.after || x.End.Sub(begin) != c.after {
					t.Errorf("took %v, End after %v; want %v", took, x.End.Sub(begin), c.after)
				}
				if got := errors.Is(x.Failure, ErrWhole); got != c.whole {
					t.Errorf("the whole time-out: %v (%v)", got, x.Failure)
				}
			})
		})
	}
}

func TestConnectTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		begin := time.Now()
		x := get(t, mustNew(t, Config{Resolve: resolveTo("93.184.215.14", "93.184.215.15"), Dial: hang}), "http://a.test/")
		expect(t, x, Timeout, "")
		if took := time.Since(begin); took != 20*time.Second {
			t.Errorf("two addresses took %v", took)
		}
		hanging := func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		begin = time.Now()
		x = get(t, mustNew(t, Config{Resolve: hanging}), "http://a.test/")
		expect(t, x, DNS, "")
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("the look-up took %v", took)
		}
	})
}

// Politeness rule 9: request sent to first octet, without look-up, connect and TLS.
func TestResponseTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: func(_ int, conn net.Conn) {
			request(conn)
			time.Sleep(300 * time.Millisecond)
			say(conn, "HTTP/1.1 103 Early Hints\r\n\r\n")
			time.Sleep(200 * time.Millisecond)
			say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
			time.Sleep(4 * time.Second)
			say(conn, "b")
		}}
		f := w.fetcher(t, Config{
			Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
				time.Sleep(2 * time.Second)
				return resolveTo("93.184.215.14")(ctx, host)
			},
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				time.Sleep(3 * time.Second)
				return w.dial(ctx, network, address)
			},
		})
		begin := time.Now()
		x := get(t, f, "http://a.test/")
		expect(t, x, "", "")
		if x.ResponseTime != 500*time.Millisecond {
			t.Errorf("response time %v: the final response counts", x.ResponseTime)
		}
		if x.Start.Sub(begin) != 5*time.Second || x.End.Sub(x.Start) != 4500*time.Millisecond {
			t.Errorf("started after %v, took %v", x.Start.Sub(begin), x.End.Sub(x.Start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok("b"))}
		if x := get(t, w.fetcher(t, Config{}), "http://a.test/"); x.ResponseTime != 1 {
			t.Errorf("an answer at once has response time %v, want 1ns", x.ResponseTime)
		}
		w.serve = answering("")
		if x := get(t, w.fetcher(t, Config{}), "http://a.test/"); x.ResponseTime != 0 {
			t.Errorf("no answer has response time %v, want 0", x.ResponseTime)
		}
	})
}

// Whatever an exchange waits for, cancellation ends it in that instant, and there is no exchange.
func TestCancellation(t *testing.T) {
	hang := func(_ int, conn net.Conn) { drain(conn) }
	serve := func(part string) func(int, net.Conn) {
		return func(_ int, conn net.Conn) {
			request(conn)
			say(conn, part)
			drain(conn)
		}
	}
	for _, c := range []struct {
		name, url string
		serve     func(int, net.Conn)
		config    Config
	}{
		{name: "in the look-up", url: "http://a.test/", config: Config{Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}},
		{name: "in the dial", url: "http://a.test/", config: Config{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}},
		{name: "in the handshake", url: "https://a.test/", serve: hang},
		{name: "in sending", url: "http://a.test/", serve: func(int, net.Conn) { time.Sleep(time.Hour) }},
		{name: "before the answer", url: "http://a.test/", serve: hang},
		{name: "in the head", url: "http://a.test/", serve: serve("HTTP/1.1 200 OK\r\nConten")},
		{name: "in the body", url: "http://a.test/", serve: serve("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbre")},
		{name: "in a gzip body", url: "http://a.test/", serve: serve("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + zip("bread")[:14])},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{serve: c.serve}
				f := w.fetcher(t, c.config)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				begin := time.Now()
				x, err := f.Do(ctx, Request{URL: mustURL(t, c.url)})
				if x != nil || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, %v", x, err)
				}
				if took := time.Since(begin); took != 5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
	x, err := mustNew(t, Config{}).Do(canceled(), Request{URL: mustURL(t, "http://a.test/")})
	if x != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("before it began: %v, %v", x, err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
