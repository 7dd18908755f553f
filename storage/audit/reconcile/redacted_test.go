package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
	"curtsy/storage/ledger"
)

func minute(n int) time.Time { return time.Date(2026, 5, 3, 12, n, 0, 0, time.UTC) }

func TestAMarkExplainsABodyAndNothingElse(t *testing.T) {
	const id, blocks = "urn:uuid:1", "b10c"
	line := storage.Line{Record: id, URL: "http://a.test/", Began: minute(0), Status: 200, Payload: "ab", Blocks: blocks, Heads: "4ead",
		Decision: storage.DecisionAllow, Octets: 100}
	changed := line
	changed.Payload, changed.Blocks = "", ""
	record := func() *evidence.Exchange {
		return &evidence.Exchange{URL: line.URL, Place: finding.Place{Record: id}, Began: line.Began, Status: 200, Answered: true, Octets: 40,
			Line: &changed, Cut: "unspecified", Blocks: "other", Heads: "4ead"}
	}
	mark := func(r ledger.Redaction) *ledger.Mark {
		return &ledger.Mark{Kind: ledger.KindRedaction, Time: minute(1), Redaction: &r}
	}
	bodies := ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: id, Blocks: blocks}}}
	for _, c := range []struct {
		what string
		mark *ledger.Mark
		do   func(l *storage.Line, e *evidence.Exchange)
		want bool
	}{
		{"as in the mark", mark(bodies), nil, true},
		{"no mark", &ledger.Mark{Kind: ledger.KindStop, Time: minute(1)}, nil, false},
		{"a mark of another record", mark(ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: "urn:uuid:2", Blocks: blocks}}}), nil, false},
		{"a mark of other blocks", mark(ledger.Redaction{Extent: ledger.ExtentBodies, Records: []ledger.RedactedRecord{{ID: id, Blocks: "x"}}}), nil, false},
		{"a mark that the record is gone", mark(ledger.Redaction{Extent: ledger.ExtentAll, Records: bodies.Records}), nil, false},
		{"another body in its place", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Cut, e.Payload = "", "sha256:cd" }, false},
		{"another head", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Heads = "5ead" }, false},
		{"another status", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Status = 404 }, false},
		{"another time", mark(bodies), func(_ *storage.Line, e *evidence.Exchange) { e.Began = minute(2) }, false},
		{"another line", mark(bodies), func(l *storage.Line, _ *evidence.Exchange) { l.Decision = storage.DecisionRobots }, false},
	} {
		var r redacted
		r.mark(c.mark)
		l, e := line, record()
		if c.do != nil {
			c.do(&l, e)
		}
		a, b := lineRow("segment 0 line 1", &l), recordRow(e)
		require.NotEmptyf(t, differences(&a, &b), "%s: nothing differs", c.what)
		assert.Equalf(t, c.want, r.body(&a, &b), "%s: explained (%s)", c.what, differences(&a, &b))
	}
}

func TestStubsAreOfTheTimeOfTheirNeighbours(t *testing.T) {
	var r redacted
	r.time(minute(10))
	r.pending = true
	r.time(minute(12))
	r.time(minute(20))
	for at, want := range map[int]bool{5: false, 10: true, 11: true, 12: true, 15: false, 20: false} {
		assert.Equalf(t, want, r.within(minute(at), minute(at)), "minute %d", at)
	}
	assert.True(t, r.within(minute(5), minute(11)) && !r.within(minute(13), minute(30)), "a stretch of time is not what it holds")
	var none redacted
	none.time(minute(1))
	assert.False(t, none.within(minute(0), minute(2)), "nothing was taken away")
}

func TestEachTakedownIsNamedOnce(t *testing.T) {
	var r redacted
	for i, subject := range []string{"a", "a", "b"} {
		r.mark(&ledger.Mark{Kind: ledger.KindRedaction, Time: minute(i), Redaction: &ledger.Redaction{Extent: ledger.ExtentAll,
			Subject: subject, Reason: "by mail", Records: make([]ledger.RedactedRecord, 2), Entries: make([]int64, 3)}})
	}
	var got []string
	r.report("ledger", func(f finding.Finding) {
		assert.Truef(t, f.Code == finding.TakenDown && f.Note, "%+v", f)
		got = append(got, f.Observed)
	})
	if len(got) != 2 || got[0] != `4 requests and 6 lines; the reason: "by mail"` || got[1] != `2 requests and 3 lines; the reason: "by mail"` {
		t.Errorf("%q", got)
	}
}

// takenDown makes a ledger of exchanges with the URLs of a text, in their order, of which those that end in ! are
// redacted. It returns the witness's counts for each that remains, by URL. Those that end in ? have no line.
func takenDown(t *testing.T, urls string, killed bool) (w *Ledger, of map[string]pacing.Taken, es map[string]*evidence.Exchange) {
	t.Helper()
	var lines []storage.Line
	var r ledger.Redaction
	var kept []*evidence.Exchange
	r.Extent, r.Subject = ledger.ExtentAll, strings.Repeat("ab", 32)
	gone, now := map[string]bool{}, time.Now().UTC().Truncate(time.Microsecond)
	for i, word := range strings.Fields(urls) {
		url := "http://" + strings.TrimRight(word, "!?")
		e := exchange(url, now.Add(time.Duration(i)*2*time.Second), 40*time.Millisecond, 200)
		l := storage.Line{Time: e.End(), URL: url, Decision: "allow", Attempt: 1, Began: e.Began, Took: e.Took, Status: 200,
			Outcome: "fetched", Record: e.Record, Gap: time.Second, Blocks: "b10c"}
		if strings.HasPrefix(url, "http://refused.test/") {
			l = storage.Line{Time: e.End(), URL: url, Decision: "disallow"}
		}
		blocks := l.Blocks
		if strings.Contains(word, "?") {
			blocks = ""
		} else {
			lines = append(lines, l)
		}
		e.Line = &l
		if strings.Contains(word, "!") {
			if gone[url] = true; l.Record != "" {
				r.Records = append(r.Records, ledger.RedactedRecord{ID: e.Record, Blocks: blocks})
			}
		} else if l.Record != "" {
			kept = append(kept, e)
		}
	}
	dir := written(t, killed, lines...)
	for p, err := range ledger.Places(dir) {
		require.NoError(t, err)
		if gone[p.Line.URL] {
			r.Entries = append(r.Entries, p.Index)
		}
	}
	if len(gone) > 0 {
		book, err := ledger.Open(ledger.Options{Dir: dir, Signer: signer(t, "me")})
		require.NoError(t, err)
		require.NoError(t, book.Redact(t.Context(), r))
		require.NoError(t, book.Close())
		require.NoError(t, ledger.Forget(dir, r.Entries))
	}
	w = witness(t, Options{Dir: dir})
	t.Cleanup(func() { w.all.Close() })
	of, es = map[string]pacing.Taken{}, map[string]*evidence.Exchange{}
	inform(t, w, "a.warc.gz")
	for _, e := range kept {
		url := strings.TrimPrefix(e.URL, "http://")
		if of[url], es[url] = w.Taken(e), e; of[url] == (pacing.Taken{}) {
			delete(of, url)
		}
	}
	return w, of, es
}

func TestTaken_HasPlaceAndHost(t *testing.T) {
	for urls, want := range map[string]map[string]pacing.Taken{
		"a.test/1 b.test/1 a.test/2 b.test/2":    {},
		"a.test/1 a.test/2! a.test/3 a.test/4":   {"a.test/1": {InAll: 1}, "a.test/3": {Before: 1, InAll: 1}, "a.test/4": {InAll: 1}},
		"a.test/1 b.test/1! a.test/2 b.test/2":   {"b.test/2": {Before: 1, InAll: 1}},
		"a.test/1 b.test/1! a.test/2! a.test/3!": {"a.test/1": {InAll: 2}},
		"a.test/1 b.test/1! b.test/2! a.test/2! a.test/3 b.test/3": {"a.test/1": {InAll: 1}, "a.test/3": {Before: 1, InAll: 1},
			"b.test/3": {Before: 2, InAll: 2}},
		"a.test/1! a.test/2 a.test:81/1 a.test/3":                    {"a.test/2": {Before: 1, InAll: 1}, "a.test:81/1": {Before: 1, InAll: 1}, "a.test/3": {InAll: 1}},
		"refused.test/1! a.test/1 a.test/2":                          {},
		"a.test/1 refused.test/1! a.test/2! refused.test/2 a.test/3": {"a.test/1": {InAll: 1}, "a.test/3": {Before: 1, InAll: 1}},
	} {
		_, of, _ := takenDown(t, urls, false)
		assert.Equalf(t, len(want), len(of), "%s: %+v", urls, of)
		for url, n := range want {
			assert.Equalf(t, n, of[url], "%s: of %s", urls, url)
		}
	}
}

func TestTaken_WithoutLineIsOfAKill(t *testing.T) {
	_, of, _ := takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", true)
	assert.Equal(t, (pacing.Taken{Before: 1, InAll: 1}), of["a.test/4"])
	_, of, _ = takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", false)
	assert.Equal(t, (pacing.Taken{InAll: 1}), of["a.test/4"], "of a run that was not killed")
}

func TestTaken_ExplainsDelaysOfItsHost(t *testing.T) {
	for urls, want := range map[string]bool{
		"a.test/1 a.test/2! a.test/3": true, "a.test/1 b.test/2! a.test/3": false, "a.test/1 refused.test/2! a.test/3": false,
		"a.test/1! b.test/1 b.test/2 b.test/3 b.test/4 b.test/5 b.test/6 a.test/2 a.test/3": false,
	} {
		w, _, es := takenDown(t, urls, false)
		e := es["a.test/3"]
		e.Since = e.Began.Add(-4 * time.Second)
		reported := false
		w.hides(e, func(finding.Finding) { reported = true })
		assert.NotEqualf(t, want, reported, "%s: explained", urls)
	}
	w, _, es := takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", true)
	e := es["a.test/4"]
	e.Since = e.Began.Add(-4 * time.Second)
	w.hides(e, func(f finding.Finding) { t.Errorf("lost from the ledger by a kill: %+v", f) })
}
