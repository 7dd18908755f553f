//go:build peers

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
)

type tmux struct {
	t      *testing.T
	socket string
	env    []string
}

// newTmux starts a terminal with the environment of curtsy.
func newTmux(t *testing.T, columns, rows int) *tmux {
	t.Helper()
	skipWithout(t, "tmux")
	folder, err := os.MkdirTemp("", "tm") // a socket's path is short
	require.NoError(t, err)
	x := &tmux{t: t, socket: filepath.Join(folder, "s"), env: append(curtsy(t).Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8")}
	t.Cleanup(func() { os.RemoveAll(folder) })
	x.run("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "sh")
	x.types("PS1='ready> '")
	t.Cleanup(func() {
		cmd := exec.Command("tmux", "-S", x.socket, "kill-server")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("kill-server: %v: %s", err, out)
		}
	})
	return x
}

func (x *tmux) run(args ...string) string {
	x.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	cmd.Env = x.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (x *tmux) types(line string) { x.run("send-keys", "-l", line); x.run("send-keys", "Enter") }

// until waits until the screen shows all of these.
func (x *tmux) until(shows ...string) string {
	x.t.Helper()
	screen := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		screen = x.run("capture-pane", "-p")
		missing := false
		for _, s := range shows {
			missing = missing || !strings.Contains(strings.ReplaceAll(screen, "\n", ""), s)
		}
		if !missing {
			return screen
		}
	}
	x.t.Fatalf("the screen never showed %q:\n%s", shows, screen)
	return ""
}

// without waits until the screen does not show a text.
func (x *tmux) without(text string) {
	x.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if !strings.Contains(x.run("capture-pane", "-p"), text) {
			return
		}
	}
	x.t.Fatalf("the screen always shows %q", text)
}

// A crawl and status --watch on a real terminal that becomes narrower: Ctrl-Z and fg keep the line in place, Ctrl-C ends only the
// command, and the end is reported.
func TestPeers_StatusLineInTmux(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it watches a crawl for seconds")
	}
	web := webOf(t, crawltest.Tree("bakery.test", 999)) // too large for the crawl to finish
	dir := filepath.Join(t.TempDir(), "d")
	crawl, watch := newTmux(t, 160, 24), newTmux(t, 160, 24)
	command := func(args string) string { return "'" + os.Args[0] + "' " + args }
	crawl.types("clear; " + command("crawl --delay 1s --dir '"+dir+"' "+web.LoopbackURL("bakery.test")))
	crawl.until("pages/s", "pending")
	watch.types("clear; " + command("status --watch '"+dir+"'"))
	watch.until("of permitted")
	watch.run("send-keys", "C-c")
	watch.until("ready>")
	watch.types("clear; " + command("status --watch '"+dir+"'"))
	watch.without("ready>") // the shell's earlier output
	watch.until("of permitted")
	watch.run("send-keys", "C-z")
	watch.until("Stopped", "ready>")
	watch.types("clear; fg")
	watch.without("ready>")
	watch.until("of permitted")
	for _, x := range []*tmux{crawl, watch} {
		x.run("resize-window", "-x", "40", "-y", "24")
		x.until("fetched", "…")
	}
	watch.run("resize-window", "-x", "200", "-y", "50")
	crawl.run("send-keys", "C-c")
	end := watch.until("has ended")
	if !strings.Contains(end, "stopped") || !strings.Contains(strings.ReplaceAll(end, "\n", ""), "continue it with curtsy resume "+dir) {
		t.Errorf("the end:\n%s", end)
	}
	crawl.until("curtsy resume")
}
