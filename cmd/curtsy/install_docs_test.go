package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

// install-docs writes a page of each command, as --dry-run announces.
func TestInstallDocsWritesWhatItSays(t *testing.T) {
	t.Parallel()
	prefix := t.TempDir()
	said := inside(t, "install-docs", "--dry-run", "--prefix", prefix)
	said.want(t, cli.ExitDone)
	require.Empty(t, filesOf(t, prefix), "--dry-run wrote files")
	for range 2 { // its own files are replaced
		wrote := inside(t, "install-docs", "--prefix", prefix)
		wrote.want(t, cli.ExitDone)
		assert.Equalf(t, strings.ReplaceAll(said.out, "would write", "wrote"), wrote.out, "it wrote something else than it said")
	}
	const zsh = "share/zsh/site-functions/_curtsy"
	want := []string{"share/bash-completion/completions/curtsy", zsh, "share/fish/vendor_completions.d/curtsy.fish"}
	for _, c := range commands(t) {
		want = append(want, "share/man/man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	}
	got := filesOf(t, prefix)
	assert.ElementsMatch(t, want, slices.Collect(maps.Keys(got)))
	assert.Len(t, got, strings.Count(said.out, "\n"), "lines")
	assert.Truef(t, strings.HasPrefix(got[zsh], "#compdef curtsy\n"), "%.40q", got[zsh])
}
