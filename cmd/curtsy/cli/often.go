package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAll is the flag that shows the help of all flags, where --help shows those alone that are needed often.
const helpAll = "help-all"

const (
	oftenKey = "often" // the annotation of a flag that --help shows where it does not show all
	wordsKey = "words" // the annotation of a flag that takes one of some words
)

// Often marks flags that most people need. A command that marks any shows these with --help, and all with --help-all.
func Often(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		annotate(fs, name, oftenKey, "")
	}
}

// Words says which words a flag takes, in whole or as beginnings ("queries="), for completion and manuals. Of a flag
// that takes a list, they are those of one item.
func Words(fs *pflag.FlagSet, name string, words ...string) { annotate(fs, name, wordsKey, words...) }

// WordsOf are the words that a flag takes, if they are known.
func WordsOf(f *pflag.Flag) []string { return f.Annotations[wordsKey] }

// annotate notes something about a flag of the program's own; there is none of another name.
func annotate(fs *pflag.FlagSet, name, key string, values ...string) {
	if err := fs.SetAnnotation(name, key, values); err != nil {
		panic(err)
	}
}

func isOften(f *pflag.Flag) bool { return f.Annotations[oftenKey] != nil }

// someOften reports whether --help of a command leaves flags out.
func someOften(cmd *cobra.Command) bool {
	some := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) { some = some || isOften(f) })
	return some
}

// addHelpAll gives --help-all to a command whose --help leaves flags out. What else is given does not matter then, as
// with --help.
func addHelpAll(cmd *cobra.Command) {
	if !someOften(cmd) {
		return
	}
	cmd.InitDefaultHelpFlag()
	all := cmd.Flags().Bool(helpAll, false, "help for all flags of "+cmd.Name())
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		switch {
		case *all:
			return pflag.ErrHelp
		case check != nil:
			return check(cmd, args)
		}
		return nil
	}
}

// shortened says which flags help shows, and how many it leaves out.
func shortened(cmd *cobra.Command) (shown func(*pflag.Flag) bool, left int) {
	all := cmd.Flags().Lookup(helpAll)
	if all == nil || all.Value.String() == "true" {
		return func(*pflag.Flag) bool { return true }, 0
	}
	shown = func(f *pflag.Flag) bool { return isOften(f) || groupOf(f) == helpGroup }
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !shown(f) {
			left++
		}
	})
	return shown, left
}

// helpGroup is the group of flags that are in no other: --help, --help-all and --version.
const helpGroup = "Help"

func groupOf(f *pflag.Flag) string {
	if g, ok := f.Annotations[GroupKey]; ok {
		return g[0]
	}
	return helpGroup
}

// A section is a part of the help: a title and the flags in it.
type section struct {
	Title string
	Flags []*pflag.Flag
}

// sections are the flags of a command by their groups, in the order of declaration, those for help last.
func sections(cmd *cobra.Command) []section {
	fs := cmd.Flags()
	fs.SortFlags = false
	var all []section
	fs.VisitAll(func(f *pflag.Flag) {
		title := groupOf(f)
		i := slices.IndexFunc(all, func(s section) bool { return s.Title == title })
		if i < 0 {
			i, all = len(all), append(all, section{Title: title})
		}
		all[i].Flags = append(all[i].Flags, f)
	})
	slices.SortStableFunc(all, func(a, b section) int { return rank(a) - rank(b) })
	return all
}

func rank(s section) int {
	if s.Title == helpGroup {
		return 1
	}
	return 0
}

// leftOut says how to see the flags that help does not show.
func leftOut(cmd *cobra.Command, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\n%s --%s lists %d more.\n", cmd.CommandPath(), helpAll, n)
}
