package scoreboard

import (
	"testing"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/visitor"
)

// Only a known robots.txt must not be requested again; one in a redirect loop is not known.
func TestScoreboardForgivesUnavailableRobots(t *testing.T) {
	board := New("", true)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		for _, target := range []string{"/robots.txt", "/robots/a.txt", "/robots/b.txt", "/robots.txt", "/robots/a.txt", "/robots/b.txt", "/robots.txt"} {
			c.Get("robots-loop.test" + target)
		}
	})
	if row := board.Judge(Ending{}).Row("robots.txt cached"); row.Verdict != crawltest.Kept {
		t.Errorf("%s: %v", row.Verdict, row.Findings)
	}
}

func TestScoreboardForgivesARestAfterASlowHeader(t *testing.T) {
	board := New("", true)
	visitor.Bubble(t, board.Web, func(c *visitor.Client) {
		for _, target := range []string{"/robots.txt", "/", "/before.html"} {
			c.Get("slow-head.test" + target)
		}
		if _, err := c.Do(c.T.Context(), "GET", "http://slow-head.test/slow.html"); err == nil {
			t.Error("the header came to its end")
		}
	})
	if row := board.Judge(Ending{}).Row("hostile: slow header"); row.Verdict != crawltest.Kept {
		t.Errorf("%s: %v", row.Verdict, row.Findings)
	}
}
