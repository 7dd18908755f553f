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

// followed tells a litewitness of a log. Its own tool does it as well, and needs far more to be built.
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

// A witness of others (.ci/witness builds it) cosigns our ledger as it grows, and
// refuses its fork.
func TestPeers_LitewitnessCosignsLedger(t *testing.T) {
	t.Parallel()
	skipWithout(t, "litewitness", "ssh-agent", "ssh-add", "ssh-keygen", "python3")
	// The path of a socket is short.
	dir, err := os.MkdirTemp("", "w")
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
	// No other test uses this address, so that none takes the port meanwhile.
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
		t.Fatalf("it tells no key:\n%s", foreign.errs.String())
	}
	known, err := checkpoint.ParseKey(vkey[1])
	require.NoError(t, err)

	l := newLab(t)
	ours := filepath.Join(t.TempDir(), "d")
	l.crawl(ours)
	do("python3", "-c", followed, db, l.latest(ours).Origin, l.key)
	lodge := func(dir string) result {
		return l.run("ledger", "submit", "--witness", "http://"+at, "--witness-key", vkey[1], dir)
	}
	other := copied(t, ours)
	for range 3 {
		lodge(ours).want(t, cli.ExitDone, "by foreign.test/w")
		n := l.latest(ours)
		if _, cosigned := n.Cosigned(known); !cosigned {
			t.Errorf("it is\n%s", n.Marshal())
		}
		l.grow(ours)
	}
	unkept(t, l.config) // the copy goes on where nothing is known of the other
	for range 4 {
		l.grow(other)
	}
	lodge(other).want(t, cli.ExitFailed, "it has seen another history")
	require.NoError(t, os.RemoveAll(filepath.Join(ours, crawldir.LedgerName, "tile")))
	unkept(t, l.config)
	lodge(ours).want(t, cli.ExitDone, "by foreign.test/w")
}

// logLab is a user who crawls a small web and has a key.
type logLab struct {
	*lab

	seed, key string
}

func newLab(t *testing.T) *logLab {
	t.Helper()
	web := webOf(t, crawltest.Tree("bakery.test", 5))
	l := &logLab{lab: &lab{t: t, config: t.TempDir()}, seed: web.LoopbackURL("bakery.test")}
	r := l.run("ledger", "key")
	r.want(t, cli.ExitDone)
	l.key = strings.TrimSpace(r.out)
	return l
}

func (l *logLab) crawl(dir string) {
	l.t.Helper()
	l.run("crawl", "--quiet", "--delay", "0", "--dir", dir, l.seed).want(l.t, cli.ExitDone)
}

// grow adds lines to the ledger of a crawl.
func (l *logLab) grow(dir string) {
	l.t.Helper()
	l.run("update", "--quiet", "--delay", "0", dir).want(l.t, cli.ExitDone)
}

func (l *logLab) latest(dir string) *checkpoint.Note {
	l.t.Helper()
	n, err := ledger.Latest(filepath.Join(dir, crawldir.LedgerName))
	require.NoError(l.t, err)
	return n
}

func copied(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
