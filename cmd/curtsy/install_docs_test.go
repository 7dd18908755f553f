package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

// installed are the files below a folder, by their paths with slashes.
func installed(t *testing.T, prefix string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(prefix, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(prefix, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return err
	})
	require.NoError(t, err)
	return all
}

// There is a page of each command, and what is written is what was said before.
func TestInstallDocsWritesWhatItSays(t *testing.T) {
	t.Parallel()
	prefix := t.TempDir()
	said := inside(t, "install-docs", "--dry-run", "--prefix", prefix)
	said.want(t, cli.ExitDone)
	require.Empty(t, installed(t, prefix), "--dry-run wrote")
	for range 2 { // its own files are replaced
		wrote := inside(t, "install-docs", "--prefix", prefix)
		wrote.want(t, cli.ExitDone)
		assert.Equalf(t, strings.ReplaceAll(said.out, "would write", "wrote"), wrote.out, "it said %s and wrote", said.out)
	}
	got := installed(t, prefix)
	for _, want := range []string{"share/bash-completion/completions/curtsy", "share/zsh/site-functions/_curtsy", "share/fish/vendor_completions.d/curtsy.fish"} {
		assert.Contains(t, got, want, "is missing")
	}
	pages := commands(t)
	for _, c := range pages {
		assert.Contains(t, got, "share/man/man1/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1", "is missing")
	}
	if len(got) != len(pages)+3 || strings.Count(said.out, "\n") != len(got) {
		t.Errorf("%d files, %d commands, %d lines", len(got), len(pages), strings.Count(said.out, "\n"))
	}
	zsh, err := os.ReadFile(filepath.Join(prefix, "share", "zsh", "site-functions", "_curtsy"))
	if err != nil || !strings.HasPrefix(string(zsh), "#compdef curtsy\n") {
		t.Errorf("%.40q, %v", zsh, err)
	}
}
