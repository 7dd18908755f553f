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

func init() { cobra.EnableCommandSorting = false } // help lists them by group

// texts has a section for each command: usage line, summary, description, examples and flags.
//
//go:embed commands.md
var texts string

// Flags are the variables of a command's flags, by name. Their values are the defaults.
type Flags map[string]any

// List is a flag of values separated by commas.
type List []string

// Command returns the command of a path, such as "ledger verify", with its texts and flags. If its usage line has no
// arguments, or only DIR, it refuses others. It panics if the texts lack the command or have other flags.
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
			cmd.Args = Exactly(1, "one crawl directory")
		}
		for _, some := range flags {
			declare(cmd.Flags(), declared, some)
		}
		return cmd
	}
	panic("commands.md has no command " + path)
}

// declaredFlag matches a line that declares a flag: its name, letter, placeholder and text.
var declaredFlag = regexp.MustCompile(`^  --([\w-]+)(?:, -(\w))?(?: ([^ ]+))?: (.*)$`)

// declare declares the flags of a text, each in the group of the unindented line before it.
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

// Family returns a command that only has subcommands.
func Family(path string, commands ...*cobra.Command) *cobra.Command {
	cmd := Command(path)
	cmd.Args = KnownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// columns is the width of help.
const columns = 80

// GroupKey is the annotation of a flag with the title of its group in help.
const GroupKey = "group"

// Group puts the flags declared so far, and in no group yet, into a group.
func Group(fs *pflag.FlagSet, title string) {
	sorted := fs.SortFlags
	fs.SortFlags = false // sorting is slow, and Group runs for many commands at each start
	defer func() { fs.SortFlags = sorted }()
	fs.VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[GroupKey]; !ok {
			annotate(fs, f.Name, GroupKey, title)
		}
	})
}

// Usage prints the usage of a command: its line, examples, subcommands, and flags by group.
func Usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && (!cmd.HasSubCommands() || strings.Contains(cmd.Use, " ")) { // it takes arguments
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
	if left > 0 {
		fmt.Fprintf(&b, "\n%s --%s lists %d more.\n", cmd.CommandPath(), helpAll, left)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help shows flags and examples.\n", cmd.CommandPath())
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}

// Shown returns a flag as help, manual pages and settings files show it: without the placeholder that begins its usage.
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

// A named value has its placeholder as type, for pflag.
type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// flagHelp lists flags by group, in the order of declaration.
func flagHelp(cmd *cobra.Command, shown func(*pflag.Flag) bool) string {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = false
	sections := sections(cmd)
	for _, s := range sections {
		for _, f := range s.Flags {
			if shown(f) {
				folded := Shown(f)
				folded.Usage = strings.ReplaceAll(folded.Usage, "\n", " ")
				some.AddFlag(folded)
			}
		}
	}
	var texts []string // one for each flag, aligned
	for line := range strings.Lines(some.FlagUsagesWrapped(columns)) {
		// A continuation line is indented further, and may also begin with the name of a flag.
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

// HelpCommand is cobra's help command with an exit code for an unknown command.
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

// FlagError explains a wrong flag, and suggests the nearest.
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

// Swallowed refuses a flag whose value is another flag of the command, as in --own-site --delay 0.
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

// noNumber describes the values of a flag that strconv could not parse.
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

// elsewhere returns the phrase for an option of another crawler, if this command has its equivalent.
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

// helpAll is the flag that shows all flags, if --help shows only those needed often.
const helpAll = "help-all"

const (
	oftenKey = "often" // annotates a flag that a shortened --help shows
	wordsKey = "words" // annotates a flag with the words that it takes
)

// Often marks the flags that --help shows. A command without any shows all; --help-all always does.
func Often(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		annotate(fs, name, oftenKey, "")
	}
}

// Words sets the words that a flag takes, or their beginnings ("queries="), for completion and manuals, and replaces
// "{words}" in its text. For a list they are the words of one item.
func Words(fs *pflag.FlagSet, name string, words ...string) {
	annotate(fs, name, wordsKey, words...)
	f := fs.Lookup(name)
	f.Usage = strings.Replace(f.Usage, "{words}", strings.Join(words, ", "), 1)
}

// WordsOf returns the words that a flag takes, if they are known.
func WordsOf(f *pflag.Flag) []string { return f.Annotations[wordsKey] }

// annotate sets an annotation of a flag, which must exist.
func annotate(fs *pflag.FlagSet, name, key string, values ...string) {
	if err := fs.SetAnnotation(name, key, values); err != nil {
		panic(err)
	}
}

func isOften(f *pflag.Flag) bool { return f.Annotations[oftenKey] != nil }

// addHelpAll gives --help-all to a command with a shortened --help. Like --help it ignores the arguments.
func addHelpAll(cmd *cobra.Command) {
	some := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) { some = some || isOften(f) })
	if !some {
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

// shortened returns which flags help shows, and how many it omits.
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

// helpGroup is the group of all other flags: --help, --help-all and --version.
const helpGroup = "Help"

func groupOf(f *pflag.Flag) string {
	if g, ok := f.Annotations[GroupKey]; ok {
		return g[0]
	}
	return helpGroup
}

// A section is a group of flags in help.
type section struct {
	Title string
	Flags []*pflag.Flag
}

// sections returns the flags of a command by group, in the order of declaration, helpGroup last.
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
	slices.SortStableFunc(all, func(a, b section) int {
		switch helpGroup {
		case a.Title:
			return 1
		case b.Title:
			return -1
		}
		return 0
	})
	return all
}

// phrase maps options of other programs to those of curtsy.
type phrase struct {
	Theirs []string // options and settings
	Of     string   // the programs
	Ours   string   // a flag with its value ("--scope prefix"), or a command ("curtsy update DIR")
	Note   string   // on the difference; may be empty
}

// All returns a copy of the table, in the order of the documentation.
func All() []phrase { return slices.Clone(phrases) }

//go:embed phrasebook.txt
var phrasebook string

// phrases are the options of wget, HTTrack and Scrapy. FlagError and docs/guides/coming-from.md use them.
var phrases = func() (all []phrase) {
	for line := range strings.Lines(phrasebook) {
		if f := strings.Split(strings.TrimSpace(line), " | "); len(f) > 2 {
			f = append(f, "") // an empty note
			all = append(all, phrase{strings.Fields(f[0]), f[1], f[2], f[3]})
		}
	}
	return all
}()

// Find returns the phrase for a flag with its dashes, or a setting without. A setting may also be written as a flag
// (--download-delay).
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

// Flag returns the name of the flag in Ours, without dashes; "" if Ours is a command.
func (p phrase) Flag() string {
	name, _, _ := strings.Cut(p.Ours, " ")
	name, ok := strings.CutPrefix(name, "--")
	if !ok {
		return ""
	}
	return name
}

func (p phrase) String() string {
	if p.Note == "" {
		return "that is " + p.Ours + " here"
	}
	return "that is " + p.Ours + " here (" + p.Note + ")"
}
