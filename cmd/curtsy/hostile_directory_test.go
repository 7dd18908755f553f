//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// plantable are the names in a crawl directory that a command uses, except random ones.
// TestHostileDirectory_ListIsComplete checks the list.
var plantable = []string{
	"crawl.toml", "frontier.db", "frontier.db.new", "frontier.db.rebuilt", "frontier.db.update",
	"control.json", "control.json.new", "watch.json", "watch.json.new", "optout.txt", "bad-seeds.txt", "changes.json", "report.html", "report.json", "audit.json",
	"warc", "warc/curtsy-00000.warc.gz", "warc/curtsy-00001.warc.gz", "warc/curtsy-00001.warc.gz.open", "warc/curtsy-00001.warc.gz.cut",
	"warc/curtsy-00002.warc.gz.open", "warc/curtsy-00002.warc.gz",
	"ledger", "ledger/000000.jsonl", "ledger/000001.jsonl", "ledger/000000.jsonl.zst", "ledger/000000.jsonl.zst.new",
	"ledger/checkpoint", "ledger/checkpoints", "ledger/hosts.jsonl", "ledger/hosts.jsonl.new", "ledger/tile", "ledger/tile/0",
	"index", "index/originals", "index/curtsy-00000.cdxj", "index/curtsy-00000.cdxj.open", "index/curtsy-00000.cdxj.new",
	"index/curtsy-00001.cdxj", "index/curtsy-00001.cdxj.open", "index/curtsy-00001.cdxj.new",
	"index/curtsy-00002.cdxj", "index/curtsy-00002.cdxj.open", "index/curtsy-00002.cdxj.new",
	"spool", "mirror", "mirror.new", "mirror.old", "mirror.tmp", "mirror/mirror-map.jsonl", "mirror/missing.jsonl",
}

func commandsOn(dir, elsewhere, url string) [][]string {
	return [][]string{
		{"status", dir},
		{"audit", dir},
		{"audit", filepath.Join(dir, "warc")},
		{"report", dir},
		{"explain", dir, url},
		{"explain", "--at", "0s", dir, url},
		{"ledger", "checkpoint", dir},
		{"frontier", "ls", dir},
		{"frontier", "repair", "--dry-run", dir},
		{"frontier", "export", dir},
		{"frontier", "repair", "--compact", dir},
		{"frontier", "pause", "--host", "127.0.0.1", dir},
		{"frontier", "unpause", "--host", "127.0.0.1", dir},
		{"optout", "add", dir, "never.test"},
		{"optout", "list", dir},
		{"warc", "index", dir},
		{"resume", "--quiet", dir},
		{"update", "--quiet", dir},
		{"mirror", "rebuild", dir},
		{"mirror", "check", filepath.Join(dir, "mirror")},
		{"export", "--format", "wacz", "-o", filepath.Join(elsewhere, "x.wacz"), dir},
		{"frontier", "repair", dir},
		{"resume", "--quiet", "--max-pages", "1", dir},
	}
}

// kinds are hostile entries of a received directory. original is a copy, outside, of the file with that name.
var kinds = map[string]func(path, original string) error{
	"a link to a copy":  func(path, original string) error { return os.Symlink(original, path) },
	"a link to nothing": func(path, original string) error { return os.Symlink(original+".none", path) },
	"a hard link":       func(path, original string) error { return os.Link(original, path) },
	"a pipe":            func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
	"a device":          func(path, _ string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }, // /dev/zero
}

// A received crawl directory may have anything in place of its files. No command changes or makes a file outside, or hangs.
func TestHostileDirectory_StaysInside(t *testing.T) {
	if testing.Short() {
		t.Skip("it tries each command on each name")
	}
	amongOthers(t)
	whole, web := stopped(t)
	url := web.LoopbackURL("bakery.test")
	for k, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for n, name := range plantable {
				plantedUnder(t, whole, url, name, n+3*k, kinds[kind])
			}
		})
	}
}

// plantedUnder plants an entry in a copy of a crawl, and runs every 15th command from n on, or all in full size.
func plantedUnder(t *testing.T, whole, url, name string, n int, plant func(path, original string) error) {
	t.Helper()
	top := t.TempDir()
	dir, outside, elsewhere := filepath.Join(top, "dir"), filepath.Join(top, "outside"), filepath.Join(top, "elsewhere")
	require.NoError(t, errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Mkdir(outside, 0o777), os.Mkdir(elsewhere, 0o777)))
	defer os.RemoveAll(top)
	if !plantAt(t, dir, outside, name, plant) {
		return
	}
	before := contents(t, outside)
	for i, args := range commandsOn(dir, elsewhere, url) {
		if !full() && (i+n)%15 != 0 {
			continue
		}
		run := atHome                         // a command that hangs exceeds the time limit of the tests
		if slices.Contains(args, "--quiet") { // it crawls, and locks its host
			run = inside
		}
		if r := run(t, args...); r.code > 9 || r.code < 0 { // it was killed
			t.Errorf("%s: curtsy %s: exit %d", name, strings.Join(args, " "), r.code)
		}
		if after := contents(t, outside); after != before {
			t.Fatalf("%s: curtsy %s: outside there is now\n%s\nbefore\n%s", name, strings.Join(args, " "), after, before)
		}
	}
}

// plantAt replaces a name of dir by an entry. It returns false if that is not permitted.
func plantAt(t *testing.T, dir, outside, name string, plant func(path, original string) error) bool {
	t.Helper()
	path, original := filepath.Join(dir, name), filepath.Join(outside, filepath.Base(name))
	switch err := os.Rename(path, original); {
	case errors.Is(err, fs.ErrNotExist):
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(original, []byte("somebody's own\n"), 0o666)))
	case err != nil:
		t.Fatal(err)
	}
	err := plant(path, original)
	if errors.Is(err, fs.ErrPermission) { // hard links of folders, devices of mere users
		return false
	}
	require.NoError(t, err)
	return true
}

func contents(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			fmt.Fprintln(&all, path)
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %d %v %v %x\n", path, fi.Size(), fi.Mode(), fi.ModTime(), b)
		return err
	})
	require.NoError(t, err)
	return all.String()
}
