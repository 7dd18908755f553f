package cbcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

func TestVisitLogIsBrokenWhereTheLedgerDiffers(t *testing.T) {
	f := &New(Published{}).facts
	f.exchanges, f.requests = 3, 2
	assert.Equal(t, NotProvable, clause("visit-log")(f, &audit.Result{}).state)
	assert.Equal(t, Kept, clause("visit-log")(f, &audit.Result{Ledger: &audit.LedgerCheck{Lines: 3}}).state)
	for _, code := range []finding.Code{finding.LedgerMissing, finding.LedgerExtra, finding.LedgerDiffers} {
		r := &audit.Result{Ledger: &audit.LedgerCheck{Lines: 3}, Counts: []audit.Count{{Code: code, Found: 2, Notes: 1}},
			Findings: []finding.Finding{{Code: code, Note: true}, {Code: code, URL: "http://bakery.test/"}}}
		got := clause("visit-log")(f, r)
		if got.state != Broken || len(got.examples) != 1 || got.evidence != "ledger and archive differ 1 time" {
			t.Errorf("%s: %+v", code, got)
		}
		r.Counts[0].Found = 1 // only a note
		assert.Equal(t, Kept, clause("visit-log")(f, r).state, code)
	}
}

func TestDoubtsOfTheAuditMakeAClauseNotProvable(t *testing.T) {
	f := &New(Published{}).facts
	f.failures, f.exchanges = 1, 9
	r := &audit.Result{Totals: audit.Totals{Judged: 9, Gaps: 9}}
	for code, judge := range map[finding.Code]check{
		finding.Disallowed: clause("rep"), finding.RetryAfter: clause("back-out"), finding.InFlight: clause("one-at-a-time"), finding.Gap: clause("speed"),
	} {
		r.Hosts = []*audit.Host{{Authority: "http://bakery.test", Required: 1, Gaps: 9}}
		assert.Equal(t, Kept, judge(f, r).state, code)
		r.Hosts[0].Why = []audit.Unproved{{What: code, Why: "dates of whole seconds", Count: 2}}
		if got := judge(f, r); got.state != NotProvable || !strings.Contains(got.evidence, "bakery.test: dates of whole seconds") {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

func TestSpeedWithoutALimitIsNotProvable(t *testing.T) {
	r := &audit.Result{Hosts: []*audit.Host{{Authority: "http://a.test", Gaps: 3, MinGap: 0.7}, {Authority: "http://b.test", Gaps: 3, MinGap: 0.2}}}
	got := clause("speed")(nil, r)
	if got.state != NotProvable || !strings.HasSuffix(got.evidence, "0.200 s (http://b.test)") {
		t.Errorf("%+v", got)
	}
}

func TestJudge_ReportsURLBound(t *testing.T) {
	f := &New(Published{}).facts
	for i := range uint64(maxURLs) {
		f.visits[i] = visit{n: 1}
	}
	f.visit(&evidence.Exchange{URL: "http://bakery.test/"})
	if got := clause("re-crawl")(f, nil); len(f.visits) > maxURLs || f.lost != 1 || !strings.Contains(got.evidence, "1 request beyond") {
		t.Errorf("%d URLs, %+v", len(f.visits), got)
	}
}

func TestJudge_OwnHostsMayRepeat(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := &New(Published{}).facts
		for range 5 {
			f.visit(&evidence.Exchange{URL: "http://127.0.0.1/", Own: own, Answered: true, Status: 200, Began: day0})
		}
		assert.Equal(t, own, (clause("re-crawl")(f, nil).state == Kept), "own")
	}
}

func TestJudge_OwnHostsMayContinueAfterFailures(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := &facts{servers: map[string]*server{}}
		for i := range streakMin + 1 {
			f.server(&evidence.Exchange{Authority: "http://127.0.0.1", Own: own, Answered: true, Status: 500, Began: day0.Add(time.Duration(i) * time.Second)})
		}
		assert.NotEqualf(t, own, len(f.overloads) > 0, "own %v: %+v", own, f.overloads)
	}
}

func TestCBCP_UnnamedRequestsAreUnattributed(t *testing.T) {
	c := judge(t, more(fetch{at: later, path: "/oven", agent: "none"})).of(t, "unique-name")
	if c.State != Broken || c.Evidence != "1 request could be of another crawler; 1 without a User-Agent" {
		t.Errorf("%s, %s", c.State, c.Evidence)
	}
}

func TestCBCP_URLInUserAgentEnds(t *testing.T) {
	for agent, want := range map[string]string{
		"a/1 (+https://a.test/bot)": "https://a.test/bot", "a (http://a.test; x)": "http://a.test",
		"a HTTPS://A.test/x y": "HTTPS://A.test/x", "http://b.test, https://a.test": "http://b.test", "a (+x@a.test)": "", "": "",
	} {
		assert.Equal(t, want, urlIn(agent), agent)
	}
}

func TestAMailboxInTheUserAgentIsShown(t *testing.T) {
	if c := judge(t, as("Lantern/1 (+post@lantern.test)")).of(t, "contact"); c.State != NotProvable || !strings.Contains(c.Evidence, "post@lantern.test") {
		t.Errorf("%s, %s", c.State, c.Evidence)
	}
}

func FuzzHeads(f *testing.F) {
	b, err := os.ReadFile(archive(f, polite()))
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Length: 40\r\n\r\nHTTP/1.1 20\r\nX-Robots-Tag: :,:noarchive\r\n\r\nx"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "x.warc")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		j := New(Published{})
		a, err := audit.Run(t.Context(), audit.Options{Files: []string{path}, TempDir: t.TempDir(), Witnesses: []audit.Witness{j}})
		if err != nil {
			return // as a .warc.zst is
		}
		r := j.Conclude(a, map[string]string{path: "x"})
		require.Equal(t, len(Clauses()), r.Kept+r.Broken+r.Unknown)
		for _, c := range r.Clauses {
			for _, e := range c.Examples {
				if len(e.Observed) > finding.MaxText+3 || len(e.URL) > finding.MaxText+3 || len(c.Examples) > maxExamples {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

var day0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const (
	bakery  = "http://bakery.test"
	lantern = "Lantern/1 (+https://lantern.test/bot)"
	rules   = "User-agent: *\nCrawl-delay: 2\nDisallow: /private\n"
)

// fetch is an exchange of an archive that a test makes. Zero fields are those of a good one.
type fetch struct {
	at     time.Duration // since day0
	path   string
	took   time.Duration // 0 is 100 ms, −1 not recorded
	method string
	agent  string
	sent   string // more fields of the request, each with its end
	status int    // 0 is 200
	head   string // fields of the answer, each with its end
	body   string
	meta   string // more fields of the metadata record
	noReq  bool
}

func polite() []fetch {
	return []fetch{
		{at: 0, path: "/robots.txt", body: rules},
		{at: 10 * time.Second, path: "/", head: "ETag: \"1\"\r\n", body: "bread", meta: "kind: seed\r\ndepth: 0\r\n"},
		{at: 20 * time.Second, path: "/bread", head: "X-Robots-Tag: nofollow\r\n", body: "rye",
			meta: "kind: link\r\ndepth: 1\r\nvia: " + bakery + "/\r\npaceMs: 5000\r\npaceBy: response time\r\n"},
		{at: 30 * time.Second, path: "/busy", status: 503},
		{at: 120 * time.Second, path: "/busy", body: "rolls"},
		{at: 130 * time.Second, path: "/", sent: "If-None-Match: \"1\"\r\n", status: 304},
	}
}

func archive(t testing.TB, all []fetch) string {
	t.Helper()
	var b bytes.Buffer
	n := 0
	record := func(kind, uri string, at time.Time, media, to, block string) {
		n++
		fmt.Fprintf(&b, "WARC/1.1\r\nWARC-Type: %s\r\nWARC-Record-ID: <urn:test:%d>\r\nWARC-Date: %s\r\n", kind, n,
			at.Format("2006-01-02T15:04:05.000000Z"))
		if uri != "" {
			fmt.Fprintf(&b, "WARC-Target-URI: %s\r\n", uri)
		}
		fmt.Fprintf(&b, "WARC-Block-Digest: sha256:%x\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n",
			sha256.Sum256([]byte(block)), media, to, len(block), block)
	}
	record("warcinfo", "", day0, "application/warc-fields", "", "software: Otherbot/2\r\n")
	for _, f := range all {
		uri, at, to := bakery+f.path, day0.Add(f.at), ""
		if !f.noReq {
			record("request", uri, at, "application/http; msgtype=request", fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n+2),
				fmt.Sprintf("%s %s HTTP/1.1\r\nHost: bakery.test\r\n%s%s\r\n", cmp.Or(f.method, "GET"), f.path,
					field("User-Agent", cmp.Or(f.agent, lantern)), f.sent))
			to = fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n)
		}
		record("response", uri, at, "application/http; msgtype=response", to,
			fmt.Sprintf("HTTP/1.1 %d X\r\n%s\r\n%s", cmp.Or(f.status, 200), f.head, f.body))
		if f.took >= 0 {
			record("metadata", uri, at, "application/warc-fields", fmt.Sprintf("WARC-Concurrent-To: <urn:test:%d>\r\n", n),
				fmt.Sprintf("fetchTimeMs: %.3f\r\n%s", float64(cmp.Or(f.took, 100*time.Millisecond))/1e6, f.meta))
		}
	}
	path := filepath.Join(t.TempDir(), "other.warc")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func field(name, value string) string {
	if value == "none" {
		return ""
	}
	return name + ": " + value + "\r\n"
}

func judge(t testing.TB, all []fetch) *Result {
	t.Helper()
	files := []string{archive(t, all)}
	j := New(Published{})
	r, err := audit.Run(t.Context(), audit.Options{Files: files, TempDir: t.TempDir(), Witnesses: []audit.Witness{j}})
	require.NoError(t, err)
	return j.Conclude(r, nil)
}

func (r *Result) in(s State) string {
	var ids []string
	for _, c := range r.Clauses {
		if c.State == s {
			ids = append(ids, c.ID)
		}
	}
	return strings.Join(ids, " ")
}

func (r *Result) of(t testing.TB, id string) Judged {
	t.Helper()
	i := slices.IndexFunc(r.Clauses, func(c Judged) bool { return c.ID == id })
	require.GreaterOrEqualf(t, i, 0, "no clause %s", id)
	return r.Clauses[i]
}

func clause(id string) check {
	return clauses[slices.IndexFunc(clauses, func(c Clause) bool { return c.ID == id })].check
}
