package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
)

func sha256Of(t *testing.T, path string) (digest string, octets int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), int64(len(b))
}

// The ledger of a crawl binds its settings, its opt-out list, and each finished file of archive and index as it is.
func TestTheLedgerOfACrawlBindsSettingsAndFiles(t *testing.T) {
	t.Parallel()
	config, dir := t.TempDir(), filepath.Join(t.TempDir(), "d")
	list := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(list, []byte("never.test\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ledgerCrawl(t, config, dir, "--opt-out", list).want(t, cli.ExitDone)
	settings, _ := sha256Of(t, inDir(dir, crawldir.ConfigName))
	optOuts, _ := sha256Of(t, list)
	named := map[string]bool{}
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		if err != nil || e.Problem != nil {
			t.Fatal(e.Problem, err)
		}
		m := e.Mark
		switch {
		case m == nil:
		case m.Kind == ledger.KindRun:
			if m.Settings != settings || m.OptOuts != optOuts || m.Warcinfo == "" || m.Killed || m.ClockBack != 0 {
				t.Errorf("%+v", m)
			}
		case m.Kind == ledger.KindFile:
			named[m.Name] = true
			if digest, n := sha256Of(t, inDir(dir, filepath.FromSlash(m.Name))); m.SHA256 != digest || m.Octets != n {
				t.Errorf("%+v, and it has %d octets of the digest %s", m, n, digest)
			}
		}
	}
	for _, folder := range []string{crawldir.ArchiveName, crawldir.IndexName} {
		files, err := os.ReadDir(inDir(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if whole := strings.HasSuffix(f.Name(), ".warc.gz") || strings.HasSuffix(f.Name(), ".cdxj"); whole && !named[folder+"/"+f.Name()] {
				t.Errorf("%s/%s is not told: %v", folder, f.Name(), named)
			}
		}
	}
	if len(named) < 2 {
		t.Errorf("%v", named)
	}
}

// A key that gave its place to another between two runs is no fault of the ledger: the rotation stands in it.
func TestARotationOfTheKeyStandsInTheLedger(t *testing.T) {
	t.Parallel()
	config, dir := t.TempDir(), filepath.Join(t.TempDir(), "d")
	ledgerCrawl(t, config, dir, "--max-pages", "2").want(t, cli.ExitDone)
	before, err := ledger.Latest(inDir(dir, crawldir.LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ledger", "key", "--rotate"}, {"ledger", "key", "--rotate"}, {"resume", "--max-pages", "1", dir}} {
		cmd := curtsy(t, args...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config)
		if r := ended(t, cmd); r.code != cli.ExitDone && r.code != cli.ExitFailed {
			t.Fatalf("%q: %+v", args, r)
		}
	}
	rotations := 0
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		if err != nil || e.Problem != nil {
			t.Fatal(e.Problem, err)
		}
		if e.Mark != nil && e.Mark.Kind == ledger.KindKey {
			rotations++
		}
	}
	after, err := ledger.Latest(inDir(dir, crawldir.LedgerName))
	if err != nil || rotations != 2 || after.Size <= before.Size || after.Origin != before.Origin || after.Signatures[0].Name == before.Signatures[0].Name {
		t.Errorf("%d rotations; %+v and then %+v, %v", rotations, before, after, err)
	}
}
