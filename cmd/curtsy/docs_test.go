package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

var (
	codeInText  = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`^curtsy( [a-z]+)+`)
	flagInCode  = regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z-]*)`)
)

// Whatever README and the page for webmasters show as a command of curtsy, or as a flag, there is.
func TestDocumentedCommandsAndFlagsExist(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: new(bytes.Buffer)})
	flags := map[string]bool{"help": true}
	var collect func(*cobra.Command)
	collect = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for _, c := range cmd.Commands() {
			collect(c)
		}
	}
	collect(root)
	for _, name := range []string{"README.md", filepath.Join("docs", "politeness.md")} {
		b, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, code := range codeOf(string(b)) {
			if m := commandLine.FindString(code); m != "" {
				seen++
				words := strings.Fields(m)[1:]
				if cmd, rest, err := root.Find(words); err != nil || cmd == root || cmd.HasSubCommands() && len(rest) > 0 {
					t.Errorf("%s: there is no command %q", name, m)
				}
			}
			if strings.HasPrefix(code, "wget") || strings.Contains(code, "go test") {
				continue
			}
			for _, m := range flagInCode.FindAllStringSubmatch(code, -1) {
				if seen++; !flags[m[1]] {
					t.Errorf("%s: there is no flag --%s", name, m[1])
				}
			}
		}
		if seen < 8 {
			t.Errorf("%s: %d commands and flags", name, seen)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Every link within the repository leads to a file, from README and from each page of docs.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) < 5 {
		t.Fatalf("%q, %v", pages, err)
	}
	links := 0
	notes, err := filepath.Glob(filepath.Join("..", "..", "docs", "dev", "*.md"))
	if err != nil || len(notes) == 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	for _, page := range append(append(pages, notes...), filepath.Join("..", "..", "README.md")) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	if links < 15 {
		t.Errorf("only %d links", links)
	}
}

// codeOf returns what is code in a text: spans, and the commands of its console blocks, each on one line.
func codeOf(text string) (code []string) {
	for i, part := range strings.Split(text, "```") {
		if i%2 == 0 {
			for _, m := range codeInText.FindAllStringSubmatch(part, -1) {
				code = append(code, m[1])
			}
			continue
		}
		if commands, ok := strings.CutPrefix(part, "console\n"); ok {
			for line := range strings.Lines(strings.ReplaceAll(commands, "\\\n", " ")) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					code = append(code, strings.TrimSpace(command))
				}
			}
		}
	}
	return slices.Compact(code)
}
