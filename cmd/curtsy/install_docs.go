package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// mark stands at the top of every file that install-docs writes, so that it knows its own.
const mark = "Written by curtsy install-docs from the help of the command."

// newInstallDocs is curtsy install-docs.
func newInstallDocs(std cli.Streams) *cobra.Command {
	var prefix string
	var dryRun bool
	cmd := cli.Command("install-docs", cli.Flags{"prefix": &prefix, "dry-run": &dryRun})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if prefix == "" {
			p, err := usualPrefix()
			if err != nil {
				return err
			}
			prefix = p
		}
		return install(cmd.Root(), prefix, dryRun, std.Out)
	}
	return cmd
}

// usualPrefix is where software goes that no package manager keeps.
func usualPrefix() (string, error) {
	if runtime.GOOS == "windows" {
		return "", cli.Usagef("Windows has no place for manual pages: name a folder with --prefix")
	}
	if os.Geteuid() == 0 {
		return "/usr/local", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("no home folder: %w; name a folder with --prefix", err)
	}
	return filepath.Join(home, ".local"), nil
}

// a page is a file to install.
type shellPage struct {
	path string
	text []byte
}

// docs are all files, in the order of their paths.
func docs(root *cobra.Command, prefix string) ([]shellPage, error) {
	var all []shellPage
	man, err := manual(root, mark, built())
	if err != nil {
		return nil, err
	}
	for name, text := range man {
		all = append(all, shellPage{filepath.Join(prefix, "share", "man", "man1", name), text})
	}
	for shell, path := range map[string]string{
		"bash": "bash-completion/completions/" + root.Name(),
		"zsh":  "zsh/site-functions/_" + root.Name(),
		"fish": "fish/vendor_completions.d/" + root.Name() + ".fish",
	} {
		script, err := completion(root, shell)
		if err != nil {
			return nil, err
		}
		// The first line of a zsh script says what it completes.
		first, rest, _ := bytes.Cut(script, []byte("\n"))
		text := slices.Concat(first, []byte("\n# "+mark+"\n"), rest)
		all = append(all, shellPage{filepath.Join(prefix, "share", filepath.FromSlash(path)), text})
	}
	slices.SortFunc(all, func(a, b shellPage) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	return all, nil
}

// install writes all files, or none if something else stands where one of them belongs.
func install(root *cobra.Command, prefix string, dryRun bool, out io.Writer) error {
	all, err := docs(root, prefix)
	if err != nil {
		return err
	}
	for _, d := range all {
		kind := userfile.Kind{Name: "a manual page or completion", Mark: mark}
		if err := kind.Writable(d.path, crawldir.Place()); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	did := "wrote"
	if dryRun {
		did = "would write"
	}
	for _, d := range all {
		if !dryRun {
			if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
				return err
			}
			if err := durable.WriteFile(d.path, d.text, 0o644); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out, did, plainly.OneLine(d.path)); err != nil {
			return err
		}
	}
	return nil
}

// built is when the program was made of: the time of its commit, or now where the build does not say.
func built() time.Time {
	if at := thisBuild().Time; !at.IsZero() {
		return at
	}
	return time.Now()
}

// manual writes the manual pages of cmd and of all commands below it, by file name (curtsy-frontier-ls.1). The mark is a
// comment at the top of each. It changes the texts of the commands, which become Markdown.
func manual(cmd *cobra.Command, mark string, date time.Time) (map[string][]byte, error) {
	pages := map[string][]byte{}
	if cmd.Hidden || cmd.Name() == "help" {
		return pages, nil
	}
	for _, sub := range cmd.Commands() {
		more, err := manual(sub, mark, date)
		if err != nil {
			return nil, err
		}
		for name, text := range more {
			pages[name] = text
		}
	}
	cmd.DisableAutoGenTag = true
	cmd.InitDefaultHelpFlag()
	cmd.Long = markdown(cmp.Or(cmd.Long, cmd.Short+".")) + "\n\n# EXIT STATUS\n" + exits()
	cmd.Short = escape.Replace(cmd.Short)
	cmd.NonInheritedFlags().VisitAll(option)
	b := bytes.NewBufferString(`.\" ` + mark + "\n")
	err := doc.GenMan(cmd, &doc.GenManHeader{Date: &date, Source: cmd.Root().Name()}, b)
	pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"] = b.Bytes()
	return pages, err
}

// option has the page show what a flag takes in place of its default, which its text names.
func option(f *pflag.Flag) {
	shown := cli.Shown(f)
	takes, usage := pflag.UnquoteUsage(shown)
	if takes != "" {
		if shown.DefValue != "" && shown.DefValue != "0" {
			usage += " (default " + shown.DefValue + ")"
		}
		f.DefValue, f.Value = takes, unquoted{f.Value}
	}
	f.Usage = escape.Replace(usage)
}

// unquoted is a value whose default is no quoted string.
type unquoted struct{ pflag.Value }

func (unquoted) Type() string { return "" }

// escape keeps a text from being markup.
var escape = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "#", `\#`)

// markdown is help as Markdown: lines that are indented are shown as they are.
func markdown(help string) string {
	var b strings.Builder
	literal := false
	for line := range strings.Lines(help) {
		if indented := strings.HasPrefix(line, "  "); indented != literal {
			literal = indented
			b.WriteString("\n")
		}
		if literal {
			b.WriteString("  " + line)
		} else {
			b.WriteString(escape.Replace(line))
		}
	}
	return b.String()
}

// exits lists the exit codes, which are the same for every command.
func exits() string {
	var b strings.Builder
	for _, e := range []struct {
		code    int
		meaning string
	}{
		{cli.ExitDone, "Done, also when a budget that you set ended it."},
		{cli.ExitFailed, "It could not be done."},
		{cli.ExitUsage, "Usage or configuration."},
		{cli.ExitFound, "A check found something."},
		{cli.ExitIncomplete, "Incomplete: a seed got no usable answer, hosts are still parked, refused or retired, or pages of a mirror lack files that the summary names a command for."},
		{cli.ExitSignalled + 2, "Interrupted by Ctrl-C, and stopped cleanly."},
		{cli.ExitSignalled + 15, "The same by SIGTERM; 128 and its number for another signal."},
	} {
		fmt.Fprintf(&b, "**%d**\n\t%s\n\n", e.code, e.meaning)
	}
	return b.String()
}
