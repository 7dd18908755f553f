package audit

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// since notes which exchanges another one must have come before.
type since struct {
	Witness
	b strings.Builder
}

func (s *since) Info(context.Context, *evidence.Info, finding.Report) error { return nil }
func (s *since) Close(context.Context, *Result, finding.Report) error       { return nil }

func (s *since) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	if !e.Since.IsZero() {
		fmt.Fprintf(&s.b, "%s since %v\n", e.Target, e.Since.Sub(day0))
	}
	return nil
}

// A pause told shorter than its records show means that something is missing, unless the clock jumped meanwhile. Own hosts
// may have several exchanges at once, and of the file before a killed run need not know all.
func TestAPauseToldShorterSaysThatSomethingIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		site, meta string
		want       string
		unprovable int64 // without a ledger
	}{
		"as the records show":      {site, "gapMs: 7900\r\n", "", 0},
		"within what clocks do":    {site, "gapMs: 7892\r\n", "", 0},
		"shorter":                  {site, "gapMs: 2000\r\n", "/b since 2.1s\n", 1},
		"none":                     {site, "", "/b since 2.1s\n", 0},
		"the clock jumped":         {site, "gapMs: 2000\r\nclockAheadMs: 5900\r\n", "", 0},
		"the clock jumped by less": {site, "gapMs: 2000\r\nclockAheadMs: 3000\r\n", "/b since 2.1s\n", 1},
		"an own host":              {"http://127.0.0.1:8080", "gapMs: 2000\r\n", "", 0},
	} {
		for _, beside := range []bool{true, false} { // a ledger
			a := ours(t)
			a.add(fetch{url: c.site + "/robots.txt"})
			a.add(fetch{url: c.site + "/a", at: 2 * s, meta: "gapMs: 1900\r\n"})
			a.add(fetch{url: c.site + "/b", at: 10 * s, meta: c.meta})
			w := &since{}
			r := a.audit(Options{Ours: beside, Witnesses: []Witness{w}})
			want, unprovable := c.want, int64(0)
			if !beside {
				unprovable = c.unprovable
				if c.meta == "" {
					want = "" // whether a field that says nothing was there is not known
				}
			}
			if got := w.b.String(); got != want || codes(r) != "" || r.Totals.Unprovable != unprovable {
				t.Errorf("%s, ledger %v: %q, want %q; %q, %d unprovable%s", name, beside, got, want, codes(r), r.Totals.Unprovable, shown(r))
			}
		}
	}
}
