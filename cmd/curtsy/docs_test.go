package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
)

var (
	codeInText  = regexp.MustCompile("`([^`\n]+)`")
	commandLine = regexp.MustCompile(`^curtsy( [a-z]+)+`)
	flagInCode  = regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z-]*)`)
	shellWord   = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"|<>;&]+|[|<>;&]`)
)

// pagesOf returns README and the pages of docs, by their paths from here.
func pagesOf(t *testing.T) (pages []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil || len(pages) < 5 {
		t.Fatalf("%q, %v", pages, err)
	}
	return append(pages, filepath.Join(root, "README.md"))
}

// Each command of a console block parses: it exists, has the flags it is given, with values they take, and as many arguments.
// Commands and flags in the text of README and of the page for webmasters exist.
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
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
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
	if parsed < 80 {
		t.Errorf("%d commands", parsed)
	}
}

// argsOf splits a command as a shell does, up to a comment, a pipe or a redirection.
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

var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)]*)?\)`)

// Every link within the repository leads to a file, and its fragment to a heading of that file.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	links, headings := 0, map[string]map[string]bool{}
	for _, page := range pagesOf(t) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			links++
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if m[2] == "" || filepath.Ext(to) != ".md" {
				continue
			}
			if headings[to] == nil {
				headings[to] = headingsOf(t, to)
			}
			if !headings[to][m[2][1:]] {
				t.Errorf("%s: %s has no heading %s", page, to, m[2])
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links", links)
	}
}

// headingsOf returns the fragments of a page's headings.
func headingsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids, inCode := map[string]bool{}, false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if inCode || !strings.HasPrefix(line, "#") {
			continue
		}
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(strings.TrimLeft(line, "#")))
		ids[id] = true
	}
	return ids
}

// codeOf returns what is code in a text: spans, and the commands of its console blocks, each on one line.
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

// Each trap is documented by its name and its limit.
func TestEveryTrapIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "research-crawl.md"))
	if err != nil {
		t.Fatal(err)
	}
	defaults := scope.TrapDefaults()
	for name, n := range map[string]int{"queries": 1000, "template": 10_000, "copy": 1} {
		defaults[name] = n
	}
	for _, name := range crawldir.TrapNames() {
		if rule := "| `" + name + "=" + itoa(defaults[name]) + "` |"; !strings.Contains(string(b), rule) {
			t.Errorf("docs/guides/research-crawl.md has no row that begins %s", rule)
		}
	}
}
