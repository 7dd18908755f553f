package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch/webbotauth"
)

const botAgent = "https://crawl.library.org"

// botKey is a user with a Web Bot Auth key, and the file of its directory.
func botKey(t *testing.T) (u *lab, path string) {
	t.Helper()
	u, path = &lab{t: t, config: t.TempDir()}, filepath.Join(t.TempDir(), "directory")
	u.run("identity", "keygen", "--signature-agent", botAgent, "-o", path).want(t, cli.ExitDone, "kept in ", botAgent+webbotauth.WellKnown)
	return u, path
}

func keysIn(t *testing.T, path string) *crawltest.Directory {
	t.Helper()
	b := fileOf(t, path)
	d, err := crawltest.ParseDirectory(b)
	require.NoError(t, err)
	return d
}

// Once there is a key, all requests are signed; a resumed crawl continues so, and the audit takes no signature for a credential.
func TestCrawlsAreSignedOnceThereIsAKey(t *testing.T) {
	t.Parallel()
	u, path := botKey(t)
	keys := keysIn(t, path)
	web := webOf(t, flagSite())
	seed, dir := web.LoopbackURL("bakery.test"), filepath.Join(t.TempDir(), "d")
	u.run("crawl", "--quiet", "--delay", "0", "--max-pages", "2", "--workers", "1", "--dir", dir, seed).want(t, cli.ExitDone)
	u.run("resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
	u.run("robots", "check", seed).want(t, cli.ExitDone)
	all := len(web.Referee().Requests())
	row := web.Referee().Judge(crawltest.Rules{Keys: keys, Partial: true}).Row(crawltest.Signatures)
	if row.Verdict != crawltest.Kept || row.Checked != all || all < 9 {
		t.Errorf("%s: %s; %d requests", row.Verdict, row.Evidence, all)
	}
	u.run("audit", dir).want(t, cli.ExitDone)
}
