package audit

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/finding"
)

// members writes each record of a WARC as a gzip member of its own: text is cut before every line that begins with WARC/.
func members(text []byte) []byte {
	var b bytes.Buffer
	for len(text) > 0 {
		n := bytes.Index(text[1:], []byte("WARC/1."))
		part := text
		if n >= 0 {
			part = text[:n+1]
		}
		z, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		z.Write(part) // a bytes.Buffer never fails
		z.Close()
		text = text[len(part):]
	}
	return b.Bytes()
}

// Whatever the octets: the audit ends, its result is whole and bounded, and what it counts agrees with what it shows.
func FuzzAudit(f *testing.F) {
	for i, c := range judgedArchives(f) {
		a, _ := c.made(f)
		if i%3 > 0 || a.b.Len() > 8<<10 {
			continue
		}
		z, err := gzip.NewReader(&a.b)
		require.NoError(f, err)
		text, err := io.ReadAll(z)
		require.NoError(f, err)
		f.Add(text, int64(0))
		f.Add(text, int64(time.Second))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, floor int64) {
		path := filepath.Join(t.TempDir(), "fuzz.warc.gz")
		require.NoError(t, os.WriteFile(path, members(text), 0o600))
		const limit = 5
		r, err := Run(t.Context(), Options{Files: []string{path}, TempDir: dir, Floor: time.Duration(floor), Limit: limit})
		if err != nil {
			require.Nil(t, r, "a result and an error")
			return
		}
		check(t, r, limit)
	})
}

// check holds a result against itself.
func check(t *testing.T, r *Result, limit int) {
	t.Helper()
	found, kept := int64(0), int64(0)
	per := map[string]int{}
	for _, c := range r.Counts {
		if found, kept = found+c.Found, kept+c.Kept; !slices.Contains(finding.Codes(), c.Code) {
			t.Fatalf("the code %q is in no list", c.Code)
		}
	}
	for _, f := range r.Findings {
		if per[string(f.Code)+f.Authority]++; per[string(f.Code)+f.Authority] > limit && len(f.Authority) < finding.MaxText {
			t.Fatalf("more than %d findings of %s at %s", limit, f.Code, f.Authority)
		}
		if max(len(f.URL), len(f.Required), len(f.Observed), len(f.Record)) > finding.MaxText+8 || f.Required == "" || f.Observed == "" {
			t.Fatalf("a finding that is empty or too long: %+v", f)
		}
	}
	if found != r.Totals.Violations+r.Totals.Notes || kept != int64(len(r.Findings)) || r.Clean != (r.Totals.Violations == 0) {
		t.Fatalf("counts %+v, totals %+v, %d findings", r.Counts, r.Totals, len(r.Findings))
	}
	unproved, pages := int64(0), int64(0)
	for _, h := range r.Hosts {
		unproved, pages = unproved+h.Unprovable, pages+h.Pages+h.Robots
	}
	if unproved != r.Totals.Unprovable || pages != r.Totals.Exchanges {
		t.Fatalf("hosts have %d unprovable and %d exchanges, totals say %+v", unproved, pages, r.Totals)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
}
