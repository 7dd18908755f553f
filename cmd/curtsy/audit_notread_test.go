package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// What lies in the folder of a crawl's archive, or below it, and is not read is named: a WARC file is a violation, however
// it is called, and anything else a note.
func TestAuditNamesWhatItDidNotReadBesideTheArchive(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t)
	if r := clean(t, dir); r.Totals.Notes != 0 {
		t.Fatalf("a crawl as it is: %+v", r.Findings)
	}
	segment, err := os.ReadFile(filepath.Join(dir, "warc", "curtsy-00000.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(segment))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  []byte
		found bool
	}{
		"sub/x.warc.gz": {segment, true}, "curtsy-00001.bak": {segment, true}, "a/b/c": {plain.Bytes(), true}, "x.warc.zst": {[]byte("\x28\xb5\x2f\xfdx"), true},
		// as the crawl leaves them: a damaged tail, and what a kill left of an append
		"curtsy-00000.warc.gz.cut": {segment, false}, "curtsy.123456.spool": {segment, false},
		"sub/curtsy.123456.spool": {segment, true}, "curtsy-0.warc.gz.cut": {segment, true},
		"notes.txt": {[]byte("seen"), false}, "empty": {nil, false}, "a.gz": {[]byte("\x1f\x8bno"), false},
	} {
		path := filepath.Join(dir, "warc", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		r, exit := audited(t, dir)
		if (exit == cli.ExitFound) != c.found || len(r.Findings) != 1 || r.Findings[0].File != path || r.Findings[0].Note == c.found ||
			!strings.Contains(r.Findings[0].Observed, "not read") {
			t.Errorf("%s: exit code %d, %+v", name, exit, r.Findings)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
