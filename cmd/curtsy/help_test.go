package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
)

func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(cli.Streams{}))
	require.GreaterOrEqual(t, len(all), 8, "commands")
	return all
}

// Each section of commands.md is of one command, and no command has two.
func TestHelp_TextsOfCommands(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("cli", "commands.md"))
	require.NoError(t, err)
	met := map[string]bool{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		usage, text, _ := strings.Cut(section, "\n")
		c, _, err := newRoot(cli.Streams{}).Find(strings.Fields(usage))
		require.NoError(t, err, usage)
		assert.Truef(t, c.HasParent() && strings.HasPrefix(text, c.Short+"\n") && !met[c.CommandPath()], "the section %q is of no command, or of one that has another", usage)
		met[c.CommandPath()] = true
	}
}

// TestHelp_Tree compares all help with testdata/help.txt, which CURTSY_UPDATE_SCRIPTS=1 go test ./cmd/curtsy -run TestHelp_Tree
// writes. Lines fit 80 columns. Each flag is in a group, and its help has the words that completion offers.
func TestHelp_Tree(t *testing.T) {
	t.Parallel()
	var tree strings.Builder
	words := 0
	for _, c := range commands(t) {
		help := "--help"
		if c.Flags().Lookup("help-all") != nil {
			help = "--help-all"
		}
		r := atHome(t, append(strings.Fields(c.CommandPath())[1:], help)...)
		r.want(t, cli.ExitDone)
		fmt.Fprintf(&tree, "== %s\n%s\n", c.CommandPath(), r.out)
		for line := range strings.Lines(r.out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Annotations[cli.GroupKey]; !ok && f.Name != "help" && f.Name != "help-all" && f.Name != "version" {
				t.Errorf("%s: --%s is in no group", c.CommandPath(), f.Name)
			}
			if !strings.Contains(r.out, "--"+f.Name+" ") && !strings.Contains(r.out, "--"+f.Name+"\n") {
				t.Errorf("%s: --%s is not there", c.CommandPath(), f.Name)
			}
			for _, w := range cli.WordsOf(f) {
				words++
				known := f.Name == "trap" || strings.Contains(f.Usage, strings.TrimSuffix(w, "="))
				assert.Truef(t, known, "%s --%s: %q is not in %q", c.CommandPath(), f.Name, w, f.Usage)
			}
			if name, _ := pflag.UnquoteUsage(f); name != strings.ToUpper(name) {
				t.Errorf("%s: --%s takes %q: name it", c.CommandPath(), f.Name, name)
			}
		})
	}
	assert.GreaterOrEqual(t, words, 80, "words of flags")
	golden := filepath.Join("testdata", "help.txt")
	if os.Getenv("CURTSY_UPDATE_SCRIPTS") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(tree.String()), 0o666))
	}
	want := fileOf(t, golden)
	assert.Equalf(t, string(want), tree.String(), "the help differs from %s: set CURTSY_UPDATE_SCRIPTS=1 to write it, and check what changed", golden)
}
