//go:build peers

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

// followed adds a log to a litewitness. Its own tool needs far more to build.
const followed = `
import base64, hashlib, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
root = base64.b64encode(hashlib.sha256(b'').digest()).decode()
db.execute('INSERT INTO log VALUES (?, 0, ?)', (sys.argv[2], root))
db.execute('INSERT INTO key VALUES (?, ?)', (sys.argv[2], sys.argv[3]))
db.commit()
`

var (
	foreignVkey    = regexp.MustCompile(`vkey=(\S+)`)
	foreignKeyHash = regexp.MustCompile(`SHA256:\S+`)
)

// litewitness (.ci/witness builds it) cosigns the ledger as it grows, and refuses its fork.
func TestPeers_LitewitnessCosignsLedger(t *testing.T) {
	t.Parallel()
	skipWithout(t, "litewitness", "ssh-agent", "ssh-add", "ssh-keygen", "python3")
	dir, err := os.MkdirTemp("", "w") // the path of a socket is short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, key, db := filepath.Join(dir, "s"), filepath.Join(dir, "k"), filepath.Join(dir, "w.db")
	do := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		out, err := cmd.CombinedOutput()
		require.NoErrorf(t, err, "%s %v: %v\n%s", name, args, err, out)
		return string(out)
	}
	do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	agent := launched(t, exec.Command("ssh-agent", "-D", "-a", socket))
	t.Cleanup(func() { agent.kill() })
	agent.until(t, "the agent answers", func() bool { return answers("unix", socket) })
	do("ssh-add", "-q", key)
	// No other test uses this address.
	listener, err := net.Listen("tcp", "127.0.0.3:0")
	require.NoError(t, err)
	at := listener.Addr().String()
	require.NoError(t, listener.Close())
	print := foreignKeyHash.FindString(do("ssh-keygen", "-lf", key+".pub"))
	foreign := launched(t, exec.Command("litewitness", "-listen", at, "-db", db, "-ssh-agent", socket, "-name", "foreign.test/w", "-key", print))
	t.Cleanup(func() { foreign.kill() })
	foreign.until(t, "that it listens", func() bool { return strings.Contains(foreign.errs.String(), "msg=listening") })
	vkey := foreignVkey.FindStringSubmatch(foreign.errs.String())
	if vkey == nil {
		t.Fatalf("it prints no key:\n%s", foreign.errs.String())
	}
	known, err := checkpoint.ParseKey(vkey[1])
	require.NoError(t, err)

	web := webOf(t, crawltest.Tree("bakery.test", 5))
	l := &lab{t: t, config: t.TempDir()}
	vkeyOurs := l.run("ledger", "key")
	vkeyOurs.want(t, cli.ExitDone)
	ours := filepath.Join(t.TempDir(), "d")
	l.run("crawl", "--quiet", "--delay", "0", "--dir", ours, web.LoopbackURL("bakery.test")).want(t, cli.ExitDone)
	latest := func() *checkpoint.Note {
		t.Helper()
		n, err := ledger.Latest(filepath.Join(ours, crawldir.LedgerName))
		require.NoError(t, err)
		return n
	}
	grow := func(dir string) {
		t.Helper()
		l.run("update", "--quiet", "--delay", "0", dir).want(t, cli.ExitDone)
	}
	do("python3", "-c", followed, db, latest().Origin, strings.TrimSpace(vkeyOurs.out))
	lodge := func(dir string) result {
		return l.run("ledger", "submit", "--witness", "http://"+at, "--witness-key", vkey[1], dir)
	}
	other := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(other, os.DirFS(ours)))
	for range 3 {
		lodge(ours).want(t, cli.ExitDone, "by foreign.test/w")
		n := latest()
		if _, cosigned := n.Cosigned(known); !cosigned {
			t.Errorf("it is\n%s", n.Marshal())
		}
		grow(ours)
	}
	unkept(t, l.config) // the copy continues only without the checkpoints of the other
	for range 4 {
		grow(other)
	}
	lodge(other).want(t, cli.ExitFailed, "it has seen another history")
	require.NoError(t, os.RemoveAll(filepath.Join(ours, crawldir.LedgerName, "tile")))
	unkept(t, l.config)
	lodge(ours).want(t, cli.ExitDone, "by foreign.test/w")
}
