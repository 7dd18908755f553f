package shellcmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

// manualPage is a manual page.
type manualPage struct {
	Name string // of its file: curtsy-frontier-ls.1
	Text string
}

// manualOf writes the pages of cmd and of all commands below it. The mark stands in a comment at the top of each.
func manualOf(cmd *cobra.Command, mark string, date time.Time) []manualPage {
	if cmd.Hidden || cmd.Name() == "help" {
		return nil
	}
	cmd.InitDefaultHelpFlag()
	p := page{cmd: cmd}
	p.line(`.\" ` + mark)
	p.head(date)
	p.synopsis()
	p.section("DESCRIPTION", func() { p.prose(description(cmd)) })
	p.commands()
	p.options()
	p.exits()
	p.examples()
	p.seeAlso()
	all := []manualPage{{name(cmd) + ".1", p.String()}}
	for _, sub := range cmd.Commands() {
		all = append(all, manualOf(sub, mark, date)...)
	}
	return all
}

// page is a page that is being written.
type page struct {
	strings.Builder
	cmd *cobra.Command
}

// line writes a line as it is.
func (p *page) line(words ...string) { p.WriteString(strings.Join(words, " ") + "\n") }

func (p *page) section(title string, write func()) {
	p.line(".Sh " + title)
	write()
}

// name is what the page of a command is called.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func description(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return cmd.Long
	}
	return cmd.Short + "."
}

func (p *page) head(date time.Time) {
	p.line(".Dd " + date.UTC().Format("January 2, 2006"))
	p.line(".Dt", strings.ToUpper(name(p.cmd)), "1")
	p.line(".Os")
	p.section("NAME", func() {
		p.line(".Nm", name(p.cmd))
		p.line(".Nd", argument(strings.ToLower(p.cmd.Short[:1])+strings.TrimRight(p.cmd.Short[1:], ".?!")))
	})
}

func (p *page) synopsis() {
	p.section("SYNOPSIS", func() {
		path, root := p.cmd.CommandPath(), p.cmd.Root().Name()
		takes := strings.TrimSpace(strings.TrimPrefix(p.cmd.UseLine(), path))
		path = strings.TrimSpace(strings.TrimPrefix(path, root))
		line := func() {
			p.line(".Nm", root)
			if path != "" {
				p.line(".Cm", path)
			}
		}
		if !p.cmd.HasAvailableSubCommands() || takes != "" {
			line()
			for _, word := range strings.Fields(takes) {
				p.taken(word)
			}
		}
		if p.cmd.HasAvailableSubCommands() {
			line()
			p.line(".Ar COMMAND")
		}
	})
}

// taken writes a word of a usage line.
func (p *page) taken(word string) {
	switch bare := strings.TrimRight(word, ".…"); {
	case word == "[flags]":
		p.line(".Op Ar flags")
	case bare == strings.ToUpper(bare) && strings.Trim(bare, "ABCDEFGHIJKLMNOPQRSTUVWXYZ/|") == "":
		p.line(".Ar", argument(word))
	default:
		p.line(text(word))
	}
}

func (p *page) commands() {
	if !p.cmd.HasAvailableSubCommands() {
		return
	}
	p.section("COMMANDS", func() {
		p.line(".Bl -tag -width Ds")
		for _, c := range p.cmd.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" {
				p.line(".It Xr", name(c), "1")
				p.prose(c.Short + ".")
			}
		}
		p.line(".El")
	})
}

func (p *page) options() {
	sections := cli.Sections(p.cmd)
	p.section("OPTIONS", func() {
		for _, s := range sections {
			if len(sections) > 1 {
				p.line(".Ss", argument(s.Title))
			}
			p.line(".Bl -tag -width Ds")
			for _, f := range s.Flags {
				p.option(f)
			}
			p.line(".El")
		}
	})
}

func (p *page) option(f *pflag.Flag) {
	it := []string{".It"}
	if f.Shorthand != "" {
		it = append(it, "Fl", f.Shorthand, ",")
	}
	it = append(it, "Fl", `\-`+strings.ReplaceAll(f.Name, "-", `\-`))
	takes, _ := pflag.UnquoteUsage(f)
	if takes != "" {
		it = append(it, "Ar", argument(takes))
	}
	p.line(it...)
	p.prose(meaning(f))
}

// meaning is what help says about a flag: its usage, and its default if that says something.
func meaning(f *pflag.Flag) string {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	f = cli.Shown(f)
	one.AddFlag(f)
	_, usage := pflag.UnquoteUsage(f)
	whole := one.FlagUsagesWrapped(0)
	first, _, _ := strings.Cut(usage, "\n")
	said := strings.Join(strings.Fields(whole[strings.LastIndex(whole, first):]), " ")
	return strings.ToUpper(said[:1]) + said[1:] + "."
}

func (p *page) examples() {
	if p.cmd.HasExample() {
		p.section("EXAMPLES", func() { p.display(strings.Split(p.cmd.Example, "\n")) })
	}
}

// exits tells of the exit codes, which are the same for every command.
func (p *page) exits() {
	p.section("EXIT STATUS", func() {
		p.line(".Bl -tag -width Ds")
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
			{cli.ExitSignalled + 15, "Likewise by SIGTERM; 128 and its number for another signal."},
		} {
			p.line(".It", strconv.Itoa(e.code))
			p.prose(e.meaning)
		}
		p.line(".El")
	})
}

func (p *page) seeAlso() {
	var names []string
	if p.cmd.HasParent() {
		for _, c := range append(p.cmd.Parent().Commands(), p.cmd.Parent()) {
			if c != p.cmd && (c.IsAvailableCommand() || c.Runnable()) && !c.Hidden && c.Name() != "help" && (p.cmd.Parent().HasParent() || c == p.cmd.Parent()) {
				names = append(names, name(c))
			}
		}
	}
	for _, c := range p.cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			names = append(names, name(c))
		}
	}
	slices.Sort(names)
	p.section("SEE ALSO", func() {
		for i, n := range names {
			comma := " ,"
			if i == len(names)-1 {
				comma = ""
			}
			p.line(fmt.Sprintf(".Xr %s 1%s", n, comma))
		}
	})
}
