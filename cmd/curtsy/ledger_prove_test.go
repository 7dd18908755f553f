package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/proof"
)

// accessLogOf writes what the server of a crawl would have logged, by its ledger.
func accessLogOf(t *testing.T, dir string) string {
	t.Helper()
	var log strings.Builder
	for l, err := range ledger.Read(inDir(dir, crawldir.LedgerName)) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Record != "" {
			_, target, _ := strings.Cut(strings.SplitN(l.URL, "://", 2)[1], "/")
			fmt.Fprintf(&log, "127.0.0.1 - - [%s] \"GET /%s HTTP/1.1\" %d %d \"-\" \"curtsy/%s\"\n",
				l.Began.Add(l.Took).Format("02/Jan/2006:15:04:05 -0700"), target, l.Status, l.Octets, crawldir.Version)
		}
	}
	path := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A crawl is proven to the owner of a site: by the key that ledger key prints, with the site's access log, and by the
// verifier in Python.
func TestACrawlIsProvenToTheOwnerOfASite(t *testing.T) {
	t.Parallel()
	config, base := t.TempDir(), t.TempDir()
	dir, file, key := filepath.Join(base, "d"), filepath.Join(base, "site.zip"), filepath.Join(base, "key")
	ledgerCrawl(t, config, dir).want(t, cli.ExitDone)
	cmd := curtsy(t, "ledger", "key")
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config)
	printed := ended(t, cmd)
	printed.want(t, cli.ExitDone)
	if err := os.WriteFile(key, []byte(printed.out), 0o600); err != nil {
		t.Fatal(err)
	}
	ended(t, curtsy(t, "ledger", "prove", dir, "--host", "127.0.0.1", "-o", file)).want(t, cli.ExitDone, "6 requests", "curtsy ledger verify")
	r := ended(t, curtsy(t, "ledger", "verify", "--key", key, "--access-log", accessLogOf(t, dir), file))
	r.want(t, cli.ExitDone)
	for _, says := range []string{"The proof of 127.0.0.1 holds.", "confirmed by the site's own access log", "which you know", "and there are no others"} {
		if !strings.Contains(r.out, says) {
			t.Errorf("the text lacks %q:\n%s", says, r.out)
		}
	}
	for line := range strings.Lines(r.out) {
		if len([]rune(line)) > 81 && strings.Count(strings.TrimSpace(line), " ") > 0 {
			t.Errorf("a line is too wide: %q", line)
		}
	}
	var got proof.Result
	r = ended(t, curtsy(t, "ledger", "verify", "--json", "--key", strings.TrimSpace(printed.out), file))
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || !got.Holds || got.Level != proof.Signed || got.Heads.NotThere != 0 ||
		got.Heads.Unprovable != 0 || got.Robots.Unprovable != 0 || got.Heads.Right != got.Summary.Exchanges {
		t.Errorf("%+v, %v", got, err)
	}
	if python, err := exec.LookPath("python3"); err == nil {
		out, err := exec.Command(python, filepath.Join("..", "..", "docs", "verify.py"), "--key", key, file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "the proof holds") {
			t.Errorf("verify.py: %v\n%s", err, out)
		}
	}
	// The log of a server that was asked for more refutes the lines.
	log := accessLogOf(t, dir)
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	middle := strings.SplitAfter(string(b), "\n")[2]
	if err := os.WriteFile(log, []byte(string(b)+strings.Replace(middle, "GET /", "GET /secret/", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := ended(t, curtsy(t, "ledger", "verify", "--access-log", log, file)); r.code != cli.ExitFound || !strings.Contains(r.out, "log-extra") {
		t.Errorf("%d\n%s", r.code, r.out)
	}
}

// A host that was never met is proven absent; what is asked for in a wrong way is said.
func TestProvingInOtherWays(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	base := t.TempDir()
	dir, file := filepath.Join(base, "d"), filepath.Join(base, "absent.zip")
	shared(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	shared(t, "ledger", "prove", dir, "--host", "https://Nobody.example:8443/x", "-o", file).want(t, cli.ExitDone, "no line of nobody.example")
	if r := shared(t, "ledger", "verify", file); r.code != cli.ExitDone || !strings.Contains(r.out, "none: the log has no line of this host") {
		t.Errorf("%d\n%s\n%s", r.code, r.out, r.err)
	}
	shared(t, "ledger", "prove", dir, "--host", "nobody.example", "-o", file).want(t, cli.ExitUsage, "exists")
	shared(t, "ledger", "prove", dir, "-o", filepath.Join(base, "x.zip")).want(t, cli.ExitUsage, "--host NAME")
	shared(t, "ledger", "prove", dir, "--host", "a b", "-o", filepath.Join(base, "x.zip")).want(t, cli.ExitUsage, "is no host")
	shared(t, "ledger", "prove", base, "--host", "a.example", "-o", filepath.Join(base, "x.zip")).want(t, cli.ExitUsage, "holds no crawl")
	shared(t, "ledger", "verify", file, "--key", "none").want(t, cli.ExitUsage, "no verifier key")
	shared(t, "ledger", "verify", file, "--key", "").want(t, cli.ExitUsage, "--key is empty")
	shared(t, "ledger", "verify", inDir(dir, crawldir.ConfigName)).want(t, cli.ExitFailed, "no ZIP file")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b[:len(b)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	shared(t, "ledger", "verify", file).want(t, cli.ExitFailed, "cut off")
}

// Torn tiles, and a torn map of hosts, are made anew from the lines, and said; lines that were changed are refused, and the
// audit is named.
func TestProvingFromADamagedLedger(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	base := t.TempDir()
	dir := filepath.Join(base, "d")
	shared(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	prove := func(name string, code int, says ...string) []byte {
		t.Helper()
		file := filepath.Join(base, name)
		shared(t, "ledger", "prove", dir, "--host", "127.0.0.1", "-o", file).want(t, code, says...)
		b, err := os.ReadFile(file)
		if (err == nil) != (code == cli.ExitDone) {
			t.Fatal(err)
		}
		return b
	}
	whole := prove("whole.zip", cli.ExitDone)
	book := inDir(dir, crawldir.LedgerName)
	if err := os.RemoveAll(filepath.Join(book, "tile")); err != nil {
		t.Fatal(err)
	}
	if b := prove("tiles.zip", cli.ExitDone, "computed anew from its lines"); string(b) != string(whole) {
		t.Error("without tiles the bundle is another")
	}
	if err := os.WriteFile(filepath.Join(book, ledger.HostsName), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b := prove("hosts.zip", cli.ExitDone, ledger.HostsName); string(b) != string(whole) {
		t.Error("without the map of hosts the bundle is another")
	}
	lines := filepath.Join(book, "000000.jsonl")
	b, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(b), `"status":200`, `"status":404`, 1)
	if changed == string(b) {
		t.Fatal("nothing was changed")
	}
	if err := os.WriteFile(lines, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	prove("changed.zip", cli.ExitFailed, "does not fit its checkpoint", "curtsy audit ")
}

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
