package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func drip(conn net.Conn, s string, d time.Duration) {
	for i := range len(s) {
		time.Sleep(d)
		if _, err := io.WriteString(conn, s[i:i+1]); err != nil {
			return
		}
	}
	drain(conn)
}

func hang[T any](ctx context.Context) (none T, err error) {
	<-ctx.Done()
	return none, ctx.Err()
}

func hangInLookUp(ctx context.Context, _ string) ([]netip.Addr, error) {
	return hang[[]netip.Addr](ctx)
}
func hangInDial(ctx context.Context, _, _ string) (net.Conn, error) { return hang[net.Conn](ctx) }
func at(octetsPerSecond time.Duration) time.Duration                { return time.Second / octetsPerSecond }

// Politeness rules 15 (connect 10 s, first byte 60 s, idle 20 s, whole 20 min) and 25, and the timeouts of a request.
func TestTimeouts(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"
	const interim = "HTTP/1.1 102 Processing\r\n\r\n"
	body := strings.Repeat("b", 20_000)
	slow := Config{MinRate: -1}
	brief := Request{FirstByteTimeout: 20 * time.Second, WholeTimeout: 30 * time.Second}
	silent := func(conn net.Conn) { drain(conn) }
	for _, c := range []struct {
		name    string
		url     string // empty: http://a.test/
		config  Config
		request Request
		serve   func(net.Conn) // nil: no server is there
		deaf    bool           // serve gets the request unread
		after   time.Duration  // zero: the response comes whole
		class   Class          // empty: timeout
		kept    bool           // some bytes came
		err     error
	}{
		{name: "look-up", config: Config{Resolve: hangInLookUp}, after: 10 * time.Second, class: DNS},
		{name: "dial of two addresses", config: Config{Resolve: resolveTo("93.184.215.14", "93.184.215.15"), Dial: hangInDial}, after: 20 * time.Second},
		{name: "request not taken", deaf: true, serve: func(net.Conn) { time.Sleep(time.Hour) }, after: 20 * time.Second},
		{name: "TLS handshake not answered", url: "https://a.test/", deaf: true, serve: silent, after: 10 * time.Second},
		{name: "no response", serve: silent, after: 60 * time.Second},
		{name: "response in the last moment, then idle", serve: func(conn net.Conn) {
			time.Sleep(59 * time.Second)
			drip(conn, "H", 0)
		}, after: 79 * time.Second, kept: true},
		{name: "idle in the head", serve: func(conn net.Conn) { drip(conn, head[:20], 0) }, after: 20 * time.Second, kept: true},
		{name: "idle after an interim response has the first octet's patience", serve: func(conn net.Conn) { drip(conn, interim, 0) }, after: 60 * time.Second},
		{name: "idle in the body", config: slow, serve: func(conn net.Conn) { drip(conn, head+"bre", time.Second) },
			after: time.Duration(len(head)+3+20) * time.Second, kept: true},
		{name: "slow head", config: slow, serve: func(conn net.Conn) { drip(conn, head+body, 19*time.Second) }, after: 20 * time.Minute, kept: true, err: ErrWhole},
		{name: "slow body", config: slow, serve: func(conn net.Conn) { say(conn, head); drip(conn, body, 19*time.Second) }, after: 20 * time.Minute, kept: true, err: ErrWhole},
		{name: "slow host with MaxRate", config: Config{MaxRate: 10}, serve: func(conn net.Conn) { say(conn, head+"bread"); drain(conn) },
			after: 20*time.Second + at(10)*time.Duration(len(head)+5-10), kept: true},

		{name: "request's patience, no response", request: brief, serve: silent, after: 20 * time.Second},
		{name: "request's patience, slow response", request: brief, serve: func(conn net.Conn) { drip(conn, ok(body), 19*time.Second) }, after: 30 * time.Second, kept: true, err: ErrWhole},
		{name: "request's patience, interim response", request: brief, serve: func(conn net.Conn) { drip(conn, interim, 0) }, after: 20 * time.Second},

		{name: "an octet a second in the head", serve: func(conn net.Conn) { drip(conn, head, time.Second) }, after: 31 * time.Second, kept: true, err: ErrSlow},
		{name: "an octet a second in the body", serve: func(conn net.Conn) { say(conn, head); drip(conn, body, time.Second) }, after: 30 * time.Second, kept: true, err: ErrSlow},
		{name: "just below the least speed", serve: func(conn net.Conn) { say(conn, head); drip(conn, body, at(98)) }, after: 30 * time.Second, kept: true, err: ErrSlow},
		{name: "just above the least speed", serve: func(conn net.Conn) { say(conn, head); drip(conn, body, at(101)) }},
		{name: "fast at first, then slow", serve: func(conn net.Conn) { say(conn, head+body[:10_000]); drip(conn, body, time.Second) }, after: 60 * time.Second, kept: true, err: ErrSlow},
		{name: "slow after an interim response", serve: func(conn net.Conn) {
			say(conn, interim)
			time.Sleep(50 * time.Second) // the first octet's patience
			say(conn, head)
			drip(conn, body, time.Second)
		}, after: 80 * time.Second, kept: true, err: ErrSlow},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w := &world{serve: func(_ int, conn net.Conn) {
				if !c.deaf {
					request(conn)
				}
				c.serve(conn)
			}}
			c.request.URL = mustURL(t, cmp.Or(c.url, "http://a.test/"))
			f := w.fetcher(t, c.config)
			begin := time.Now()
			x := do(t, f, c.request)
			took := time.Since(begin)
			assert.Equal(t, took, x.End.Sub(begin))
			if c.after == 0 {
				expect(t, x, "", "")
				return
			}
			truncated := ""
			if c.kept {
				truncated = CutTime
			}
			expect(t, x, cmp.Or(c.class, Timeout), truncated)
			if c.err == ErrSlow {
				took = took.Round(time.Second) // of an octet
			}
			assert.Equalf(t, c.after, took, "took %v, want %v", took, c.after)
			assert.Equal(t, (c.err == ErrWhole), errors.Is(x.Failure, ErrWhole))
			assert.Equal(t, (c.err == ErrSlow), errors.Is(x.Failure, ErrSlow))
			assert.Equal(t, (x.Response != nil), c.kept)
		})
	}
}

// Politeness rule 9: from request sent to first byte, without lookup, connect and TLS.
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
		assert.Equalf(t, 500*time.Millisecond, x.ResponseTime, "response time %v: the final response counts", x.ResponseTime)
		assert.Equal(t, 5*time.Second, x.Start.Sub(begin))
		assert.Equal(t, 4500*time.Millisecond, x.End.Sub(x.Start))
	})
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: answering(ok("b"))}
		assert.Equal(t, time.Duration(1), get(t, w.fetcher(t, Config{}), "http://a.test/").ResponseTime)
		w.serve = answering("")
		assert.Zero(t, get(t, w.fetcher(t, Config{}), "http://a.test/").ResponseTime)
	})
}

// Cancellation leaves no exchange; a cause that is a *Failure leaves one with the bytes before it.
func TestStop(t *testing.T) {
	enough := &Failure{Stopped, errors.New("enough")}
	serve := func(part string) func(net.Conn) {
		return func(conn net.Conn) {
			request(conn)
			say(conn, part)
			drain(conn)
		}
	}
	for _, c := range []struct {
		name, url string
		serve     func(net.Conn)
		config    Config
		truncated string
		body      string
	}{
		{name: "look-up", url: "http://a.test/", config: Config{Resolve: hangInLookUp}},
		{name: "dial", url: "http://a.test/", config: Config{Dial: hangInDial}},
		{name: "handshake", url: "https://a.test/", serve: func(conn net.Conn) { drain(conn) }},
		{name: "sending", url: "http://a.test/", serve: func(net.Conn) { time.Sleep(time.Hour) }},
		{name: "first octet", url: "http://a.test/", serve: serve("")},
		{name: "head", url: "http://a.test/", serve: serve("HTTP/1.1 200 OK\r\nConten"), truncated: CutTime},
		{name: "body", url: "http://a.test/", serve: serve("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbre"), truncated: CutTime, body: "bre"},
		{name: "chunk", url: "http://a.test/", serve: serve(chunks + "9\r\nbre"), truncated: CutTime, body: "bre"},
		{name: "gzip body", url: "http://a.test/", serve: serve(gzipped + zip("bread")[:14]), truncated: CutTime},
	} {
		for _, cause := range []error{context.DeadlineExceeded, enough} {
			bubble(t, fmt.Sprint(c.name, " ", cause), func(t *testing.T) {
				f := (&world{serve: func(_ int, conn net.Conn) { c.serve(conn) }}).fetcher(t, c.config)
				ctx, stop := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { stop(cause) })
				begin := time.Now()
				x, err := f.Do(ctx, Request{URL: mustURL(t, c.url)})
				assert.Equal(t, 5*time.Second, time.Since(begin), "the time it took")
				if cause != enough {
					assert.Nil(t, x)
					assert.ErrorIs(t, err, context.Canceled)
					return
				}
				require.NoError(t, err)
				defer closed(t, x)
				expect(t, x, Stopped, c.truncated)
				if x.End.Sub(begin) != 5*time.Second || c.body != "" && text(t, x.Body) != c.body {
					t.Errorf("ended after %v with the body %q", x.End.Sub(begin), text(t, x.Body))
				}
				if _, err := f.Addresses(ctx, x.URL.Authority()); c.name == "look-up" && !errors.Is(err, enough) {
					t.Errorf("addresses: %v", err)
				}
			})
		}
	}
	x, err := mustNew(t, Config{}).Do(canceled(), Request{URL: mustURL(t, "http://a.test/")})
	assert.Nil(t, x, "before it began")
	assert.ErrorIs(t, err, context.Canceled, "before it began")
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
