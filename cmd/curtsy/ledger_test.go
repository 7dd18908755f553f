package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
)

// ledgerCrawl crawls a small tree with config as the folder of the user's configuration.
func ledgerCrawl(t *testing.T, config, dir string, flags ...string) result {
	t.Helper()
	web := crawltest.New(crawltest.Tree("bakery.test", 5))
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	cmd := curtsy(t, append([]string{"crawl", "--delay", "0", "--dir", dir, web.LoopbackURL("bakery.test")}, flags...)...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config)
	return ended(t, cmd)
}

// wholeLedger fails on any problem of a crawl's ledger, and returns its last mark.
func wholeLedger(t *testing.T, dir string) (last *ledger.Mark) {
	t.Helper()
	for e, err := range ledger.Scan(inDir(dir, crawldir.LedgerName)) {
		if err != nil || e.Problem != nil {
			t.Fatal(e.Problem, err)
		}
		if e.Mark != nil {
			last = e.Mark
		}
	}
	return last
}

func TestLedgerHeadOfACrawl(t *testing.T) {
	t.Parallel()
	config, dir := t.TempDir(), filepath.Join(t.TempDir(), "d")
	ledgerCrawl(t, config, dir).want(t, cli.ExitDone)
	last := wholeLedger(t, dir)
	if last == nil || last.Kind != ledger.KindHosts {
		t.Fatalf("the last mark is %+v", last)
	}
	note, err := ledger.Latest(inDir(dir, crawldir.LedgerName))
	if err != nil || len(note.Signatures) != 1 {
		t.Fatal(note, err)
	}
	key := note.Signatures[0].Name
	r := ended(t, curtsy(t, "ledger", "checkpoint", dir))
	r.want(t, cli.ExitDone, "signed by "+key, fmt.Sprintf("%d:%x", note.Size, note.Root[:]), "curtsy audit --head")
	if r.out != string(note.Marshal()) {
		t.Errorf("printed %q, want %s", r.out, note.Marshal())
	}
	var got headJSON
	r2 := r
	r = ended(t, curtsy(t, "ledger", "checkpoint", "--json", dir))
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Size != note.Size || got.Origin != note.Origin || got.Note != r2.out || len(got.Signatures) != 1 {
		t.Errorf("%s: %v", r.out, err)
	}
	keys := 0
	err = filepath.WalkDir(config, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if d.Name() == crawldir.LedgerKey.Name {
			keys++
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, fi.Mode())
		}
		return err
	})
	if err != nil || keys != 1 {
		t.Errorf("%d keys, %v", keys, err)
	}
	second := filepath.Join(t.TempDir(), "d")
	ledgerCrawl(t, config, second).want(t, cli.ExitDone)
	if again, err := ledger.Latest(inDir(second, crawldir.LedgerName)); err != nil || again.Signatures[0].Name != key || again.Origin == note.Origin {
		t.Error("each crawl has a key of its own, or both are one log", err)
	}
	if err := os.RemoveAll(inDir(dir, crawldir.LedgerName)); err != nil {
		t.Fatal(err)
	}
	ended(t, curtsy(t, "ledger", "checkpoint", dir)).want(t, cli.ExitFailed, "is missing")
	if err := os.Mkdir(inDir(dir, crawldir.LedgerName), 0o755); err != nil {
		t.Fatal(err)
	}
	ended(t, curtsy(t, "ledger", "checkpoint", dir)).want(t, cli.ExitFailed, "has no checkpoint yet")
	ended(t, curtsy(t, "ledger", "checkpoint", t.TempDir())).want(t, cli.ExitUsage, "holds no crawl")
}

// A configuration folder that cannot be had, and a damaged key, cost the signature and not the crawl.
func TestLedgerWithoutAKeyIsUnsignedAndSaysSoOnce(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"no folder": nil,
		"damaged":   func(path string) error { return os.WriteFile(path, []byte("no key\n"), 0o600) },
		"no file":   func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			config, dir := "", filepath.Join(t.TempDir(), "d")
			if spoil != nil {
				config = t.TempDir()
				t.Setenv("XDG_CONFIG_HOME", config)
				t.Setenv("HOME", config)
				t.Setenv("AppData", config)
				path, err := crawldir.LedgerKey.Path()
				if err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := spoil(path); err != nil {
					t.Fatal(err)
				}
			}
			r := ledgerCrawl(t, config, dir)
			r.want(t, cli.ExitDone, "the checkpoints of the ledger are not signed")
			if n := strings.Count(r.err, "not signed"); n != 1 {
				t.Errorf("said %d times: %s", n, r.err)
			}
			wholeLedger(t, dir)
			if n, err := ledger.Latest(inDir(dir, crawldir.LedgerName)); err != nil || len(n.Signatures) != 0 {
				t.Errorf("%+v, %v", n, err)
			}
			ended(t, curtsy(t, "ledger", "checkpoint", dir)).want(t, cli.ExitDone, "not signed")
		})
	}
}
