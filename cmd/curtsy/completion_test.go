package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

// completed completes the last argument, as a shell does in a folder.
func completed(t *testing.T, place string, args ...string) (words []string, then int) {
	t.Helper()
	cmd := curtsy(t, append([]string{"__complete"}, args...)...)
	cmd.Dir = place
	r := ended(t, cmd)
	r.want(t, cli.ExitDone)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	then, err := strconv.Atoi(strings.TrimPrefix(lines[len(lines)-1], ":"))
	require.NoErrorf(t, err, "%q", r.out)
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	return words, then
}

// crawlsAtHand makes a folder with the crawls "news" and "new year", and other entries.
func crawlsAtHand(t *testing.T) (place string) {
	t.Helper()
	web := webOf(t, crawltest.Tree("bakery.test", 2), crawltest.Tree("library.test", 2))
	place = t.TempDir()
	in := func(name string) string { return filepath.Join(place, name) }
	inside(t, "crawl", "--quiet", "--delay", "0", "--max-pages", "1", "--dir", in("news"), web.LoopbackURL("bakery.test"), web.LoopbackURL("library.test")).want(t, cli.ExitDone)
	require.NoError(t, os.CopyFS(in("new year"), os.DirFS(in("news"))))
	require.NoError(t, os.MkdirAll(in("newer/old news"), 0o700))
	require.NoError(t, os.WriteFile(in("newest"), nil, 0o600))
	return place
}

// Every command with DIR as its first argument completes crawl directories, and no other does.
func TestCompletion_OffersCrawls(t *testing.T) {
	t.Parallel()
	place, n := crawlsAtHand(t), 0
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		words, then := completed(t, place, append(slices.Clone(path), "")...)
		takes := strings.Fields(strings.NewReplacer("[flags]", "", "[--json]", "").Replace(c.UseLine()))[1+len(path):]
		first := len(takes) > 0 && strings.HasPrefix(strings.TrimPrefix(takes[0], "["), "DIR")
		if offered := slices.Contains(words, "news"); offered != first {
			t.Errorf("%s: offers %q, then %d", c.UseLine(), words, then)
		}
		if first {
			n++
		}
	}
	assert.GreaterOrEqualf(t, n, 20, "only %d commands take a crawl directory", n)
}

// install-docs writes a page of each command, as --dry-run announces.
func TestInstallDocs_WritesListedFiles(t *testing.T) {
	t.Parallel()
	prefix := t.TempDir()
	printed := inside(t, "install-docs", "--dry-run", "--prefix", prefix)
	printed.want(t, cli.ExitDone)
	require.Empty(t, filesOf(t, prefix), "--dry-run wrote files")
	for range 2 { // its own files are replaced
		wrote := inside(t, "install-docs", "--prefix", prefix)
		wrote.want(t, cli.ExitDone)
		assert.Equalf(t, strings.ReplaceAll(printed.out, "would write", "wrote"), wrote.out, "it wrote other files than it listed")
	}
	const zsh = "share/zsh/site-functions/_curtsy"
	want := []string{"share/bash-completion/completions/curtsy", zsh, "share/fish/vendor_completions.d/curtsy.fish"}
	for _, c := range commands(t) {
		want = append(want, "share/man/man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	}
	got := filesOf(t, prefix)
	assert.ElementsMatch(t, want, slices.Collect(maps.Keys(got)))
	assert.Len(t, got, strings.Count(printed.out, "\n"), "lines")
	assert.Truef(t, strings.HasPrefix(got[zsh], "#compdef curtsy\n"), "%.40q", got[zsh])
}
