package main

import (
	"bytes"
	"io/fs"
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
		b := fileOf(t, name)
		spans, commands := codeOf(string(b))
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
