package crawltest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest/visitor"
)

// Over sockets the last bytes arrive before the handler returns: the end must be recorded before the client reads it.
func TestExchangesInTurnNeverOverlap(t *testing.T) {
	pages := map[string]Page{}
	for _, n := range []int{1, 2047, 2048, 4095, 4096, 4097, 100_000, 3_000_000} {
		pages[fmt.Sprintf("/%d", n)] = Page{Body: strings.Repeat("x", n), Type: "text/plain"}
	}
	web := New(&Site{Name: "a.test", Pages: pages, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 10 {
			io.WriteString(w, strings.Repeat("y", 3000))
			w.(http.Flusher).Flush()
		}
	})})
	visitor.Sockets(t, web, func(c *visitor.Client) {
		for round := range 20 {
			if round == 10 {
				c.HTTP.Transport = &http.Transport{DialContext: web.Dial, DisableKeepAlives: true}
			}
			for target := range pages {
				c.Get("a.test" + target)
			}
			c.Get("a.test/streamed")
			c.Get("a.test/robots.txt")
		}
	})
	r := web.Referee().Judge(Rules{})
	h := r.Host("a.test")
	if h.Requests != 200 || h.Flying != 1 || h.Gap < 0 || r.Row(InFlight).Verdict != Kept {
		t.Errorf("%d requests, %d at once, smallest gap %v", h.Requests, h.Flying, h.Gap)
	}
	for _, x := range web.Referee().Requests() {
		assert.False(t, x.End.IsZero())
		assert.False(t, x.End.Before(x.Start))
	}
}

func TestEndIsWhenTheLastOctetsAreWritten(t *testing.T) {
	web := New(&Site{Name: "a.test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sized" {
			w.Header().Set("Content-Length", "2")
		}
		for range 2 {
			io.WriteString(w, "z")
			w.(http.Flusher).Flush()
			time.Sleep(second)
		}
	})})
	visitor.Bubble(t, web, func(c *visitor.Client) { c.Get("a.test/chunked"); c.Get("a.test/sized") })
	log := web.Referee().Requests()
	for i, want := range []time.Duration{2 * second, second} { // chunks end when the handler does
		assert.Equal(t, want, log[i].End.Sub(log[i].Start))
	}
}

func TestRequestsAreLoggedAsTheyCame(t *testing.T) {
	web := New(&Site{Name: "a.test"}, &Site{Name: "b.test:81"})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		start := time.Now()
		c.Get("a.test/robots.txt", "Accept", "text/plain")
		time.Sleep(second)
		c.Get("b.test:81/%7ex?b=2&a=1")
		log := web.Referee().Requests()
		require.Len(t, log, 2, "requests")
		x, y := log[0], log[1]
		if x.Host != "a.test" || x.Target != "/robots.txt" || x.Method != "GET" || x.UserAgent != visitor.Polite || x.Status != 404 ||
			x.Header.Get("Accept") != "text/plain" || x.Answer.Get("Content-Type") == "" || !x.Start.Equal(start) || !x.End.Equal(start) {
			t.Errorf("first: %+v", x)
		}
		if y.Host != "b.test:81" || y.Target != "/%7ex?b=2&a=1" || y.Start.Sub(start) != second {
			t.Errorf("second: %+v", y)
		}
	})
}

func TestPipelinedRequestsAreInFlightTogether(t *testing.T) {
	web := New(&Site{Name: "a.test", Pages: map[string]Page{"/": {Delay: second}}})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		conn, err := web.Dial(c.T.Context(), "tcp", "a.test:80")
		require.NoError(t, err)
		one := "GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: " + visitor.Polite + "\r\n"
		if _, err := io.WriteString(conn, one+"\r\n"+one+"Connection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Error(err)
		}
		conn.Close()
	})
	assert.Len(t, web.Referee().Judge(Rules{}).Row(InFlight).Findings, 1, "findings")
}

func TestJudgeDuringTheCrawl(t *testing.T) {
	web := New(&Site{Name: "a.test", Latency: second})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		c.Get("a.test/robots.txt")
		time.Sleep(second)
		c.Aside(func() { c.Get("a.test/") }, func() {
			time.Sleep(second / 2)
			r := web.Referee().Judge(Rules{Pace: second, Partial: true})
			mustKeep(t, r)
			if log := web.Referee().Requests(); !log[1].End.IsZero() || log[1].Status != 0 {
				t.Errorf("under way: %+v", log[1])
			}
		})
	})
	r := web.Referee().Judge(Rules{Pace: second})
	mustKeep(t, r)
	if h := r.Host("a.test"); h.Last.Sub(h.First) != 3*second || r.Elapsed != 3*second || h.Gap != second {
		t.Errorf("in the end: %+v", h)
	}
}

func TestTableIsPlainText(t *testing.T) {
	web := New(&Site{Name: "a.test"})
	visitor.Bubble(t, web, func(c *visitor.Client) {
		conn, err := web.Dial(c.T.Context(), "tcp", "a.test:80")
		require.NoError(t, err)
		fmt.Fprintf(conn, "GET /\u202e\u009b31m%s HTTP/1.1\r\nHost: a.test\r\nUser-Agent: \u009b2J\xff\u202e\r\nConnection: close\r\n\r\n", strings.Repeat("/long", 500))
		io.Copy(io.Discard, conn)
		conn.Close()
	})
	printed := table(t, web.Referee().Judge(Rules{}))
	if strings.ContainsFunc(printed, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) || r == unicode.ReplacementChar }) {
		t.Errorf("not plain text: %q", printed)
	}
}

func TestReachFollowsSeedsRedirectsOutOfScope(t *testing.T) {
	web := New(
		&Site{Name: "old.test", Pages: map[string]Page{"/": {Redirect: "http://between.test/"}, "/never": {}}},
		&Site{Name: "between.test", Pages: map[string]Page{"/": {Redirect: "http://www.new.test/start"}, "/x": {}}},
		&Site{Name: "www.new.test", Pages: map[string]Page{
			"/start": {Links: []string{"/a", "http://new.test/", "http://between.test/x", "http://other.test/"}}, "/a": {}}},
		&Site{Name: "new.test", Robots: Robots{Body: "User-agent: lantern\nDisallow: /no\n"}, Pages: map[string]Page{"/": {Links: []string{"/no"}}, "/no": {}}},
		&Site{Name: "other.test"},
	)
	want := []string{"http://between.test/", "http://new.test/", "http://new.test/no", "http://old.test/", "http://www.new.test/a", "http://www.new.test/start"}
	assert.Equal(t, want, web.Reach("", "http://old.test/"))
	want = slices.Delete(want, 2, 3)
	assert.Equal(t, want, web.Reach("lantern", "http://old.test/", "http://unknown.test/"))
}
