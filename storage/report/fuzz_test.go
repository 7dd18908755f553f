package report_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/report"
)

// Any ledger has a report, whose JSON form can be written and whose page has no active elements.
func FuzzAnyLedgerHasAReport(f *testing.F) {
	var b []byte
	for _, l := range world()[:5] {
		b = append(l.AppendJSON(b), '\n')
	}
	f.Add(b, "")
	f.Add(b, "news.example")
	f.Add([]byte(`{"time":"9999-12-31T23:59:59.000000Z","url":"http://a/","decision":"allow","attempt":1,"began":"9999-12-31T23:59:59.000000Z","took_ms":9e6,"octets":9223372036854775807,"count":9223372036854775807,"gap_ms":0.0001,"pace_ms":0.00001,"pace_by":"x"}`+"\n"+
		`{"time":"0001-01-01T00:00:00.000000Z","url":"http://a/","decision":"allow","attempt":1,"began":"0001-01-01T00:00:00.000000Z","gap_ms":9000000000000,"pace_ms":-5,"pace_by":"address"}`+"\n"), "a")
	f.Fuzz(func(t *testing.T, b []byte, host string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "000000.jsonl"), b, 0o644))
		r, err := report.Make(t.Context(), report.Options{Dir: dir, Ledger: dir, WARC: filepath.Join(dir, "none"), Host: host, Now: start, MaxHosts: 3})
		if err != nil {
			require.NotEmpty(t, host, err)
			return
		}
		assert.NoError(t, r.WriteJSON(io.Discard))
		elements(t, render(t, r))
		tt := r.Totals
		assert.Truef(t, tt.Lines >= 0 && tt.Octets >= 0 && tt.Short <= tt.Gaps && tt.Exchanges <= tt.Lines, "%+v", tt)
		assert.False(t, bytes.Count(b, []byte("\n")) == 0 && r.Totals.Lines > 0, "decisions of a ledger without a whole line")
	})
}
