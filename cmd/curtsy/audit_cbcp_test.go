package main

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/policypage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
)

// practised is an audit with --cbcp.
func practised(t *testing.T, want int, args ...string) (*audit.Result, *cbcp.Result) {
	t.Helper()
	r := shared(t, append([]string{"audit", "--cbcp", "--json"}, args...)...)
	var got struct {
		audit.Result

		CBCP *cbcp.Result `json:"cbcp"`
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.CBCP == nil || r.code != want {
		t.Fatalf("exit code %d, want %d: %v\n%s%s", r.code, want, err, r.out, r.err)
	}
	return &got.Result, got.CBCP
}

// brokenClauses are the ids of those broken.
func brokenClauses(r *cbcp.Result) string {
	var ids []string
	for _, c := range r.Clauses {
		if c.State == cbcp.Broken {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, " ")
}

// The page and the ranges that curtsy identity writes keep what copies of them can show.
func TestCopiesOfOurPageAndRangesKeepTheirClauses(t *testing.T) {
	t.Parallel()
	said := policypage.Statement{
		Token: "lantern", UserAgent: "lantern/1 (+https://lantern.test/bot)", Operator: "The tests", Purpose: "Tests", Contact: "post@lantern.test",
		Retention: "A day", Ranges: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, URL: "https://lantern.test/bot.html", Made: time.Now(),
	}
	page, err := said.Page()
	if err != nil {
		t.Fatal(err)
	}
	ranges, err := said.RangesJSON()
	if err != nil {
		t.Fatal(err)
	}
	dir := crawledBakery(t, "--contact", "https://lantern.test/bot")
	_, c := practised(t, cli.ExitDone, "--bot-page", write(t, string(page)), "--bot-ranges", write(t, string(ranges)), dir)
	for _, j := range c.Clauses {
		want := slices.Contains(strings.Fields("ranges ranges-current ranges-linked ranges-found contact example"), j.ID)
		if j.State == cbcp.Broken || want && j.State != cbcp.Kept {
			t.Errorf("%s is %s: %s", j.ID, j.State, j.Evidence)
		}
	}
	_, c = practised(t, cli.ExitFound, "--bot-ranges", write(t, "{}"), dir)
	if brokenClauses(c) != "ranges" || c.Musts != 1 {
		t.Errorf("broken %q, %+v", brokenClauses(c), c)
	}
	inside(t, "audit", "--bot-page", write(t, ""), dir).want(t, cli.ExitUsage, "--bot-page and --bot-ranges need --cbcp")
	inside(t, "audit", "--cbcp", "--bot-page", "no-such-file", dir).want(t, cli.ExitFailed, "--bot-page: ", "no-such-file")
	inside(t, "audit", "--cbcp", "--bot-ranges", write(t, strings.Repeat("x", policypage.MaxDocument+1)), dir).want(t, cli.ExitFailed, "--bot-ranges: ")
}
