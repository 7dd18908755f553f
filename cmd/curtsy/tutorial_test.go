package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

// TestTutorials_ShowRealOutput runs the commands of the tutorials and of README's first section. Each prints the lines below it,
// in order. Commands below a heading "Next" request sites on the web and are not run.
func TestTutorials_ShowRealOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the tutorials, which crawl at the pace of the demo")
	}
	t.Parallel()
	tutorials(t, func(t *testing.T, _, _, _ string) { t.Skip("with the build tag peers") })
}

// tutorials runs the tutorials. sql runs a block of SQL in the folder of the tables.
func tutorials(t *testing.T, sql func(t *testing.T, tables, code, want string)) {
	t.Helper()
	skipWithout(t, "sh")
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	test, bin := "", t.TempDir()
	if test, err = filepath.Abs(os.Args[0]); err == nil {
		err = os.Symlink(test, filepath.Join(bin, "curtsy"))
	}
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "tutorial", "*.md"))
	require.NoError(t, err)
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text := fileOf(t, page)
			part, _, _ := strings.Cut(string(text), "\n## Next")
			part, _, _ = strings.Cut(part, "\n## Install\n") // of README
			dir, ran := t.TempDir(), 0
			for _, block := range codeBlock.FindAllStringSubmatch(part, -1) {
				if block[1] == "sql" {
					t.Run("DuckDB", func(t *testing.T) {
						sql(t, filepath.Join(dir, "tables"), block[2], block[3])
					})
					continue
				}
				for _, step := range strings.Split("\n"+block[2], "\n$ ")[1:] {
					command, want, _ := strings.Cut(step, "\n")
					command = strings.Replace(command, "go run ./cmd/curtsy", "curtsy", 1)
					if strings.HasPrefix(command, "go ") {
						continue
					}
					cmd := curtsy(t)
					cmd.Path, cmd.Args, cmd.Dir = sh, []string{"sh", "-c", command}, dir
					cmd.Env = append(cmd.Env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
						"HOME="+dir, "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "TMPDIR="+dir)
					out, err := cmd.CombinedOutput()
					assert.NoError(t, err, command)
					prints(t, command, string(out), want)
					ran++
				}
			}
			assert.NotEqual(t, 0, ran, "no command was run")
		})
	}
}

// codeBlock is a block of commands or SQL, and the block of text below it.
var codeBlock = regexp.MustCompile("(?s)```(console|sql)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?")

// varies matches the quoted parts of an output that vary from run to run.
var varies = regexp.MustCompile(`…|\d+\\\.\d+| +`)

// prints fails unless a command printed each line. An ellipsis matches any text, or any lines; a number with a decimal point any
// other.
func prints(t *testing.T, command, out, want string) {
	t.Helper()
	lines := strings.Split(out, "\n")
	for line := range strings.Lines(want) {
		if line = strings.TrimSpace(line); line == "" || line == "…" {
			continue
		}
		pattern := regexp.MustCompile("^" + varies.ReplaceAllStringFunc(regexp.QuoteMeta(line), func(s string) string {
			switch s[0] {
			case ' ':
				return " +"
			case "…"[0]:
				return ".*"
			}
			return `\d+\.\d+`
		}) + "$")
		for len(lines) > 0 && !pattern.MatchString(strings.TrimSpace(lines[0])) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			t.Errorf("%s: does not print %q:\n%s", command, line, out)
			return
		}
		lines = lines[1:]
	}
}

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
