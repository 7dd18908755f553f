package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	page := fileOf(t, filepath.Join("cli", "commands.md"))
	documented := map[string]bool{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		usage, text, _ := strings.Cut(section, "\n")
		c, _, err := newRoot(cli.Streams{}).Find(strings.Fields(usage))
		require.NoError(t, err, usage)
		assert.Truef(t, c.HasParent() && strings.HasPrefix(text, c.Short+"\n") && !documented[c.CommandPath()], "the section %q is of no command, or of one that has another", usage)
		documented[c.CommandPath()] = true
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

func called(t *testing.T, path ...string) *cobra.Command {
	t.Helper()
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	cmd, rest, err := root.Find(path)
	if err != nil || cmd == root || len(rest) > 0 {
		t.Fatalf("no command %q: %v", path, err)
	}
	return cmd
}

// Each phrase is a flag of crawl or mirror that takes its value, or a command. An option of others is not a flag of curtsy, and is
// in the table once.
func TestPhrases_NameFlagsOrCommands(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, p := range cli.All() {
		name, value, _ := strings.Cut(p.Ours, " ")
		if flag := p.Flag(); flag == "" {
			called(t, strings.Fields(strings.TrimSuffix(strings.TrimPrefix(p.Ours, "curtsy "), " DIR"))...)
		} else {
			crawl, mirror := called(t, "crawl").Flags(), called(t, "mirror").Flags()
			f := mirror.Lookup(flag) // mirror has the flags of crawl, and some
			if f == nil {
				t.Errorf("%q: no flag --%s", p.Theirs, flag)
				continue
			}
			if inCrawl := crawl.Lookup(flag) != nil; !inCrawl && !strings.Contains(p.Note, "curtsy mirror") {
				t.Errorf("%q: the note does not say that only curtsy mirror has %s", p.Theirs, name)
			}
			if value != "" && value != strings.ToUpper(value) {
				assert.NoErrorf(t, f.Value.Set(value), "%q: %s", p.Theirs, p.Ours)
			}
		}
		for _, theirs := range p.Theirs {
			assert.Falsef(t, named[theirs], "%s is in the table twice", theirs)
			named[theirs] = true
			if long, ok := strings.CutPrefix(theirs, "--"); ok && long != p.Flag() && called(t, "mirror").Flags().Lookup(long) != nil {
				t.Errorf("%s is also a flag of curtsy: this row has no reader", theirs)
			}
			if got, ok := cli.Find(theirs); !ok || got.String() != p.String() {
				t.Errorf("%s is not found: %+v", theirs, got)
			}
		}
		if p.Of == "" || len(p.Theirs) == 0 || p.Ours != strings.TrimSpace(p.Ours) {
			t.Errorf("%+v is not whole", p)
		}
	}
	assert.GreaterOrEqual(t, len(named), 40, "options")
}

var (
	codeInText  = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`^curtsy( [a-z]+)+`)
	flagInCode  = regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z-]*)`)
	shellWord   = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"|<>;&]+|[|<>;&]`)
)

func pagesOf(t *testing.T) (pages []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pages), 5, pages)
	return append(pages, filepath.Join(root, "README.md"))
}

// Each command of a console block parses. Commands and flags in the text of README and of the page for webmasters exist.
func TestDocumentedCommands_Parse(t *testing.T) {
	t.Parallel()
	fresh := func() *cobra.Command {
		return newRoot(cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	}
	root := fresh()
	flags := map[string]bool{"help": true}
	var collect func(*cobra.Command)
	collect = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, c := range cmd.Commands() {
			collect(c)
		}
	}
	collect(root)
	parsed := 0
	for _, name := range pagesOf(t) {
		spans, commands := codeOf(string(fileOf(t, name)))
		for _, line := range commands {
			args := argsOf(line)
			if len(args) == 0 || args[0] != "curtsy" {
				continue
			}
			parsed++
			cmd, rest, err := fresh().Find(args[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil || cmd.HasSubCommands() && !cmd.Runnable() {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
		switch filepath.Base(name) {
		case "README.md", "politeness.md":
		default:
			continue
		}
		for _, code := range spans {
			if m := commandLine.FindString(code); m != "" {
				words := strings.Fields(m)[1:]
				if cmd, rest, err := root.Find(words); err != nil || cmd == root || cmd.HasSubCommands() && len(rest) > 0 {
					t.Errorf("%s: no command %q", name, m)
				}
			}
			for _, m := range flagInCode.FindAllStringSubmatch(code, -1) {
				if !flags[m[1]] && !strings.HasPrefix(code, "wget") {
					t.Errorf("%s: no flag --%s", name, m[1])
				}
			}
		}
	}
	assert.GreaterOrEqual(t, parsed, 80, "commands")
}

// argsOf splits a command as a shell does, up to a comment, pipe or redirection.
func argsOf(line string) (args []string) {
	for _, w := range shellWord.FindAllString(line, -1) {
		switch {
		case strings.ContainsAny(w[:1], "#|<>;&"):
			return args
		case strings.ContainsAny(w[:1], `'"`):
			w = w[1 : len(w)-1]
		}
		args = append(args, w)
	}
	return args
}

// codeOf returns the code spans of a text, and the commands of its console blocks.
func codeOf(text string) (spans, commands []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			for _, m := range codeInText.FindAllStringSubmatch(part, -1) {
				spans = append(spans, m[1])
			}
			continue
		}
		if block, ok := strings.CutPrefix(part, "console\n"); ok {
			for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
					commands = append(commands, command)
				}
			}
		}
	}
	return spans, commands
}
