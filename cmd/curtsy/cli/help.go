package cli

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func init() { cobra.EnableCommandSorting = false } // they are listed in the order of their groups

// texts has the usage line, summary, description, examples and flags of each command, under a heading each.
//
//go:embed commands.md
var texts string

// Flags are the variables that the flags of a command set, by the names of the flags. What a variable holds is the default.
type Flags map[string]any

// List is a flag that takes several values, separated by commas.
type List []string

// Command returns the command of a path, such as "ledger verify", with its texts and flags. Where its usage line has no
// arguments, or a crawl directory only, it refuses others. It panics if the texts do not have the command, or other flags.
func Command(path string, flags ...Flags) *cobra.Command {
	for section := range strings.SplitSeq(texts, "\n## ") {
		usage, text, _ := strings.Cut(section, "\n")
		args, ok := strings.CutPrefix(usage, path)
		if next := strings.TrimPrefix(args, " "); !ok || next != "" && (next == args || unicode.IsLower(rune(next[0]))) {
			continue // of another command
		}
		text, declared, _ := strings.Cut(text, "\nFlags:\n")
		text, example, _ := strings.Cut(text, "\nExamples:\n")
		short, long, _ := strings.Cut(text, "\n")
		cmd := &cobra.Command{
			Use: path[strings.LastIndexByte(path, ' ')+1:] + args, Short: short, Long: strings.Trim(long, "\n"), Example: strings.TrimRight(example, "\n"),
		}
		switch strings.TrimSpace(strings.TrimPrefix(args, " [flags]")) {
		case "":
			cmd.Args = NoArgs
		case "DIR":
			cmd.Args = OneDir
		}
		for _, some := range flags {
			declare(cmd.Flags(), declared, some)
		}
		return cmd
	}
	panic("commands.md has no command " + path)
}

// declaredFlag is a line of the texts that declares a flag: its name, its letter, what it takes, and its text.
var declaredFlag = regexp.MustCompile(`^  --([\w-]+)(?:, -(\w))?(?: ([^ ]+))?: (.*)$`)

// declare gives fs the flags of a text, each under the line without indent before it, which is the title of its group.
func declare(fs *pflag.FlagSet, text string, flags Flags) {
	group, left := "", len(flags)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\n      ", " "), "\n") {
		m := declaredFlag.FindStringSubmatch(line)
		if m == nil {
			group = line
			continue
		}
		name, letter, usage := m[1], m[2], m[4]
		if m[3] != "" {
			usage = "`" + m[3] + "` " + usage
		}
		left--
		switch to := flags[name].(type) {
		case *string:
			fs.StringVarP(to, name, letter, *to, usage)
		case *bool:
			fs.BoolVarP(to, name, letter, *to, usage)
		case *int64:
			fs.Int64VarP(to, name, letter, *to, usage)
		case *[]string:
			fs.StringArrayVarP(to, name, letter, *to, usage)
		case *List:
			fs.StringSliceVarP((*[]string)(to), name, letter, *to, usage)
		case pflag.Value:
			fs.VarP(to, name, letter, usage)
		default:
			panic("commands.md has a flag without a variable, --" + name)
		}
		annotate(fs, name, GroupKey, group)
	}
	if left != 0 {
		panic("commands.md lacks flags of a command: " + text)
	}
}

// Family returns a command that only has others below it.
func Family(path string, commands ...*cobra.Command) *cobra.Command {
	cmd := Command(path)
	cmd.Args = KnownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// columns is the width that help is made for.
const columns = 80

// GroupKey is the annotation of a flag that names its group in help.
const GroupKey = "group"

// Group puts the flags declared so far, and in no group yet, under a title of help.
func Group(fs *pflag.FlagSet, title string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[GroupKey]; !ok {
			annotate(fs, f.Name, GroupKey, title)
		}
	})
}

// Usage prints how a command is used: its line, examples, commands below it, and flags by group.
func Usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && (!cmd.HasSubCommands() || strings.Contains(cmd.Use, " ")) { // it takes something itself
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		last := ""
		for _, c := range cmd.Commands() {
			if !c.IsAvailableCommand() {
				continue
			}
			if title := cmp.Or(c.GroupID, "Commands"); title != last {
				fmt.Fprintf(&b, "\n%s:\n", title)
				last = title
			}
			fmt.Fprintf(&b, "  %-12s %s\n", c.Name(), c.Short)
		}
	}
	shown, left := shortened(cmd)
	b.WriteString(flagHelp(cmd, shown))
	b.WriteString(leftOut(cmd, left))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help shows flags and examples.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// Shown returns a flag as help, manual pages and settings files show it: a placeholder that its usage begins with is not repeated
// in the text.
func Shown(f *pflag.Flag) *pflag.Flag {
	shown := *f
	if name, _ := pflag.UnquoteUsage(f); strings.HasPrefix(f.Usage, "`"+name+"` ") {
		shown.Usage = f.Usage[len(name)+3:]
		shown.Value = named{f.Value, name}
		if shown.DefValue == "[]" || shown.DefValue == "0s" {
			shown.DefValue = ""
		}
	}
	return &shown
}

// A named value has its placeholder as type, which pflag shows.
type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// flagHelp lists flags under the titles of their groups, in the order of declaration.
func flagHelp(cmd *cobra.Command, shown func(*pflag.Flag) bool) string {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = false
	sections := sections(cmd)
	for _, s := range sections {
		for _, f := range s.Flags {
			if shown(f) {
				folded := Shown(f) // here, to what the longest of their names leaves
				folded.Usage = strings.ReplaceAll(folded.Usage, "\n", " ")
				some.AddFlag(folded)
			}
		}
	}
	var texts []string // one for each flag, aligned
	for line := range strings.Lines(some.FlagUsagesWrapped(columns)) {
		// What goes on with the line before stands further to the right, and may begin with the name of a flag, too.
		if strings.HasPrefix(line, "  -") || strings.HasPrefix(line, "      --") {
			texts = append(texts, "")
		}
		texts[len(texts)-1] += line
	}
	var b strings.Builder
	n := 0
	for _, s := range sections {
		title := "\n" + s.Title + ":\n"
		for _, f := range s.Flags {
			if !shown(f) {
				continue
			}
			b.WriteString(title + texts[n])
			title = ""
			n++
		}
	}
	return b.String()
}

// HelpCommand is cobra's help command, but for an exit code when there is no such command.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show help for a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return Usagef("%w", KnownCommand(cmd.Root(), args))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
