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

// takenDown makes a ledger of exchanges with the URLs of a text, in their order, of which those that end in ! are taken
// down. It returns what the witness says of each that is there, by URL. Of those that end in ? no line tells.
func takenDown(t *testing.T, urls string, killed bool) (w *Ledger, of map[string]pacing.Taken, es map[string]*evidence.Exchange) {
	t.Helper()
	var lines []storage.Line
	var r ledger.Redaction
	var kept []*evidence.Exchange
	r.Extent, r.Subject = ledger.ExtentAll, strings.Repeat("ab", 32)
	gone, now := map[string]bool{}, time.Now().UTC().Truncate(time.Microsecond)
	for i, word := range strings.Fields(urls) {
		url := "http://" + strings.TrimRight(word, "!?")
		e := asked(url, now.Add(time.Duration(i)*2*time.Second), 40*time.Millisecond, 200)
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
		book, err := ledger.Open(ledger.Options{Dir: dir, Signer: testSigner()})
		require.NoError(t, err)
		require.NoError(t, book.Redact(t.Context(), r))
		require.NoError(t, book.Close())
		require.NoError(t, ledger.Forget(dir, r.Entries))
	}
	w, err := Open(t.Context(), Options{Dir: dir, TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { w.all.Close() })
	of, es = map[string]pacing.Taken{}, map[string]*evidence.Exchange{}
	_ = w.Info(t.Context(), &evidence.Info{Place: finding.Place{File: "a.warc.gz"}, SHA256: infoOf("a.warc.gz")}, func(f finding.Finding) { t.Error(f) })
	for _, e := range kept {
		url := strings.TrimPrefix(e.URL, "http://")
		if of[url], es[url] = w.Taken(e), e; of[url] == (pacing.Taken{}) {
			delete(of, url)
		}
	}
	return w, of, es
}

// Stubs name no host. But a host of which no line is missing from the map lost none, and what was taken down lies between
// the lines where its stub stands.
func TestWhatWasTakenDownHasItsPlaceAndItsHost(t *testing.T) {
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

// What a kill kept from the ledger has no place there: it may have been anywhere among the last moments of its run.
func TestWhatWasTakenDownWithoutALineIsOfAKill(t *testing.T) {
	_, of, _ := takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", true)
	assert.Equal(t, (pacing.Taken{Before: 1, InAll: 1}), of["a.test/4"])
	_, of, _ = takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", false)
	assert.Equal(t, (pacing.Taken{InAll: 1}), of["a.test/4"], "of a run that was not killed")
}

// A pause that is told shorter than the records show is explained by what was taken down of that host about then.
func TestATakedownExplainsAPauseOfItsHostAlone(t *testing.T) {
	for urls, want := range map[string]bool{
		"a.test/1 a.test/2! a.test/3": true, "a.test/1 b.test/2! a.test/3": false, "a.test/1 refused.test/2! a.test/3": false,
		"a.test/1! b.test/1 b.test/2 b.test/3 b.test/4 b.test/5 b.test/6 a.test/2 a.test/3": false,
	} {
		w, _, es := takenDown(t, urls, false)
		e := es["a.test/3"]
		e.Since = e.Began.Add(-4 * time.Second)
		said := false
		w.hides(e, func(finding.Finding) { said = true })
		if said == want {
			t.Errorf("%s: explained %v", urls, !said)
		}
	}
	w, _, es := takenDown(t, "a.test/1 a.test/2 a.test/3!? a.test/4?", true)
	e := es["a.test/4"]
	e.Since = e.Began.Add(-4 * time.Second)
	w.hides(e, func(f finding.Finding) { t.Errorf("what a kill kept from the ledger: %+v", f) })
}
