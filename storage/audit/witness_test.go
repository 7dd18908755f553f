package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

type diary struct {
	b    strings.Builder
	fail error
}

func (d *diary) Exchange(_ context.Context, e *evidence.Exchange, found finding.Report) error {
	decision := "untold"
	if e.Line != nil {
		decision = string(e.Line.Decision)
	}
	fmt.Fprintf(&d.b, "%s %s %d robots=%v ended=%v %s %v\n", e.Method, e.URL, e.Status, e.Robots, e.Ended, decision, e.Took)
	if e.Status == 404 {
		found(finding.Finding{Code: finding.LogMissing, Authority: e.Authority, URL: e.URL, Required: "r", Observed: "o"})
	}
	return d.fail
}

func (d *diary) Refused(_ context.Context, l *storage.Line, at finding.Place, _ finding.Report) error {
	fmt.Fprintf(&d.b, "refused %s %s in a record: %v\n", l.URL, l.Decision, at.Record != "")
	return nil
}

func (d *diary) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	fmt.Fprintf(&d.b, "info %s %v\n", in.Token, in.Floor)
	return nil
}

func (d *diary) Close(_ context.Context, r *Result, found finding.Report) error {
	found(finding.Finding{Code: finding.CrashInFlight, Note: true, Required: "r", Observed: "o"})
	r.Level = ConfirmedByLog
	return nil
}

func TestWitnessSeesTheArchiveAndItsFindingsCount(t *testing.T) {
	a := ours(t)
	a.add(fetch{url: site + "/robots.txt", body: rule, meta: "decision: robots\r\n"})
	a.add(fetch{url: site + "/a", at: 2 * s, status: 404, meta: "none"})
	l := storage.Line{Time: day0, URL: site + "/b", Decision: "refuse"}
	a.record("metadata", "", day0.Add(4*s), "Content-Type: application/warc-fields", "refusal: "+string(l.AppendJSON(nil))+"\n")
	a.add(fetch{url: site + "/c", at: 6 * s, status: -1})
	d := &diary{}
	r := a.audit(Options{Witnesses: []Witness{d}})
	want := `info Lantern 1s
GET https://bakery.test/robots.txt 200 robots=true ended=true robots 100ms
GET https://bakery.test/a 404 robots=false ended=false untold 0s
refused https://bakery.test/b refuse in a record: true
GET https://bakery.test/c 0 robots=false ended=true  100ms
`
	assert.Equal(t, want, d.b.String())
	if codes(r) != "record log-missing crash-in-flight" || r.Totals.Violations != 2 || // an exchange has no metadata
		r.Totals.Notes != 1 || r.Level != ConfirmedByLog || r.Hosts[0].Violations != 2 {
		t.Errorf("%q, %+v", codes(r), r.Totals)
	}
	d.fail = errors.New("the witness left")
	_, err := Run(t.Context(), Options{Files: []string{a.file()}, TempDir: t.TempDir(), Witnesses: []Witness{d}})
	assert.ErrorIs(t, err, d.fail)
}

func TestAudit_CancelledReturnsError(t *testing.T) {
	a := ours(t)
	a.robots(rule)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Run(ctx, Options{Files: []string{a.file()}, TempDir: t.TempDir()})
	assert.Truef(t, r == nil && errors.Is(err, context.Canceled), "%v, %v", r, err)
}

// takedowns has the targets before which something was redacted, and how much.
type takedowns struct {
	idle
	before map[string]int
	all    int
}

func (t takedowns) Taken(e *evidence.Exchange) pacing.Taken {
	return pacing.Taken{Before: t.before[e.Target], InAll: t.all}
}

type step struct {
	pause, first time.Duration
	head         string
	pace         time.Duration
	by           storage.PaceBy
}

func TestAudit_RedactedResponsesMaySetDelay(t *testing.T) {
	const fast, late = s / 10, 2 * s
	first := step{first: fast}
	floor := func(pause, first time.Duration, head string) step {
		return step{pause, first, head, s, storage.ByFloor}
	}
	before := func(target string, n, all int) takedowns {
		return takedowns{before: map[string]int{target: n}, all: all}
	}
	for name, c := range map[string]struct {
		rules      string
		steps      []step // robots.txt, /1, /2, …
		gone       takedowns
		want       string
		unprovable int64
	}{
		"answers that were fast":  {steps: []step{{first: late}, floor(s, fast, ""), floor(s, fast, "")}, gone: before("/1", 2, 2), unprovable: 2},
		"nothing was taken down":  {steps: []step{{first: late}, floor(10*s, fast, ""), floor(s, fast, "")}, want: "gap gap-told"},
		"of the host nothing was": {steps: []step{{first: late}, floor(10*s, fast, ""), floor(s, fast, "")}, gone: before("/1", 3, 0), want: "gap gap-told"},
		"one, and all that are there are slow": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: before("/2", 1, 1), want: "gap gap-told"},
		"three of the last five": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: before("/2", 3, 3), unprovable: 1},
		"in three places, and one in all": {steps: []step{{first: late}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, {10 * s, late, "", 10 * s, storage.ByResponseTime}, floor(s, fast, "")},
			gone: takedowns{before: map[string]int{"/1": 3, "/2": 3, "/3": 3}, all: 1}, want: "gap gap-told"},
		"answers that were slow":           {steps: []step{first, {10 * s, fast, "", 10 * s, storage.ByResponseTime}}, gone: before("/1", 2, 2)},
		"answers that were slow, and none": {steps: []step{first, {10 * s, fast, "", 10 * s, storage.ByResponseTime}}, want: "gap-told"},
		"a shorter RateLimit":              {steps: []step{{first: fast, head: fiveSeconds}, floor(2*s, fast, "")}, gone: before("/1", 1, 1), unprovable: 1},
		"a longer RateLimit, for a while": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRateLimit}, {7 * s, fast, "", 7 * s, storage.ByRateLimit}},
			gone: before("/1", 1, 1)},
		"a longer RateLimit, and none": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRateLimit}}, want: "gap-told"},
		"a RateLimit behind it binds":  {steps: []step{first, floor(s, fast, fiveSeconds), floor(s, fast, "")}, gone: before("/1", 1, 1), want: "gap gap-told"},
		"and is known": {steps: []step{first, {7 * s, fast, fiveSeconds, 7 * s, storage.ByRateLimit}, {7 * s, fast, "", 7 * s, storage.ByRateLimit}},
			gone: before("/1", 1, 1), want: "gap-told"},
		"a Retry-After": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}}, gone: before("/1", 1, 1)},
		"a Retry-After, and later none": {steps: []step{first, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}, {7 * s, fast, "", 7 * s, storage.ByRetryAfter}},
			gone: before("/1", 1, 1), want: "gap-told"},
		"the floor":   {steps: []step{first, floor(s/2, fast, "")}, gone: before("/1", 3, 3), want: "gap"},
		"Crawl-delay": {rules: "User-agent: *\nCrawl-delay: 5\n", steps: []step{first, floor(2*s, fast, "")}, gone: before("/1", 3, 3), want: "gap gap-told"},
		"a Crawl-delay that was read for another host": {steps: []step{first, {9 * s, fast, "", 9 * s, storage.ByCrawlDelay}}, gone: before("/1", 1, 1)},
		"a Crawl-delay of no robots.txt":               {steps: []step{first, {9 * s, fast, "", 9 * s, storage.ByCrawlDelay}}, want: "gap-told"},
	} {
		a, at := ours(t), time.Duration(0)
		for i, x := range c.steps {
			at += x.pause
			f := answered("/"+string(rune('0'+i)), at, x.first, "")
			if f.head = x.head; i == 0 {
				f.url, f.body = site+"/robots.txt", c.rules
			} else {
				f.meta += saysPace(x.pace, x.by)
			}
			a.add(f)
			at += f.took
		}
		r := a.audit(Options{Witnesses: []Witness{c.gone}})
		if codes(r) != c.want || r.Totals.Unprovable != c.unprovable {
			t.Errorf("%s: found %q, want %q; %d unprovable%s", name, codes(r), c.want, r.Totals.Unprovable, shown(r))
		}
	}
}

func TestFleet_Together(t *testing.T) {
	t.Parallel()
	member := func(at ...time.Duration) *archive {
		a := ours(t)
		for i, at := range at {
			f := fetch{url: site + "/", at: at}
			if i == 0 {
				f.url, f.body = site+"/robots.txt", rule
			}
			a.add(f)
		}
		return a
	}
	const ms = time.Millisecond
	a, err := canon.ParseAuthority(site)
	require.NoError(t, err)
	slot := []int{a.Slot()}
	// marks has w1 own the site until 4.5 s of the server's clock and w2 from 5 s on, whose clock is 5 s behind.
	given := true
	marks := func(f *Fleet) {
		at := func(d, behind time.Duration) Notice {
			return Notice{Server: day0.Add(d), Asked: day0.Add(d - behind - 5*ms), Time: day0.Add(d - behind + 5*ms)}
		}
		took, gave, took2 := at(-s, 0), at(4500*ms, 0), at(5*s, 5*s)
		took.Taken, took2.Taken = slot, slot
		if given {
			gave.Given = slot
		}
		f.Notice("w1", took)
		f.Notice("w1", gave)
		f.Notice("w2", took2)
		f.Missing = []string{"w3"}
	}
	expired := func(f *Fleet) {
		given = false
		marks(f)
		given = true
	}
	frozen := ours(t)
	frozen.add(fetch{url: site + "/robots.txt", body: rule})
	frozen.add(fetch{url: site + "/", at: 2 * s, took: 5 * s})
	for _, tt := range []struct {
		name          string
		first, second *archive
		codes         string
		marks         func(f *Fleet)
	}{
		{"a hand-over", member(0, 2*s, 4*s), member(5100*ms, 7*s), "", nil},
		{"there and back", member(0, 2*s, 20*s, 22*s), member(10*s, 12*s), "", nil},
		{"within the delay", member(0, 2*s, 4*s), member(4500*ms, 7*s), "gap", nil},
		{"a page within the delay", member(0, 2*s, 9*s), member(4*s, 8500*ms), "gap", nil},
		{"at one time", member(0, 2*s, 4*s), member(4050*ms, 7*s), "in-flight", nil},
		{"between two", member(0, 1500*ms, 3*s), member(2300 * ms), "in-flight", nil},
		{"another clock", member(0, 2*s, 4*s), member(150*ms, 2*s), "member-missing", marks},
		{"200 ms earlier", member(0, 2*s, 4*s), member(-50*ms, 2*s), "gap member-missing owner", marks},
		{"200 ms later", member(0, 2*s, 4200*ms), member(150*ms, 2*s), "gap member-missing", marks},
		{"after it was given", member(0, 2*s, 4700*ms), member(2*s, 4*s), "member-missing owner", marks},
		{"read late", frozen, member(1100*ms, 3*s), "member-missing", expired},
		{"read late, and within the delay", frozen, member(900*ms, 3*s), "gap member-missing", expired},
		{"before it was taken", member(0, 2*s), member(-500*ms, 2*s), "member-missing owner", marks},
	} {
		for _, order := range [][2]*archive{{tt.first, tt.second}, {tt.second, tt.first}} {
			var f Fleet
			var all string
			if tt.marks != nil {
				tt.marks(&f)
			}
			for i, a := range order {
				r := a.audit(Options{})
				assert.Truef(t, r.Clean, "%s: member %d separately: %s", tt.name, i, shown(r))
				f.Member, f.Last = map[*archive]string{tt.first: "w1", tt.second: "w2"}[a], i == 1
				all += " " + codes(a.audit(Options{Witnesses: []Witness{&f}}))
			}
			found := strings.Fields(all)
			slices.Sort(found)
			assert.Equal(t, tt.codes, strings.Join(found, " "), tt.name)
		}
	}
}

func TestEachCodeHasItsJudge(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "audit-findings.md"))
	require.NoError(t, err)
	judged := map[finding.Code]bool{finding.Digest: true} // which package evidence checks
	for _, f := range families {
		assert.Truef(t, f.name != "" && f.by != "" && f.judge != nil, "a family without name, documents or judge: %+v", f)
		for _, c := range f.codes {
			judged[c] = true
			assert.Containsf(t, string(doc), "\n| `"+string(c)+"` |", "docs/reference/audit-findings.md has no row for %s", c)
		}
	}
	for _, c := range finding.Codes() {
		if beside := c == finding.LedgerLines; beside { // with which the findings of witnesses begin
			break
		}
		assert.Truef(t, judged[c], "no judge reports %s", c)
	}
}
