package main

import (
	"os"
	"path/filepath"
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
