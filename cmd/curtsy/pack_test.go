package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

// unzipped is what a WACZ file holds.
func unzipped(t *testing.T, path string) map[string]string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		all[f.Name] = string(b)
	}
	return all
}

// crawledBakery is a finished crawl.
func crawledBakery(t *testing.T, flags ...string) (dir string) {
	t.Helper()
	seed, _ := small(t)
	dir = filepath.Join(t.TempDir(), "d")
	inside(t, append([]string{"crawl", "--delay", "0", "--quiet", "--dir", dir, seed}, flags...)...).want(t, cli.ExitDone)
	return dir
}

func TestPackHoldsArchiveIndexPagesLedgerAndReports(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t)
	for _, name := range []string{"report.html", "audit.json"} {
		if err := os.WriteFile(inDir(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "x.wacz")
	r := inside(t, "export", "--format", "wacz", "-o", file, "--description", "of *bread*", dir)
	r.want(t, cli.ExitDone, "packed 3 pages", "not signed") // each command of the test has a user of its own
	if r.out != "" {
		t.Errorf("standard output: %q", r.out)
	}
	all := unzipped(t, file)
	var names []string
	for name := range all {
		if name, ok := strings.CutPrefix(name, "ledger/"); ok && all["ledger/"+name] != "" {
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"archive/curtsy-00000.warc.gz", "datapackage-digest.json", "datapackage.json", "indexes/index.cdxj", "pages/pages.jsonl",
		"report/audit.json", "report/report.html",
	}
	if !slices.Equal(names, want) {
		t.Errorf("it holds %q", names)
	}
	if len(all) == len(want) {
		t.Error("there is no ledger")
	}
	if seeds := strings.Count(all["pages/pages.jsonl"], `"seed":true`); seeds != 1 {
		t.Errorf("%d seeds: %s", seeds, all["pages/pages.jsonl"])
	}
	var m struct{ Description, MainPageURL string }
	if err := json.Unmarshal([]byte(all["datapackage.json"]), &m); err != nil || m.Description != "of *bread*" || m.MainPageURL == "" {
		t.Errorf("%+v, %v", m, err)
	}
	again := filepath.Join(t.TempDir(), "y.wacz")
	inside(t, "export", "--format", "wacz", "-o", again, "--description", "of *bread*", dir).want(t, cli.ExitDone)
	one, _ := os.ReadFile(file)
	two, _ := os.ReadFile(again)
	if !bytes.Equal(one, two) {
		t.Error("packed again it is another file")
	}
	reopened(t, dir)
}

// What is in the file proves as much as the crawl directory: packed or unpacked, its archive is audited with its ledger.
func TestPackedCrawlCanBeAuditedByOthers(t *testing.T) {
	t.Parallel()
	file, folder := filepath.Join(t.TempDir(), "x.wacz"), filepath.Join(t.TempDir(), "x")
	inside(t, "export", "--format", "wacz", "-o", file, crawledBakery(t)).want(t, cli.ExitDone)
	r := clean(t, file)
	if p := r.Package; p == nil || !p.OK || p.Agree != p.Files || p.Files < 4 {
		t.Errorf("the package: %+v", p)
	}
	if r.Ledger == nil || r.Ledger.Agree == 0 || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals || r.Ledger.Dir != file+":ledger" {
		t.Errorf("its ledger: %+v", r.Ledger)
	}
	if len(r.Files) != 1 || r.Files[0].Name != file+":archive/curtsy-00000.warc.gz" {
		t.Errorf("its files: %+v", r.Files)
	}
	if text := text.Audit(r); !strings.Contains(text, "WACZ file: ") || !strings.Contains(text, "nobody signed the package") {
		t.Error(text)
	}
	for name, text := range unzipped(t, file) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if r := clean(t, folder); r.Ledger == nil || r.Ledger.Agree == 0 || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals {
		t.Errorf("its ledger: %+v", r.Ledger)
	}
}

func TestPackRefusesWhatItCannotPackAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t)
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", dir, "--tables", "pages").want(t, cli.ExitUsage, "not for --format wacz")
	inside(t, "export", "--title", "x", dir).want(t, cli.ExitUsage, "are for --format wacz")
	inside(t, "export", "--format", "wacz", dir, "-o", "x.zip").want(t, cli.ExitUsage, ".wacz")
	inside(t, "export", "--format", "wacz", t.TempDir(), "-o", file).want(t, cli.ExitUsage, "holds no crawl")
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone)
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitUsage, "exists")
	other := filepath.Join(t.TempDir(), "y.wacz")
	lines, err := filepath.Glob(filepath.Join(dir, crawldir.IndexName, "*.cdxj"))
	if err != nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	b, err := os.ReadFile(lines[0])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(b, []byte("\n"))
	if err := os.WriteFile(lines[0], rest, 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "export", "--format", "wacz", dir, "-o", other).want(t, cli.ExitFailed, "does not fit", "curtsy warc index "+dir)
	if err := os.RemoveAll(inDir(dir, crawldir.IndexName)); err != nil {
		t.Fatal(err)
	}
	inside(t, "export", "--format", "wacz", dir, "-o", other).want(t, cli.ExitFailed, "curtsy warc index "+dir)
	inside(t, "warc", "index", dir).want(t, cli.ExitDone)
	inside(t, "export", "--format", "wacz", dir, "-o", other).want(t, cli.ExitDone, "packed 3 pages")
}

func TestPackSaysThatACrawlIsNotFinished(t *testing.T) {
	t.Parallel()
	dir := crawledBakery(t, "--max-pages", "1")
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, "not finished", "still to go", "packed 1 page,")
	if text := unzipped(t, file)["datapackage.json"]; !strings.Contains(text, "The crawl is not finished") {
		t.Errorf("the manifest does not say it: %s", text)
	}
}

func TestPackRefusesARunningCrawl(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a crawl in another process")
	}
	web := crawltest.New(crawltest.Tree("bakery.test", 500))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	cmd := curtsy(t, "crawl", "--delay", "1s", "--quiet", "--dir", dir, web.LoopbackURL("bakery.test"))
	wait := begun(t, cmd)
	eventually(t, "a page was asked for", func() bool { return len(web.Referee().Requests()) > 1 })
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitFailed, "is running")
	if _, err := os.Lstat(file); err == nil {
		t.Error("there is a file all the same")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	wait()
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, "not finished")
}

// Politeness rule 19: bodies that an operator keeps for himself are not given away.
func TestRule19PackLeavesOutWhatKeepNoArchiveKept(t *testing.T) {
	t.Parallel()
	web := crawltest.New(&crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":       {Links: []string{"/secret"}},
		"/secret": {Body: `<title>Secret</title><meta name="robots" content="noarchive"><p>the sourdough of the house</p>`},
	}})
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--delay", "0", "--quiet", "--keep-noarchive", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	if !strings.Contains(archiveText(t, dir), "the sourdough of the house") {
		t.Fatal("the crawl kept nothing that could be left out")
	}
	file := filepath.Join(t.TempDir(), "x.wacz")
	inside(t, "export", "--format", "wacz", dir, "-o", file).want(t, cli.ExitDone, "ask not to be archived: 1 record", "packed 1 page,")
	all := unzipped(t, file)
	z := filepath.Join(t.TempDir(), crawldir.ArchiveName)
	if err := os.Mkdir(z, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(z, "a.warc.gz"), []byte(all["archive/curtsy-00000.warc.gz"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := archiveText(t, filepath.Dir(z)); strings.Contains(text, "the sourdough of the house") || !strings.Contains(text, "/secret HTTP/1.1") {
		t.Error("the body is in the WACZ, or its request is not")
	}
	if strings.Contains(all["indexes/index.cdxj"], "secret") || strings.Contains(all["pages/pages.jsonl"], "secret") {
		t.Error("index or pages name it")
	}
	// What is declared to be left out is not missed; the same without a declaration is.
	r := clean(t, file)
	if r.Package.LeftOut != 1 || r.Ledger.Agree != r.Ledger.Records+r.Ledger.Refusals || r.Totals.Unanswered != 0 {
		t.Errorf("%+v, %+v", r.Package, r.Ledger)
	}
	bare := filepath.Join(t.TempDir(), "a.warc.gz")
	if err := os.WriteFile(bare, []byte(all["archive/curtsy-00000.warc.gz"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, code := audited(t, bare); code != cli.ExitFound || len(violated(r)) != 1 || !strings.HasPrefix(violated(r)[0], "record") {
		t.Errorf("exit %d: %q", code, violated(r))
	}
}
