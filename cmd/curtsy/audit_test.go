package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
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

// What nginx itself logged of a crawl confirms it, to the request.
func TestAuditIsConfirmedByTheLogOfNginx(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"robots.txt": "User-agent: *\nDisallow: /no/\n",
		"index.html": `<a href="a.html">a</a> <a href="gone.html">b</a> <a href="/no/x.html">c</a> <a href="q%22&quot;.html?x=%5C">d</a>`,
		"a.html":     "a",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := serveFiles(t, root)
	dir := filepath.Join(t.TempDir(), "d")
	ended(t, curtsy(t, "crawl", "--delay", "0", "--quiet", "--dir", dir, "http://"+s.addr+"/")).want(t, cli.ExitDone)
	log := filepath.Join(filepath.Dir(s.log), "combined.log")
	r := clean(t, "--access-log", log, dir)
	if r.Level != audit.ConfirmedByLog || r.Logs[0].Agree != 5 || r.Logs[0].Extra+r.Logs[0].Missing+r.Logs[0].Outside != 0 {
		b, _ := os.ReadFile(log)
		t.Errorf("%s %+v\n%s", r.Level, r.Logs[0], b)
	}
	req, err := http.NewRequest(http.MethodGet, "http://"+s.addr+"/no/x.html", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "Mozilla/5.0")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	clean(t, "--access-log", "127.0.0.1="+log, dir) // another client, as far as its name tells
	namedBy(t, finding.LogExtra, "--access-log", "127.0.0.1="+log, "--from", "127.0.0.1", dir)
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
