package cbcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// A ledger that tells otherwise breaks the log of visits, and one that agrees is a better log than the archive.
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
		r.Counts[0].Found = 1 // a note alone
		assert.Equal(t, Kept, clause("visit-log")(f, r).state, code)
	}
}

// A check that the audit could not make leaves its clause not provable, and says why.
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

// The speed of a crawl that no site limited is shown, and neither kept nor broken: the draft has no number.
func TestSpeedWithoutALimitIsNotProvable(t *testing.T) {
	r := &audit.Result{Hosts: []*audit.Host{{Authority: "http://a.test", Gaps: 3, MinGap: 0.7}, {Authority: "http://b.test", Gaps: 3, MinGap: 0.2}}}
	got := clause("speed")(nil, r)
	if got.state != NotProvable || !strings.HasSuffix(got.evidence, "0.200 s (http://b.test)") {
		t.Errorf("%+v", got)
	}
}

// URLs beyond the bound are counted, and the evidence says that they were not followed.
func TestURLsBeyondTheBoundAreSaid(t *testing.T) {
	f := &New(Published{}).facts
	for i := range uint64(maxURLs) {
		f.visits[i] = visit{n: 1}
	}
	f.visit(&evidence.Exchange{URL: "http://bakery.test/"})
	if got := clause("re-crawl")(f, nil); len(f.visits) > maxURLs || f.lost != 1 || !strings.Contains(got.evidence, "1 request beyond") {
		t.Errorf("%d URLs, %+v", len(f.visits), got)
	}
}

// The owner of a host agrees to whatever its own crawl asks for.
func TestOwnHostsMayBeAskedAgain(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := &New(Published{}).facts
		for range 5 {
			f.visit(&evidence.Exchange{URL: "http://127.0.0.1/", Own: own, Answered: true, Status: 200, Began: day0})
		}
		assert.Equal(t, own, (clause("re-crawl")(f, nil).state == Kept), "own")
	}
}

// A link check goes on after errors of its operator's own hosts.
func TestOwnHostsMayBeAskedOnThoughTheyFail(t *testing.T) {
	for _, own := range []bool{false, true} {
		f := &facts{servers: map[string]*server{}}
		for i := range streakMin + 1 {
			f.server(&evidence.Exchange{Authority: "http://127.0.0.1", Own: own, Answered: true, Status: 500, Began: day0.Add(time.Duration(i) * time.Second)})
		}
		if got := len(f.pressed) > 0; got == own {
			t.Errorf("own %v: %+v", own, f.pressed)
		}
	}
}

// Requests without a User-Agent are counted among those that anybody could have sent.
func TestRequestsWithoutANameAreAnybodys(t *testing.T) {
	c := judge(t, more(fetch{at: later, path: "/oven", agent: "none"})).of(t, "unique-name")
	if c.State != Broken || c.Evidence != "1 request could be of another crawler; 1 without a User-Agent" {
		t.Errorf("%s, %s", c.State, c.Evidence)
	}
}

func TestTheURLOfAUserAgentEndsWhereItEnds(t *testing.T) {
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

// Whatever a file holds, examples are few and short.
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
