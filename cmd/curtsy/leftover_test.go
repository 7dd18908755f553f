package main

import (
	"os"
	"path/filepath"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// What a kill left of files that were being made is removed by the next command that holds the crawl; what another may
// want, such as a damaged frontier that was kept, is not.
func TestLeftOversOfAKillAreRemovedByTheNextCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"resume", "--quiet", "--max-pages", "0"}, {"frontier", "pause", "--host", "127.0.0.1"}, {"frontier", "repair"}} {
		dir, _ := stopped(t)
		gone := []string{"frontier.db.rebuilt.new123456", "frontier.db.new", "frontier.db.new77", "frontier-snapshot-abc.db", "frontier-snapshot-abc.db.1.part", ".crawl.toml.abcdefgh.new"}
		kept := []string{"frontier.db.damaged-20260101T000000Z", "frontier-old.db", "frontier.database"}
		for _, name := range append(gone, kept...) {
			if err := os.WriteFile(inDir(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		inside(t, append(args, dir)...).want(t, cli.ExitDone)
		for _, name := range gone {
			if name[0] == '.' && args[0] != "resume" { // who writes the settings anew
				continue
			}
			if _, err := os.Lstat(inDir(dir, name)); err == nil {
				t.Errorf("%v leaves %s", args, name)
			}
		}
		for _, name := range kept {
			if _, err := os.Lstat(inDir(dir, name)); err != nil {
				t.Errorf("%v: %v", args, err)
			}
		}
	}
}

// A pack that was killed leaves the file that it was writing; the next one of that name removes it.
func TestLeftOversOfAPackAreRemovedByTheNext(t *testing.T) {
	t.Parallel()
	dir, _ := stopped(t)
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(to, ".x.wacz.abcdefgh.new"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside(t, "export", "--format", "wacz", "-o", filepath.Join(to, "x.wacz"), dir).want(t, cli.ExitDone)
	if left, err := os.ReadDir(to); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
