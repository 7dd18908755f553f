package reconcile

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
)

// A line that an opt-out list decided names one that was in force: by the run's warcinfo record, its mark, or a mark of a
// change. Of several lists that changed nobody can tell.
func TestLinesNameOptOutListsThatWereInForce(t *testing.T) {
	digest := func(c string) string { return strings.Repeat(c, 64) }
	several := listsDigest([]string{digest("a"), digest("b")})
	for name, c := range map[string]struct {
		mark, change string   // of the run, and while it went on
		told         []string // by the warcinfo record
		named        string
		want         string
	}{
		"none is named":               {mark: digest("a"), told: []string{digest("a")}},
		"the one that was in force":   {mark: digest("a"), told: []string{digest("a")}, named: digest("a")},
		"the one it became":           {mark: digest("a"), told: []string{digest("a")}, change: digest("b"), named: digest("b")},
		"the one before it changed":   {mark: digest("a"), told: []string{digest("a")}, change: digest("b"), named: digest("a")},
		"another":                     {mark: digest("a"), told: []string{digest("a")}, named: digest("c"), want: "opt-outs"},
		"there was none":              {named: digest("c"), want: "opt-outs"},
		"one of several":              {mark: several, told: []string{digest("a"), digest("b")}, named: digest("b")},
		"none of several":             {mark: several, told: []string{digest("a"), digest("b")}, named: digest("c"), want: "opt-outs"},
		"one of several that changed": {mark: several, told: []string{digest("a"), digest("b")}, change: digest("e"), named: digest("c")},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		w, err := ledger.Open(ledger.Options{Dir: dir, Warcinfo: infoOf("a.warc.gz"), OptOutsSHA256: c.mark})
		require.NoError(t, err)
		require.NoError(t, w.Begin(t.Context()))
		if c.change != "" {
			require.NoError(t, w.OptOuts(t.Context(), c.change, 3))
		}
		refused := storage.Line{Time: time.Now().Truncate(time.Microsecond), URL: "http://a.test/", Decision: storage.DecisionRefuse, List: c.named}
		require.NoError(t, w.Append(t.Context(), refused))
		require.NoError(t, w.Close())
		l, err := Open(t.Context(), Options{Dir: dir, TempDir: t.TempDir()})
		require.NoError(t, err)
		in := &evidence.Info{Place: finding.Place{File: "a.warc.gz"}, SHA256: infoOf("a.warc.gz")}
		for _, s := range c.told {
			in.Fields = append(in.Fields, [2]string{"opt-out-sha256", s})
		}
		fail := func(f finding.Finding) { t.Errorf("%s: %+v", name, f) }
		require.NoError(t, l.Info(t.Context(), in, fail))
		require.NoError(t, l.Refused(t.Context(), &refused, in.Place, fail))
		if _, found := witnessed(t, l); codesOf(found) != c.want {
			t.Errorf("%s: %q, want %q: %+v", name, codesOf(found), c.want, found)
		}
	}
}
