package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/ledger"
)

// clean fails unless an audit finds nothing.
func clean(t *testing.T, args ...string) *audit.Result {
	t.Helper()
	r, exit := audited(t, args...)
	if exit != cli.ExitDone || !r.Clean {
		for _, f := range r.Findings {
			t.Errorf("%+v", f)
		}
		t.Fatalf("exit code %d, %+v", exit, r.Counts)
	}
	return r
}

// A kill may come before the first exchange: the ledger has begun, and there is nothing else. The audit judges that. Where
// the ledger tells of a file, or nothing tells that a crawl began, no archive is no clean one.
func TestAuditJudgesALedgerWithoutAnExchange(t *testing.T) {
	t.Parallel()
	told := func(w *ledger.Writer) error {
		return w.File(t.Context(), "warc/curtsy-00000.warc.gz", 1, strings.Repeat("0", 64))
	}
	for name, c := range map[string]struct {
		begin func(w *ledger.Writer) error // nil: nothing begins
		file  string                       // in the archive
		code  int
		says  string
	}{
		"it has begun":             {func(w *ledger.Writer) error { return w.Begin(t.Context()) }, "", cli.ExitDone, "0 requests"},
		"and so has a segment":     {func(w *ledger.Writer) error { return w.Begin(t.Context()) }, "curtsy-00000.warc.gz.open", cli.ExitDone, "0 requests"},
		"it tells of a file":       {told, "", cli.ExitFound, "file-missing"},
		"nothing has begun":        {nil, "", cli.ExitUsage, "holds no WARC file"},
		"another file is in there": {func(w *ledger.Writer) error { return w.Begin(t.Context()) }, "sub/x.warc.gz", cli.ExitDone, "x.warc.gz"},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		s := crawldir.Defaults()
		s.Contact = "https://bakery.test/crawler"
		seeds, err := crawldir.SeedURLs("http://127.0.0.1:9/")
		if err == nil {
			err = crawldir.Create(t.Context(), dir, &s, seeds)
		}
		if err == nil && c.begin != nil {
			var w *ledger.Writer
			if w, err = ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger")}); err == nil {
				err = errors.Join(c.begin(w), w.Close())
			}
		}
		if c.file != "" {
			path := filepath.Join(dir, "warc", c.file)
			err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := inside(t, "audit", dir); r.code != c.code || !strings.Contains(r.out+r.err, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", name, r.code, c.code, c.says, r.out, r.err)
		}
		if c.code != cli.ExitFailed {
			inside(t, "report", dir).want(t, cli.ExitDone)
		}
	}
}
