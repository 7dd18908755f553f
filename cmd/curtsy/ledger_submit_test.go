package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/witness"
)

// lab is a user who crawls a small web and has a key.
type lab struct {
	t      *testing.T
	config string
	seed   string
	key    string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	web := crawltest.New(crawltest.Tree("bakery.test", 5))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	l := &lab{t: t, config: t.TempDir(), seed: web.LoopbackURL("bakery.test")}
	r := l.run("ledger", "key")
	r.want(t, cli.ExitDone)
	l.key = strings.TrimSpace(r.out)
	return l
}

// command is one in the configuration folder of the lab.
func (l *lab) command(args ...string) *exec.Cmd {
	l.t.Helper()
	cmd := curtsy(l.t, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+l.config, "HOME="+l.config, "AppData="+l.config)
	return cmd
}

func (l *lab) run(args ...string) result { l.t.Helper(); return ended(l.t, l.command(args...)) }

func (l *lab) crawl(dir string) {
	l.t.Helper()
	l.run("crawl", "--quiet", "--delay", "0", "--dir", dir, l.seed).want(l.t, cli.ExitDone)
}

// grow adds lines to the ledger of a crawl.
func (l *lab) grow(dir string) {
	l.t.Helper()
	l.run("update", "--quiet", "--delay", "0", dir).want(l.t, cli.ExitDone)
}

func (l *lab) latest(dir string) *checkpoint.Note {
	l.t.Helper()
	n, err := ledger.Latest(filepath.Join(dir, crawldir.LedgerName))
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// A lab has a witness cosign its crawls as they grow. A crawl that two people are shown with two histories is refused, and
// found by comparing.
func TestALabLodgesItsLedgersWithAWitness(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := filepath.Join(t.TempDir(), "d")
	l.crawl(dir)
	url, key := witnessed(t, l.key)
	lodge := func(dir string, more ...string) result {
		t.Helper()
		return l.run(append([]string{"ledger", "submit", "--witness", url, "--witness-key", key.Cosigner()}, append(more, dir)...)...)
	}
	cosigned := func(dir string) *checkpoint.Note {
		t.Helper()
		n := l.latest(dir)
		if cs := witness.Cosigners(n, []checkpoint.Key{key}); len(cs) != 1 {
			t.Fatalf("the latest checkpoint is\n%s", n.Marshal())
		}
		return n
	}

	r := lodge(dir)
	r.want(t, cli.ExitDone, url+": cosigned at ", "by "+key.Name())
	first := cosigned(dir)
	if r.out != string(first.Marshal()) {
		t.Errorf("it printed\n%s", r.out)
	}
	lodge(dir).want(t, cli.ExitDone)
	if again := cosigned(dir); string(again.Marshal()) != string(first.Marshal()) {
		t.Errorf("asked again it is\n%s", again.Marshal())
	}

	other := copied(t, dir)
	l.grow(dir)
	if l.latest(dir).Size <= first.Size {
		t.Fatal("it has not grown")
	}
	lodge(dir).want(t, cli.ExitDone, "cosigned")
	second := cosigned(dir)
	// The tiles are derived: without them the lines prove the same.
	l.grow(dir)
	if err := os.RemoveAll(filepath.Join(dir, crawldir.LedgerName, "tile")); err != nil {
		t.Fatal(err)
	}
	lodge(dir).want(t, cli.ExitDone, "cosigned")
	third := cosigned(dir)

	// The other copy goes on by itself, on a machine that knows nothing of this one: one ledger, two histories.
	unkept(t, l.config)
	l.grow(other)
	lodge(other).want(t, cli.ExitFailed, "1 of 1 did not confirm", url+": ")
	if cs := witness.Cosigners(l.latest(other), []checkpoint.Key{key}); len(cs) != 0 {
		t.Errorf("a fork is cosigned:\n%s", l.latest(other).Marshal())
	}
	for range 3 { // until it is longer, and the witness looks at its proof
		l.grow(other)
	}
	lodge(other).want(t, cli.ExitFailed, "it has seen another history", "curtsy ledger compare shows both")

	old := filepath.Join(t.TempDir(), "first")
	if err := os.WriteFile(old, first.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	middle := filepath.Join(t.TempDir(), "second")
	if err := os.WriteFile(middle, second.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	f, err := os.Create(bundle)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	member, err := z.Create("checkpoint")
	if err == nil {
		_, err = member.Write(second.Marshal())
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(t.TempDir(), "d")
	l.crawl(stranger)
	for _, tt := range []struct {
		a, b string
		code int
		want string
	}{
		{dir, dir, cli.ExitDone, "equal"},
		{dir, url, cli.ExitDone, "equal"},
		{url, url, cli.ExitUsage, "--origin"},
		{old, dir, cli.ExitDone, dir + " continues " + old},
		{dir, middle, cli.ExitDone, dir + " continues " + middle},
		{other, old, cli.ExitDone, other + " continues " + old},
		{bundle, middle, cli.ExitDone, "equal"},
		{bundle, filepath.Join(dir, crawldir.LedgerName), cli.ExitDone, " continues " + bundle},
		{bundle, other, cli.ExitFound, "FORK"},
		{middle, old, cli.ExitFailed, "not known"},
		{dir, other, cli.ExitFound, "FORK"},
		{other, middle, cli.ExitFound, "FORK"},
		{url, other, cli.ExitFound, "FORK"},
		{stranger, dir, cli.ExitFailed, "two ledgers"},
		{stranger, url, cli.ExitFailed, "no checkpoint of this log"},
	} {
		r := l.run("ledger", "compare", "--key", l.key, tt.a, tt.b)
		r.want(t, tt.code, tt.want)
		if fork := tt.code == cli.ExitFound; fork != (strings.Count(r.out, first.Origin) == 2) || strings.Contains(r.err, "NOT signed") {
			t.Errorf("compare %s %s printed %q and said %s", tt.a, tt.b, r.out, r.err)
		}
	}
	l.run("ledger", "compare", "--origin", first.Origin, url, url).want(t, cli.ExitDone, "equal")
	r = l.run("ledger", "compare", "--json", "--key", l.key, dir, other)
	r.want(t, cli.ExitFound)
	var got comparedJSON
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Relation != witness.Fork || got.Common == nil || *got.Common != first.Size ||
		got.Views[0].Size != third.Size || got.Views[0].Signed == nil || !*got.Views[0].Signed {
		t.Errorf("%s\n%v, want that they part behind line %d", r.out, err, first.Size)
	}
}

// Each that is asked says its part. One that fails hides no other.
func TestWhatEachOfThoseAskedSaysIsPrinted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	dir := filepath.Join(t.TempDir(), "d")
	l.crawl(dir)
	url, key := witnessed(t, l.key)
	deaf, wrong := witnessed(t, "")
	dead := deadPort(t)
	r := l.run("ledger", "submit", "--json", "--witness", dead, "--witness", deaf, "--witness", url, "--witness-key", key.String(), dir)
	r.want(t, cli.ExitFailed, "2 of 3 did not confirm", dead+": ", deaf+": it does not follow this log", url+": cosigned at ")
	var got lodgedJSON
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Answers) != 3 {
		t.Fatalf("%s: %v", r.out, err)
	}
	for i, ok := range []bool{false, false, true} {
		if a := got.Answers[i]; (a.Error == "") != ok || (a.Time != nil) != ok || (a.By != "") != ok {
			t.Errorf("%+v", a)
		}
	}
	n := l.latest(dir)
	if len(witness.Cosigners(n, []checkpoint.Key{key})) != 1 {
		t.Fatalf("%s", n.Marshal())
	}
	r = l.run("audit", "--key", l.key, "--witness-key", key.Cosigner(), dir)
	if r.want(t, cli.ExitDone); !strings.Contains(r.out, key.Name()) {
		t.Errorf("the audit says\n%s", r.out)
	}
	// A witness with another key than those given confirms nothing.
	l.run("ledger", "submit", "--witness", url, "--witness-key", wrong.String(), dir).want(t, cli.ExitFailed, "by none of the keys given")
	if again := l.latest(dir); string(again.Marshal()) != string(n.Marshal()) {
		t.Errorf("it is now\n%s", again.Marshal())
	}
}

func TestALedgerWithoutAKeyIsNotCosigned(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	config := t.TempDir()
	folder, err := os.ReadDir(l.config)
	if err != nil || len(folder) == 0 {
		t.Fatal(err)
	}
	// A folder in the place of the key: it cannot be made.
	err = filepath.WalkDir(l.config, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != crawldir.LedgerKey.Name {
			return err
		}
		rel, err := filepath.Rel(l.config, path)
		if err != nil {
			return err
		}
		return os.MkdirAll(filepath.Join(config, rel), 0o700)
	})
	if err != nil {
		t.Fatal(err)
	}
	l.config = config
	dir := filepath.Join(t.TempDir(), "d")
	l.crawl(dir)
	url, key := witnessed(t, "")
	l.run("ledger", "submit", "--witness", url, "--witness-key", key.String(), dir).want(t, cli.ExitFailed, "the ledger is not signed")
}
