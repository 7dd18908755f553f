package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
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

// A crawl of ours breaks none of the practices that an archive shows, as a directory and packed.
func TestACrawlOfOursBreaksNoPractice(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t, "--contact", "https://lantern.test/bot")
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", "-o", file, dir).want(t, cli.ExitDone)
	for _, path := range []string{dir, file} {
		r, c := practised(t, cli.ExitDone, path)
		if !r.Clean || r.Totals.Exchanges == 0 || brokenClauses(c) != "" || c.Kept < 9 || c.Draft != cbcp.Draft {
			t.Errorf("%s: broken %q, %d kept of %d: %+v", path, brokenClauses(c), c.Kept, len(c.Clauses), c.Clauses)
		}
	}
	page := filepath.Join(t.TempDir(), "audit.html")
	inside(t, "audit", "--cbcp", "--html", page, dir).want(t, cli.ExitDone)
	b, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(b), "<h2>Crawler best practices</h2>") {
		t.Errorf("%v", err)
	}
	if out := inside(t, "audit", "--cbcp", dir).out; !strings.Contains(out, "\nCrawler best practices: ") || !strings.HasPrefix(out, "No violation") {
		t.Error(out)
	}
	if out := inside(t, "audit", dir).out; strings.Contains(out, "best practices") {
		t.Error("they were not asked for")
	}
}

// A mailbox for a contact leads to no page: that is said and counted, and no reason for another exit code.
func TestABrokenShouldIsSaidAndExitsWith0(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", "-o", file, crawledBakery(t, "--contact", "post@lantern.test")).want(t, cli.ExitDone)
	_, c := practised(t, cli.ExitDone, file)
	if brokenClauses(c) != "description-url" || c.Broken != 1 || c.Musts != 0 {
		t.Errorf("broken %q, %+v", brokenClauses(c), c)
	}
	for _, j := range c.Clauses {
		for _, e := range j.Examples {
			if e.File != file+":archive/curtsy-00000.warc.gz" {
				t.Errorf("the place of an example is %q", e.File)
			}
		}
	}
}

// A broken MUST is exit code 3, also where the audit, which goes by other documents, finds no violation.
func TestABrokenMustExitsWith3(t *testing.T) {
	t.Parallel()
	const request = "GET /robots.txt HTTP/1.1\r\nHost: bakery.test\r\nUser-Agent: python-requests/2\r\n\r\n"
	warc := fmt.Sprintf("WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-03-01T12:00:00Z\r\n"+
		"WARC-Target-URI: http://bakery.test/robots.txt\r\nContent-Type: application/http; msgtype=request\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
		len(request), request)
	path := filepath.Join(t.TempDir(), "other.warc")
	if err := os.WriteFile(path, []byte(warc), 0o600); err != nil {
		t.Fatal(err)
	}
	clean(t, path)
	r, c := practised(t, cli.ExitFound, path)
	if !r.Clean || brokenClauses(c) != "unique-name description-url" || c.Musts != 1 {
		t.Errorf("clean: %v, broken %q, %d of them a must", r.Clean, brokenClauses(c), c.Musts)
	}
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

func TestPracticesNeedAnArchive(t *testing.T) {
	t.Parallel()
	log := write(t, "")
	inside(t, "audit", "--cbcp", "--access-log", log, "--agent", "lantern").want(t, cli.ExitUsage, "--cbcp is judged by an archive")
	inside(t, "audit", "--bot-page", log, "--access-log", log, "--agent", "lantern").want(t, cli.ExitUsage, "--cbcp is judged by an archive")
	inside(t, "audit", "--cbcp").want(t, cli.ExitUsage, "audit takes a crawl directory")
}
