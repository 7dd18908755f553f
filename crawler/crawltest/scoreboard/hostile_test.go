package scoreboard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/visitor"
)

func TestSitesAreUnshownUntilAsked(t *testing.T) {
	web := crawltest.New(append(Sites(0), Guarded()...)...)
	visitor.Bubble(t, web, func(*visitor.Client) {})
	rows := 0
	for _, row := range web.Referee().Judge(crawltest.Rules{Partial: true}).Rows {
		if rows++; row.Verdict != crawltest.Unshown {
			t.Errorf("%s is %s before the first request: %s", row.Rule, row.Verdict, row.Evidence)
		}
	}
	assert.GreaterOrEqual(t, rows, 50, "rows")
}

func TestSitesAreLinkedFromTheirIndex(t *testing.T) {
	for _, sites := range [][]*crawltest.Site{Sites(0), Guarded()} {
		links := strings.Join(sites[0].Pages["/"].Links, " ") + " "
		for _, s := range sites[1:] {
			if linked := strings.Contains(links, "http://"+s.Name+"/ "); linked == s.Expect.Closed {
				t.Errorf("%s: linked %v, at an address that is not public %v", s.Name, linked, s.Expect.Closed)
			}
		}
	}
}
