package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/control"
)

// What a command was making when it was interrupted is not left behind, although what it read from had not ended.
func TestAnInterruptedCommandLeavesNothingHalfMade(t *testing.T) {
	t.Parallel()
	needsSignals(t)
	for name, c := range map[string]struct {
		args  []string // with standard input as the last
		begin string   // of what it reads
	}{
		"crawl":  {[]string{"crawl", "--dir", "new", "--seeds", "-"}, "garbage\nhttp://127.0.0.1:1/\n"},
		"import": {[]string{"frontier", "import", "new", "-"}, string(exported(t, unanswered(t)))[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd := curtsy(t, c.args...)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "TMPDIR="+dir)
			in, err := cmd.StdinPipe()
			must(t, err)
			wait := begun(t, cmd)
			if _, err := io.WriteString(in, c.begin); err != nil {
				t.Fatal(err)
			}
			eventually(t, "something is made", func() bool {
				entries, err := os.ReadDir(dir)
				return err == nil && len(entries) > 0
			})
			must(t, cmd.Process.Signal(syscall.SIGINT))
			wait().want(t, 130)
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// mute is a seed whose host takes each request and answers none.
func mute(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// unanswered is the directory of a crawl whose seed never answered.
func unanswered(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	inside(t, "crawl", "--dir", dir, "--max-wait", "1ms", mute(t)).want(t, cli.ExitIncomplete)
	return dir
}

// Whoever read standard output has gone, as in curtsy frontier ls … | head: the snapshot goes, too.
func TestAListThatNobodyReadsLeavesNoSnapshot(t *testing.T) {
	t.Parallel()
	dir, _, end := paced(t)
	for _, verb := range []string{"ls", "export"} {
		cmd := curtsy(t, "frontier", verb, dir)
		r, w, err := os.Pipe()
		must(t, err)
		r.Close()
		cmd.Stdout = w
		var said strings.Builder
		cmd.Stderr = &said
		err = cmd.Run()
		w.Close()
		if code := cmd.ProcessState.ExitCode(); code != 141 || said.Len() > 0 {
			t.Errorf("%s: %v, %q", verb, err, said.String())
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, control.SnapshotPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	end().want(t, 143)
}
