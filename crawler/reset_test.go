package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/storage"
)

// resetting is a connection whose other side ends it with a reset, not with an orderly end.
type resetting struct{ net.Conn }

func (c resetting) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if errors.Is(err, io.EOF) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	}
	return n, err
}

// ends are the ways in which a connection ends.
var ends = map[string]func(net.Conn) net.Conn{
	"closed": func(c net.Conn) net.Conn { return c },
	"reset":  func(c net.Conn) net.Conn { return resetting{c} },
}

// cutFirst answers the first request with the first n octets of whole, and the others with all of it.
func cutFirst(whole string, n int) crawltest.Raw {
	var asked atomic.Int64
	return func(_ context.Context, conn net.Conn, _ *http.Request) bool {
		if asked.Add(1) == 1 {
			io.WriteString(conn, whole[:n])
			return n == len(whole)
		}
		io.WriteString(conn, whole)
		return true
	}
}

// cuts are the octets at which an answer is cut: each of them or, with the race detector, every seventh.
func cuts(whole string) (at []int) {
	step := 1
	if racing {
		step = 7
	}
	for n := 0; n < len(whole); n += step {
		at = append(at, n)
	}
	return at
}

// octets writes a small answer, and how many of its octets are its head.
func octets(kind, body string) (whole string, head int) {
	s := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", kind, len(body))
	return s + body, len(s)
}

// classAt is the failure of an answer that ends after n octets.
func classAt(n, head int) string {
	if n < head {
		return "reset"
	}
	return "incomplete"
}

// endingWorld is newWorld where connections end in a way.
func endingWorld(t *testing.T, end func(net.Conn) net.Conn, sites []*crawltest.Site) *world {
	t.Helper()
	w := newWorld(t, wingSeeds(sites), sites...)
	w.fetchBy(func(cfg *fetch.Config) {
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := w.web.Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return end(conn), nil
		}
	})
	return w
}

// times returns when a host was asked for a target.
func (w *world) times(host, target string) []time.Time {
	var at []time.Time
	for _, r := range w.web.Referee().Requests() {
		if r.Host == host && r.Target == target {
			at = append(at, r.Start)
		}
	}
	return at
}

// A robots.txt whose connection ends after any number of octets is no robots.txt: nothing is asked for until it is there
// whole, a minute later at the earliest (politeness rule 6). Its rules, cut short, would allow what they disallow.
func TestRule06_RobotsCutAtEveryOctet(t *testing.T) {
	whole, head := octets("text/plain", "User-agent: *\nDisallow: /next\nAllow: /\n")
	for name, end := range ends {
		bubble(t, name, func(t *testing.T) {
			var sites []*crawltest.Site
			for _, n := range cuts(whole) {
				sites = append(sites, &crawltest.Site{
					Name: fmt.Sprintf("at%d.test", n), Robots: crawltest.Robots{Raw: cutFirst(whole, n)},
					Pages: map[string]crawltest.Page{"/": {Links: []string{"/next"}}, "/next": {}},
				})
			}
			w := endingWorld(t, end, sites)
			w.run()
			for _, n := range cuts(whole) {
				host := fmt.Sprintf("at%d.test", n)
				w.wantAsked(host, "/robots.txt", "/robots.txt", "/")
				w.wantOutcomes("http://"+host+"/next", "disallowed: disallow rule")
				at := w.times(host, "/robots.txt")
				if d := at[1].Sub(at[0]); d < time.Minute || d > 73*time.Second {
					t.Errorf("%s: asked again after %v", host, d)
				}
				if want := classAt(n, head); !slices.ContainsFunc(w.ledger.all, func(l storage.Line) bool {
					return l.URL == "http://"+host+"/robots.txt" && l.Reason == want
				}) {
					t.Errorf("%s: no line of the ledger says %s", host, want)
				}
			}
			w.judged(crawltest.Rules{Pace: Floor})
		})
	}
}
