package cli

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

var flagName = regexp.MustCompile(`--([\w-]+)`)

// FlagError explains a wrong flag, with the nearest one that exists.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		return Usagef("--%s: %w", invalid.GetFlag().Name, noNumber(invalid))
	case errors.As(err, &unknown):
		if p, ok := elsewhere(cmd, unknown); ok {
			if p.Ours == cmd.CommandPath() {
				return Usagef("%w; leave it out: %s does this already", err, p.Ours)
			}
			return Usagef("%w; %s", err, p)
		}
		if m := flagName.FindStringSubmatch(err.Error()); m != nil {
			if now := cmp.Or(crawldir.Renamed[m[1]], renamed[m[1]]); cmd.Flags().Lookup(now) != nil {
				return Usagef("%w; did you mean --%s?", err, now)
			}
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if near := plainly.Nearest(m[1], names); near != "" {
				return Usagef("%w; did you mean --%s?", err, near)
			}
		}
	}
	return Usagef("%w; see %s --help", err, cmd.CommandPath())
}

// Swallowed reports a flag whose value is another flag of the command, as in --own-site --delay 0.
func Swallowed(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			word, _, _ := strings.Cut(value, "=")
			if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flags().Lookup(name) != nil {
				err = Usagef("--%s needs a value, and %s follows it", f.Name, value)
			}
		}
	})
	return err
}

// renamed maps what flags that are no settings were called before to their names.
var renamed = map[string]string{
	"anew": "overwrite", "condition": "state", "forget": "redact", "fresh": "overwrite", "head": "checkpoint", "maps": "max-sitemaps", "out": "output",
	"skew": "clock-skew", "try": "dry-run", "wing": "all-hostile",
}

// noNumber says what a flag takes that was given something that strconv does not read.
func noNumber(err *pflag.InvalidValueError) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return errors.Unwrap(err)
	case err.GetFlag().Value.Type() == "bool":
		return fmt.Errorf("%q: write true or false, or nothing after the name", number.Num)
	case errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%q is too large", number.Num)
	}
	return fmt.Errorf("%q: write a whole number", number.Num)
}

// elsewhere finds what the user may know by another name, from another crawler, if it can be said with this command.
func elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) (phrase, bool) {
	given := []string{"--" + unknown.GetSpecifiedName()}
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		given = []string{"-" + short, "-" + unknown.GetSpecifiedName()} // -np; or -l5
	}
	for _, g := range given {
		p, ok := Find(g)
		if ok && cmd.Flags().Lookup("seeds") != nil && (p.Flag() == "" || cmd.Flags().Lookup(p.Flag()) != nil || strings.Contains(p.Note, "curtsy mirror")) {
			return p, true
		}
	}
	return phrase{}, false
}

// QuietFlag declares --quiet of a long work.
func QuietFlag(fs *pflag.FlagSet, quiet *bool) {
	fs.BoolVarP(quiet, "quiet", "q", false, "do not show progress")
}

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

// Words says which words a flag takes, in whole or as beginnings ("queries="), for completion and manuals, and puts them
// in its text where that has "{words}". Of a flag that takes a list, they are those of one item.
func Words(fs *pflag.FlagSet, name string, words ...string) {
	annotate(fs, name, wordsKey, words...)
	f := fs.Lookup(name)
	f.Usage = strings.Replace(f.Usage, "{words}", strings.Join(words, ", "), 1)
}

// WordsOf are the words that a flag takes, if they are known.
func WordsOf(f *pflag.Flag) []string { return f.Annotations[wordsKey] }

// annotate sets an annotation of a flag. It panics if the flag does not exist.
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
