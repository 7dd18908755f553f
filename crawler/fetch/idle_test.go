package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestConnectionIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := (&world{serve: always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("bread", 5))}).fetcher(t, Config{})
		for i := range 5 {
			x := get(t, f, fmt.Sprintf("http://a.test/%d", i))
			expect(t, x, "", "")
			if x.Reused != (i > 0) || x.Addr != netip.MustParseAddrPort("93.184.215.14:80") || text(t, x.Body) != "bread" {
				t.Errorf("exchange %d: reused %v, address %v, body %q", i, x.Reused, x.Addr, text(t, x.Body))
			}
			time.Sleep(3 * time.Second)
		}
		if get(t, f, "https://a.test/").Failure == nil || get(t, f, "http://a.test:81/").Reused || get(t, f, "http://b.test/").Reused {
			t.Error("another authority used the connection")
		}
	})
}

func TestConnectionIsNotUsedAgain(t *testing.T) {
	for _, c := range []struct {
		name, response string
		config         Config
		pause          time.Duration
		act            func(f *Fetcher, a canon.Authority)
	}{
		{name: "Connection: close", response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n"},
		{name: "HTTP/1.0", response: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{name: "octets behind it", response: ok("bread") + "\n"},
		{name: "304 with a body", response: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nbread"},
		{name: "too long idle", response: ok("bread"), pause: 4*time.Second + 1},
		{name: "configured away", response: ok("bread"), config: Config{KeepAlive: -1}},
		{name: "body over the cap", response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked("bread", 5), config: Config{MaxBody: 4}},
		{name: "CloseIdle", response: ok("bread"), act: func(f *Fetcher, a canon.Authority) { f.CloseIdle(a) }},
		{name: "Close", response: ok("bread"), act: func(f *Fetcher, _ canon.Authority) { closed(t, f) }},
	} {
		bubble(t, c.name, func(t *testing.T) {
			closed := 0
			w := &world{serve: func(_ int, conn net.Conn) {
				for request(conn) != "" {
					say(conn, c.response)
				}
				closed++
			}}
			f := w.fetcher(t, c.config)
			x := get(t, f, "http://a.test/")
			require.Nil(t, x.Failure)
			time.Sleep(c.pause)
			if c.act != nil {
				c.act(f, x.URL.Authority())
			}
			synctest.Wait()
			assert.Equal(t, 1, closed, "the connection is still open")
			if again := get(t, f, "http://a.test/"); again.Reused || again.Failure != nil {
				t.Errorf("reused %v, %v", again.Reused, again.Failure)
			}
		})
	}
}

// RFC 9112 9.3.1: only a request of which no byte was taken is repeated (politeness rule 9).
func TestOnlyAStaleConnectionIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name   string
		serve  func(conn net.Conn) // after the first response
		class  Class
		reused bool
	}{
		{"closed while idle", func(conn net.Conn) { closed(t, conn) }, "", false},
		{"closed after the request", func(conn net.Conn) { request(conn) }, Reset, true},
		{"after the first octet", func(conn net.Conn) { request(conn); say(conn, "H") }, Reset, true},
		{"after an interim response", func(conn net.Conn) { request(conn); say(conn, "HTTP/1.1 100 Continue\r\n\r\n") }, Reset, true},
		{"timeout", func(conn net.Conn) { request(conn); drain(conn) }, Timeout, true},
		{"nonsense", func(conn net.Conn) { request(conn); say(conn, "nonsense\n") }, Protocol, true},
	} {
		bubble(t, c.name, func(t *testing.T) {
			w := &world{serve: func(n int, conn net.Conn) {
				request(conn)
				say(conn, ok("bread"))
				if n == 0 {
					c.serve(conn)
				}
			}}
			f := w.fetcher(t, Config{})
			get(t, f, "http://a.test/")
			synctest.Wait()
			x := get(t, f, "http://a.test/")
			connections := 1
			if !c.reused {
				connections = 2
			}
			if class(x) != c.class || x.Reused != c.reused || len(w.dialed) != connections {
				t.Errorf("%v, reused %v, %d connections", x.Failure, x.Reused, len(w.dialed))
			}
		})
	}
	bubble(t, "a fresh connection that died", func(t *testing.T) {
		w := &world{serve: answering("")}
		x := get(t, w.fetcher(t, Config{}), "http://a.test/")
		if expect(t, x, Reset, ""); len(w.dialed) != 1 {
			t.Errorf("%d connections", len(w.dialed))
		}
	})
	bubble(t, "stale, and then down", func(t *testing.T) {
		w := &world{serve: answering(ok("bread"))}
		up := true
		f := w.fetcher(t, Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if !up {
				return nil, errors.New("refused")
			}
			return w.dial(ctx, network, address)
		}})
		get(t, f, "http://a.test/")
		up = false
		synctest.Wait()
		expect(t, get(t, f, "http://a.test/"), Connect, "")
	})
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := (&world{serve: always(ok("bread"))}).fetcher(t, Config{KeepAlive: time.Hour})
		for i := range maxIdle + 5 {
			get(t, f, fmt.Sprintf("http://h%d.test/", i))
		}
		assert.Len(t, f.idle.lines, maxIdle)
	})
}

func TestAsManyConnectionsAreKeptAsTheRequestsAllowFor(t *testing.T) {
	a := mustURL(t, "http://a.test/").Authority()
	lineTo := func() *connection {
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		return newLine(a, netip.AddrPort{}, near)
	}
	s := idleLines{lines: map[canon.Authority][]*connection{}, life: time.Hour}
	var kept []*connection
	for i, want := range []bool{true, true, true, false} {
		l := lineTo()
		require.Equalf(t, want, s.put(l, 3), "connection %d is kept", i+1)
		kept = append(kept, l)
	}
	assert.False(t, s.put(lineTo(), 0), "a request that allows for one adds a fourth")
	s.expire(kept[1]) // in the middle
	s.expire(kept[1])
	s.expire(kept[3]) // never in
	if s.count != 2 || s.remove(a) != kept[2] || s.remove(a) != kept[0] || s.remove(a) != nil || s.count != 0 || len(s.lines) != 0 {
		t.Errorf("%d are counted, %d authorities", s.count, len(s.lines))
	}
	s.put(kept[0], 2)
	s.put(kept[2], 2)
	if all := s.shut(); len(all) != 2 || s.put(lineTo(), 2) {
		t.Errorf("%d are closed in the end, and none are accepted after that", len(all))
	}
}

// RFC 9112 9.2. Only a socket can be peeked at; see hasPendingInput.
func TestUnaskedOctetsAreNoAnswer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no look without taking")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	behind := make(chan bool)
	var server sync.WaitGroup
	t.Cleanup(func() {
		closed(t, listener)
		server.Wait()
	})
	server.Go(func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			request(conn)
			say(conn, ok("asked"))
			if n == 0 {
				<-behind
				say(conn, ok("unasked"))
			}
			closed(t, conn)
			if n == 0 {
				behind <- true
			}
		}
	})
	f := mustNew(t, Config{AllowNet: nets("127.0.0.0/8")})
	url := "http://" + listener.Addr().String() + "/"
	require.Nil(t, get(t, f, url).Failure)
	lines := f.idle.lines[mustURL(t, url).Authority()]
	require.Len(t, lines, 1)
	l := lines[0]
	require.False(t, l.hasPendingInput())
	behind <- true
	<-behind
	if x := get(t, f, url); x.Failure != nil || x.Reused || text(t, x.Body) != "asked" {
		t.Errorf("%v, reused %v, body %q", x.Failure, x.Reused, text(t, x.Body))
	}
}

func TestManyAtOnce(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say(w, strings.Repeat(r.URL.Path, 1000))
	}))
	defer srv.Close()
	f := mustNew(t, Config{AllowNet: nets("127.0.0.0/8")})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 50 {
				path := fmt.Sprintf("/%d/%d", g, i)
				x := get(t, f, srv.URL+path)
				body, err := io.ReadAll(x.Body)
				if err != nil || x.Failure != nil || string(body) != strings.Repeat(path, 1000) {
					t.Errorf("%s: class %q, %d octets, %v", path, class(x), len(body), err)
				}
				closed(t, x)
			}
		})
	}
	all.Wait()
}
