package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
)

func TestRule18_IdentityOwnMakesItsKeyOnceForTheUserAlone(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	as := func(args ...string) result {
		cmd := curtsy(t, args...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config)
		return ended(t, cmd)
	}
	first := as("identity", "own", "WWW.Your-Domain.org.")
	first.want(t, cli.ExitDone, "https://www.your-domain.org"+crawler.OwnerPath, "--own-site www.your-domain.org")
	if again := as("identity", "own", "www.your-domain.org"); again.out != first.out || !strings.HasPrefix(first.out, "curtsy-owner=") {
		t.Errorf("%q, then %q", first.out, again.out)
	}
	if other := as("identity", "own", "your-domain.org"); other.out == first.out {
		t.Error("one value for two hosts")
	}
	var keys []string
	err := filepath.WalkDir(config, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == crawldir.OwnKey.Name {
			keys = append(keys, path)
		}
		if err == nil && strings.Contains(d.Name(), ".new") {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %q, %v", keys, err)
	}
	if fi, err := os.Stat(keys[0]); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
	if err := os.WriteFile(keys[0], []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	as("identity", "own", "www.your-domain.org").want(t, cli.ExitFailed, "is damaged")
}

// How much faster that is, is shown in virtual time; here, that the exchanges meet on real connections.
func TestRule18_PerHostOnRealConnections(t *testing.T) {
	t.Parallel()
	site := crawltest.Tree("bakery.test", 80)
	site.Latency = 60 * time.Millisecond
	web := crawltest.New(site)
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--per-host", "16", "--dir", dir, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	judged(t, web, crawltest.Rules{Width: 16})
	most, from := 0, map[string]bool{}
	all := web.Referee().Requests()
	for _, r := range all {
		n := 0
		for _, o := range all {
			if !o.Start.After(r.Start) && o.End.After(r.Start) {
				n++
			}
		}
		most = max(most, n)
		from[r.Remote] = true
	}
	if most < 4 || most > 16 {
		t.Errorf("at most %d in flight", most)
	}
	if len(from) > 24 {
		t.Errorf("%d connections for %d requests: they are kept for the next", len(from), len(all))
	}
	reopened(t, dir)
}
