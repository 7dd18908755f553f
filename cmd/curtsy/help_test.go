package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

// commands are all commands that help shows.
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
	if len(all) < 8 {
		t.Fatalf("%d commands", len(all))
	}
	return all
}

func TestHelpFitsATerminalAndExplainsEveryFlagInAGroup(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		r := inside(t, append(path, mostHelp(c))...)
		r.want(t, cli.ExitDone)
		for line := range strings.Lines(r.out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(r.out, "--"+f.Name+" ") && !strings.Contains(r.out, "--"+f.Name+"\n") {
				t.Errorf("%s: --%s is not there", c.CommandPath(), f.Name)
			}
			if _, ok := f.Annotations[cli.GroupKey]; !ok && f.Name != "help" && f.Name != "help-all" && f.Name != "version" {
				t.Errorf("%s: --%s is in no group", c.CommandPath(), f.Name)
			}
		})
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() && !strings.Contains(r.out, "Usage:\n  curtsy ") {
			t.Errorf("%s: no usage line:\n%s", c.CommandPath(), r.out)
		}
	}
}

// A description may break before a word that looks like a flag.
func TestHelpShowsEachFlagUnderItsTitleAndWithWhatItTakes(t *testing.T) {
	t.Parallel()
	for _, c := range commands(t) {
		out := inside(t, append(strings.Fields(c.CommandPath())[1:], mostHelp(c))...).out
		c.Flags().VisitAll(func(f *pflag.Flag) {
			title := "Help"
			if g, ok := f.Annotations[cli.GroupKey]; ok {
				title = g[0]
			}
			_, below, _ := strings.Cut(out, "\n"+title+":\n")
			below, _, _ = strings.Cut(below, "\n\n")
			at := strings.Index("\n"+below, "  --"+f.Name)
			if f.Shorthand != "" {
				at = strings.Index("\n"+below, "\n  -"+f.Shorthand+", --"+f.Name)
			}
			if at < 0 {
				t.Errorf("%s: --%s is not under %s:\n%s", c.CommandPath(), f.Name, title, out)
			}
			if name, _ := pflag.UnquoteUsage(f); name != strings.ToUpper(name) {
				t.Errorf("%s: --%s takes %q: name it", c.CommandPath(), f.Name, name)
			}
		})
	}
}

// mostHelp is the flag that shows all flags of a command.
func mostHelp(c *cobra.Command) string {
	if c.Flags().Lookup("help-all") != nil {
		return "--help-all"
	}
	return "--help"
}

// A flag takes the words that completion offers for it: each stands in its help.
func TestWordsOfAFlagStandInItsHelp(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range commands(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, w := range cli.WordsOf(f) {
				n++
				if f.Name != "trap" && !strings.Contains(f.Usage, strings.TrimSuffix(w, "=")) {
					t.Errorf("%s --%s: %q is not in %q", c.CommandPath(), f.Name, w, f.Usage)
				}
			}
		})
	}
	if n < 80 {
		t.Errorf("%d words", n)
	}
}
