package crawltest

import (
	"strings"
	"testing"
)

// A web of the wing can be served, and a crawl that asked nothing has shown nothing.
func TestWingIsUnshownUntilAsked(t *testing.T) {
	web := New(append(Wing(0), Guarded()...)...)
	bubble(t, web, func(*client) {})
	rows := 0
	for _, row := range web.Referee().Judge(Rules{Partial: true}).Rows {
		if rows++; row.Verdict != Unshown {
			t.Errorf("%s is %s before anybody came: %s", row.Rule, row.Verdict, row.Evidence)
		}
	}
	if rows < 50 {
		t.Errorf("%d rows", rows)
	}
}

// Every ill site can be found from the first one.
func TestWingIsLinkedFromItsIndex(t *testing.T) {
	for _, sites := range [][]*Site{Wing(0), Guarded()} {
		links := strings.Join(sites[0].Pages["/"].Links, " ") + " "
		for _, s := range sites[1:] {
			if linked := strings.Contains(links, "http://"+s.Name+"/ "); linked == s.Expect.Closed {
				t.Errorf("%s: linked %v, at an address that is not public %v", s.Name, linked, s.Expect.Closed)
			}
		}
	}
}
