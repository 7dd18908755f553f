package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

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
