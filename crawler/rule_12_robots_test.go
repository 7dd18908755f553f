package crawler

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/frontier"
)

// Rule 12: "robots failures count likewise", also where every answer is sound and only what they come to is not. A site
// whose robots.txt redirects in a circle (RFC 9309 2.3.1.2) is not asked once an hour for ever, but leaves the run.
func TestRule12_ARobotsThatComesToNothingCountsAsAFailure(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		each      int // exchanges of a fetch
		answer    http.HandlerFunc
	}{
		{"circle of two", "redirect loop", 2, hopsThen(1, 302, withStatus(302, "Location", "/robots.txt"))},
		{"partial", "partial content", 1, body(206, fileOfGated)},
		{"compressed in secret", "compressed, but not declared", 1, body(200, zipped(fileOfGated))},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			g := newGated(t, "http", tt.answer)
			g.cfg.MaxWait, g.cfg.MaxTime = 2*time.Hour, 90*time.Hour
			s := g.run()
			if n, want := len(g.asked("a.test")), tt.each*host.FailuresToPark*host.ParksToRetire; n != want || s.EndedBy != EndedWaiting {
				t.Errorf("%d exchanges, want %d; ended by %q", n, want, s.EndedBy)
			}
			if h := g.host("http://a.test/"); h.Condition != frontier.Retired || !strings.Contains(h.Reason, "15 failures in a row, the last: robots.txt: "+tt.why) {
				t.Errorf("%v %q", h.Condition, h.Reason)
			}
			g.mended.Store(true)
			g.reopen()
			time.Sleep(2 * time.Hour)
			if s := g.run(); s.EndedBy != EndedDrained {
				t.Errorf("mended, and in the next run: ended by %q, %+v", s.EndedBy, s.Status)
			}
		})
	}
}

// The same by way of another host: what its answers come to is a failure of the host whose robots.txt it is.
func TestRule12_ACircleOfTwoHostsEndsForBoth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3)
		a.Robots.Redirect, b.Robots.Redirect = "http://b.test/robots.txt", "http://a.test/robots.txt"
		w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, a, b)
		w.cfg.MaxWait, w.cfg.MaxTime = 2*time.Hour, 200*time.Hour
		s := w.run()
		if s.EndedBy != EndedWaiting || len(s.Status.Resting) != 2 {
			t.Errorf("%+v", s)
		}
		if n := len(w.asked("a.test")) + len(w.asked("b.test")); n > 4*host.FailuresToPark*host.ParksToRetire {
			t.Errorf("%d exchanges", n)
		}
	})
}

// A redirect to a robots.txt that can be had is no failure, and one had ends the failures in a row.
func TestRule12_ARedirectOfRobotsIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, "http", hopsThen(3, 302, body(200, fileOfGated)))
		if s := g.run(); s.EndedBy != EndedDrained {
			t.Fatalf("ended by %q", s.EndedBy)
		}
		if n := g.memory("http://a.test/").Failures; n != 0 {
			t.Errorf("%d failures", n)
		}
	})
}
