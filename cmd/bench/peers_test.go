//go:build peers

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script writes a peer.
func script(t *testing.T, text string) string {
	t.Helper()
	if _, err := exec.LookPath("wget"); err != nil {
		require.Empty(t, os.Getenv("CURTSY_MUST_RUN"), err)
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "peer")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// A peer that hangs is stopped together with its children, listed with what it fetched, and not run again.
func TestPeers_BenchStopsAPeerThatHangs(t *testing.T) {
	t.Parallel()
	left := filepath.Join(t.TempDir(), "child")
	peer := script(t, "wget -q -O /dev/null $1\nsleep 1000 & echo $! >"+left+"\nwait")
	r := benched(t, "--pages", "20", "--rounds", "2", "--peer-limit", "8s", "--vs", peer+" {url}", "--vs", "wget")
	c := r.Contenders[1]
	if len(r.Contenders[0].Rounds) != 2 || len(c.Rounds) != 1 || !c.Stopped() || c.Rounds[0].Referee.Pages != 1 || c.Rounds[0].Wall > 60 {
		t.Errorf("%s: %+v", c.Name, c.Rounds)
	}
	if wget := r.Contenders[2].Rounds[0].Referee; wget.Pages != 20 || wget.Robots != 1 {
		t.Errorf("wget: %+v", wget)
	}
	var text strings.Builder
	require.NoError(t, r.writeText(&text))
	require.Contains(t, text.String(), "peer (stopped)")
	require.Regexp(t, "note: peer was stopped .* 1 of 20 pages", text.String())
	pid, err := os.ReadFile(left)
	require.NoError(t, err)
	if stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && strings.Contains(string(stat), "(sleep)") && !strings.Contains(string(stat), ") Z") {
		t.Errorf("a child of the peer still runs: %s", stat)
	}
}

func TestPeers_BenchMirrorHasAFilePerPage(t *testing.T) {
	t.Parallel()
	r := benched(t, "--setup", "mirror", "--pages", "40", "--vs", script(t, "exec wget -q -m -k -E -p -H -P $1 $2")+" {dir} {url}")
	for _, c := range r.Contenders {
		if f := c.Rounds[0]; f.Files < 40 || f.Referee.Pages != 40 {
			t.Errorf("%s: %+v", c.Name, f)
		}
	}
}
