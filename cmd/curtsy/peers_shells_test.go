//go:build peers

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/foreigntest"
)

// shelled runs a shell in a folder with crawls, and with a command curtsy that completes, and otherwise logs its arguments.
func shelled(t *testing.T, name string) (run func(input string, args ...string) string, said func() string, place string) {
	t.Helper()
	skipWithout(t, name, "script")
	shell, err := exec.LookPath(name)
	require.NoError(t, err)
	place = crawlsAtHand(t)
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	test, err := filepath.Abs(os.Args[0])
	require.NoError(t, err)
	script := "#!/bin/sh\ncase $1 in __complete*|completion) exec '" + test + "' \"$@\";; esac\nprintf '%s\\n' \"$@\" >'" + log + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "curtsy"), []byte(script), 0o700))
	run = func(input string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, shell, args...)
		if input != "" { // at a terminal, with keys
			line := shell
			for _, a := range args {
				line += " " + a
			}
			cmd = exec.CommandContext(ctx, "script", "-qec", line, "/dev/null")
			cmd.Stdin = strings.NewReader(input)
		}
		cmd.Dir = place
		cmd.Env = append(os.Environ(), asCurtsy+"=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
			"HOME="+bin, "XDG_CONFIG_HOME="+bin, "TERM=dumb", "PS1=$ ", "ZDOTDIR="+bin)
		out, err := cmd.CombinedOutput()
		require.NoErrorf(t, err, "%v: %v\n%s", cmd.Args, err, out)
		return string(out)
	}
	said = func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			return err.Error()
		}
		return strings.Join(strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"), "|")
	}
	return run, said, place
}

// Lines with the tab key, and the arguments that curtsy gets.
var typed = []struct{ keys, given string }{
	{"curtsy stat\tnews\n", "status|news"},
	{"curtsy status news\t\n", "status|news"},
	{"curtsy status new\\ \t\n", "status|new year"},
	{"curtsy crawl --scope dom\t x\n", "crawl|--scope|domain|x"},
	{"curtsy crawl --scope=dom\t x\n", "crawl|--scope=domain|x"},
	{"curtsy export --tables pages,dup\t\n", "export|--tables|pages,duplicates"},
}

// bash splits words at a colon and an equals sign, with the package bash-completion and without.
func TestPeers_CompletionInBash(t *testing.T) {
	t.Parallel()
	run, output, _ := shelled(t, "bash")
	begins := []string{"source <(curtsy completion bash)\n"}
	if foreigntest.HasCorpora() {
		begins = append(begins, ". "+foreigntest.Corpus(t, "bash-completion/bash_completion", "bash-completion")+"\n"+begins[0])
	}
	for _, begin := range begins {
		for _, tt := range typed {
			if out := run(begin+tt.keys+"exit\n", "--norc", "--noprofile", "-i"); output() != tt.given {
				t.Errorf("%q after %q: %q, want %q\n%s", tt.keys, begin, output(), tt.given, out)
			}
		}
	}
}

func TestPeers_CompletionInZsh(t *testing.T) {
	t.Parallel()
	run, output, _ := shelled(t, "zsh")
	for _, tt := range typed {
		if strings.Contains(tt.keys, `\ `) {
			continue // cobra's script for zsh does not support spaces
		}
		keys := "autoload -U compinit; compinit -u\nsource <(curtsy completion zsh)\n" + tt.keys + "exit\n"
		if out := run(keys, "-f", "-i"); output() != tt.given {
			t.Errorf("%q: %q, want %q\n%s", tt.keys, output(), tt.given, out)
		}
	}
}

func TestPeers_CompletionInFish(t *testing.T) {
	t.Parallel()
	run, _, _ := shelled(t, "fish")
	for line, want := range map[string]string{
		"curtsy stat":                      "status",
		"curtsy status news":               "news",
		"curtsy crawl --scope dom":         "domain",
		"curtsy crawl --scope=dom":         "--scope=domain",
		"curtsy export --tables pages,dup": "pages,duplicates",
	} {
		out := run("", "--no-config", "-c", "curtsy completion fish | source; complete -C '"+line+"'")
		assert.Truef(t, regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(want)+`(\t|$)`).MatchString(out), "%s: %q, want %q", line, out, want)
	}
}
