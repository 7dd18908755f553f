package cli

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/storage/plainly"
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
	sorted := fs.SortFlags
	fs.SortFlags = false // it is called for many commands each time that curtsy starts, and sorting takes long
	defer func() { fs.SortFlags = sorted }()
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

// phrase is how others say something, and how it is said here.
type phrase struct {
	Theirs []string // options and settings, as they are written there
	Of     string   // the programs that have them
	Ours   string   // a flag with its value ("--scope prefix"), or a command ("curtsy update DIR")
	Note   string   // how curtsy differs; may be empty
}

// All returns the table, in the order of the documentation.
func All() []phrase { return slices.Clone(phrases) }

//go:embed phrasebook.txt
var phrasebook string

// phrases are the options of wget, HTTrack and Scrapy, with their names here. The error about an unknown flag and
// docs/guides/coming-from.md both read them.
var phrases = func() (all []phrase) {
	for line := range strings.Lines(phrasebook) {
		if f := strings.Split(strings.TrimSpace(line), " | "); len(f) > 2 {
			f = append(f, "") // a note that there is not
			all = append(all, phrase{strings.Fields(f[0]), f[1], f[2], f[3]})
		}
	}
	return all
}()

// Find returns how others say what was given: a flag with its dashes, or the name of a setting without. Flags are
// taken as they are; a setting may be written as a flag, too (--download-delay).
func Find(given string) (phrase, bool) {
	for _, p := range phrases {
		if slices.Contains(p.Theirs, given) {
			return p, true
		}
	}
	setting := strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(given, "--"), "-", "_"))
	for _, p := range phrases {
		if slices.Contains(p.Theirs, setting) || slices.Contains(p.Theirs, "--"+strings.ReplaceAll(strings.ToLower(given), "_", "-")) {
			return p, true
		}
	}
	return phrase{}, false
}

// Flag is the name of the flag that Ours is, without its dashes; empty when it is a command.
func (p phrase) Flag() string {
	name, _, _ := strings.Cut(p.Ours, " ")
	name, ok := strings.CutPrefix(name, "--")
	if !ok {
		return ""
	}
	return name
}

// String says it in a sentence, for whoever wrote one of theirs.
func (p phrase) String() string {
	if p.Note == "" {
		return "that is " + p.Ours + " here"
	}
	return "that is " + p.Ours + " here (" + p.Note + ")"
}
