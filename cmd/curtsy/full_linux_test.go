package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// onFullDisk makes files of a command end at so many blocks of 512 octets.
func onFullDisk(cmd *exec.Cmd, blocks int) *exec.Cmd {
	script := fmt.Sprintf(`trap "" XFSZ; ulimit -f %d; exec "$0" "$@"`, blocks)
	cmd.Args = append([]string{"sh", "-c", script}, cmd.Args...)
	cmd.Path = "/bin/sh"
	return cmd
}

// Half an entry is another entry, or a mistake over which the whole list is refused.
func TestOptOutAdd_OnAFullDiskAddsAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	list := filepath.Join(dir, crawldir.OptOutName)
	before := strings.Repeat("# a comment of 24 octets\n", 20)
	if err := os.WriteFile(list, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"optout", "add", dir}
	for i := range 40 {
		args = append(args, fmt.Sprintf("host%d.example.org", i))
	}
	ended(t, onFullDisk(curtsy(t, args...), 1)).want(t, cli.ExitFailed, "file too large")
	if b, err := os.ReadFile(list); err != nil || string(b) != before {
		t.Errorf("%q, %v", strings.TrimPrefix(string(b), before), err)
	}
}

func TestAFullDiskIsSaidOnceAndLeavesNothingBeside(t *testing.T) {
	t.Parallel()
	dir := unanswered(t)
	for _, how := range []string{"--compact", "--quiet"} {
		if how == "--quiet" {
			if err := spoilFrontier(inDir(dir, crawldir.FrontierName)); err != nil {
				t.Fatal(err)
			}
		}
		r := ended(t, onFullDisk(curtsy(t, "frontier", "repair", how, dir), 1))
		r.want(t, cli.ExitFailed, "file too large")
		if strings.Count(r.err, "file too large") != 1 {
			t.Errorf("said more than once: %s", r.err)
		}
	}
	r := ended(t, onFullDisk(curtsy(t, "crawl", "--dir", dir+"2", mute(t)), 1))
	r.want(t, cli.ExitFailed, "file too large")
	if strings.Count(r.err, "file too large") != 1 {
		t.Errorf("said more than once: %s", r.err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*.new*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "frontier.db?*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
