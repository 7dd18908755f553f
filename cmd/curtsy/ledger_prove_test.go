package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// While a crawl runs, its latest checkpoint is proven: lines behind it are not there yet.
func TestProvingWhileTheCrawlRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	book := inDir(dir, crawldir.LedgerName)
	if err := os.MkdirAll(book, 0o700); err != nil {
		t.Fatal(err)
	}
	w, err := ledger.Open(ledger.Options{Dir: book, Software: "curtsy/test"})
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		t.Helper()
		for i := range n {
			l := storage.Line{URL: fmt.Sprintf("http://a.example/%d", i), Decision: storage.DecisionRefuse, Reason: "scope:host"}
			if err := w.Append(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(5)
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(3)
	if err := w.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "a.zip")
	shared(t, "ledger", "prove", dir, "--host", "a.example", "-o", file).want(t, cli.ExitDone, "5 URLs not requested")
	if r := shared(t, "ledger", "verify", file); r.code != cli.ExitDone || !strings.Contains(r.out, "5 lines, and there are no others") {
		t.Errorf("%d\n%s", r.code, r.out)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
