package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

const unit = "curtsy@.service"

// The first start makes the crawl, the next resumes it.
func TestTheUnitBeginsACrawlAndGoesOnWithIt(t *testing.T) {
	t.Parallel()
	skipWithout(t, "sh")
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	text := fileOf(t, filepath.Join("..", "..", "docs", "deploy", unit))
	m := regexp.MustCompile(`(?m)^ExecStart=/bin/sh -c '(.*)' %i$`).FindSubmatch(text)
	require.NotNil(t, m, "no such ExecStart")
	seed, _ := small(t)
	etc, place, bin := t.TempDir(), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"news.toml": "delay = \"0s\"\n", "news.seeds": seed + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(etc, name), []byte(text), 0o600))
	}
	test, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	if err := os.Symlink(test, filepath.Join(bin, "curtsy")); err != nil {
		t.Skip(err)
	}
	script := strings.ReplaceAll(string(m[1]), "/etc/curtsy/", etc+"/")
	for _, says := range []string{"everything in scope is done", "finished"} {
		cmd := curtsy(t)
		cmd.Path, cmd.Args, cmd.Dir = sh, []string{"sh", "-c", script, "news"}, place
		cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		ended(t, cmd).want(t, cli.ExitDone, says)
	}
}
