package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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

// bashWords splits the line into words in a bash without the package bash-completion.
//
//go:embed words.bash
var bashWords string

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func newCompletion(std cli.Streams) *cobra.Command {
	cmd := cli.Command("completion")
	cmd.ValidArgsFunction = func(_ *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return shells(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("completion takes one shell: %s", strings.Join(shells(), ", "))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		script, err := completion(cmd.Root(), args[0])
		if err != nil {
			return cli.Usagef("%w", err)
		}
		_, err = std.Out.Write(script)
		return err
	}
	return cmd
}

func completion(root *cobra.Command, shell string) ([]byte, error) {
	var b bytes.Buffer
	write := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        root.GenZshCompletion,
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
	}[shell]
	if write == nil {
		return nil, fmt.Errorf("no completion for %q%s: write one of %s", shell, didYouMean(shell, shells()), strings.Join(shells(), ", "))
	}
	if err := write(&b); err != nil {
		return nil, err
	}
	if shell == "bash" {
		b.WriteString(bashWords)
	}
	return b.Bytes(), nil
}

// didYouMean suggests the nearest of some names; "" for none.
func didYouMean(word string, names []string) string {
	if n := plainly.Nearest(word, names); n != "" {
		return "; did you mean " + n + "?"
	}
	return ""
}

const (
	offerFiles = cobra.ShellCompDirectiveDefault // the shell offers files
	nothing    = cobra.ShellCompDirectiveNoFileComp
	wordGoesOn = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // more of the same word follows
)

// attach has cmd, and all commands below it, complete their arguments and flags. Only a process that completes calls it:
// cobra keeps the commands for as long as the process lives.
func attach(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := ofFlag(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails where the flag has a function already
		}
	})
	switch {
	case cmd.Name() == "help":
		cmd.ValidArgsFunction = commandsOffered
	case cmd.ValidArgsFunction == nil:
		cmd.ValidArgsFunction = ofArgs(cmd)
	}
	for _, sub := range cmd.Commands() {
		attach(sub)
	}
}

// A kind is a kind of argument, by its completion.
type kind int

const (
	other       kind = iota // known to the user only
	file                    // a file name, which the shell completes
	crawlWord               // a crawl directory
	commandWord             // the command of another program
)

// kindsOfWords maps the placeholders of usage lines and flags to their completions.
var kindsOfWords = map[string]kind{
	"DIR": crawlWord, "PATH": file, "FILE": file, "WARC": file, "FOLDER": file, "CDXJ": file, "A": file, "B": file, "OLD": file, "NEW": file,
	"CONFIG": file, "[HOST=]FILE": file, "FILE|KEY": file, "FILE|SIZE:HEX": file, "KEY": file,
	"COMMAND": commandWord,
}

// noArgument matches the parts of usage lines that are not arguments.
var noArgument = regexp.MustCompile(`\[(flags|-[^\]]*)\]|\([^)]*\)| -- `)

// takes returns the kinds that each argument of a usage line may have, and whether the last may be repeated.
func takes(use string) (args [][]kind, again bool) {
	for _, w := range strings.Fields(noArgument.ReplaceAllString(use, " "))[1:] {
		w = strings.Trim(w, "[]")
		bare := strings.TrimSuffix(strings.TrimSuffix(w, "…"), "...")
		again = bare != w
		var ks []kind
		for _, name := range strings.Split(bare, "|") {
			ks = append(ks, kindsOfWords[name])
		}
		args = append(args, ks)
	}
	return args, again
}

func ofArgs(cmd *cobra.Command) cobra.CompletionFunc {
	args, again := takes(cmd.Use)
	return func(_ *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
		n := len(given)
		if again && n >= len(args) {
			n = len(args) - 1
		}
		if n >= len(args) {
			return nil, nothing
		}
		return offer(args[n], begun)
	}
}

func offer(ks []kind, begun string) (all []string, then cobra.ShellCompDirective) {
	then = nothing
	for _, k := range ks {
		switch k {
		case crawlWord:
			all, then = append(all, crawls(begun)...), offerFiles
		case file, commandWord:
			then = offerFiles
		}
	}
	return all, then
}

// ofFlag completes the value of a flag; nil if it takes none.
func ofFlag(f *pflag.Flag) cobra.CompletionFunc {
	if words := cli.WordsOf(f); words != nil {
		return ofWords(words, f.Value.Type() == "stringSlice")
	}
	what, _ := pflag.UnquoteUsage(f)
	k := kindsOfWords[what]
	switch {
	case f.NoOptDefVal != "":
		return nil
	case k == crawlWord: // most flags name a directory to create
		k = file
	}
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return offer([]kind{k}, begun)
	}
}

// ofWords completes words, or beginnings of words, and each item of a list.
func ofWords(words []string, list bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (all []string, then cobra.ShellCompDirective) {
		then = nothing
		before, last := "", begun
		if at := strings.LastIndexByte(begun, ','); list && at >= 0 {
			before, last = begun[:at+1], begun[at+1:]
		}
		for _, w := range words {
			if strings.HasPrefix(w, last) && !strings.Contains(","+before, ","+w+",") {
				all = append(all, before+w)
				if list || strings.ContainsAny(w[len(w)-1:], "=:<>") {
					then = wordGoesOn
				}
			}
		}
		return all, then
	}
}

func commandsOffered(cmd *cobra.Command, given []string, begun string) (all []string, then cobra.ShellCompDirective) {
	about, rest, err := cmd.Root().Find(given)
	if err != nil || len(rest) > 0 {
		return nil, nothing
	}
	for _, c := range about.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
			all = append(all, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return all, nothing
}

// mostEntries bounds the entries of a folder that completion reads.
const mostEntries = 10_000

func crawls(begun string) (all []string) {
	before, name := filepath.Split(begun)
	in := before
	if in == "" {
		in = "."
	}
	folder, err := os.Open(in)
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, _ := folder.ReadDir(mostEntries) // those that can be read
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name) || plainly.OneLine(e.Name()) != e.Name() {
			continue
		}
		if fi, err := os.Stat(filepath.Join(in, e.Name(), crawldir.FrontierName)); err == nil && fi.Mode().IsRegular() {
			all = append(all, before+e.Name())
		}
	}
	slices.Sort(all)
	return all
}

// mark is at the top of every file that install-docs writes. install-docs replaces no file without it.
const mark = "Written by curtsy install-docs from the help of the command."

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

// usualPrefix is the prefix of software without a package manager.
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

type shellPage struct {
	path string
	text []byte
}

// docs returns the files to install, in the order of their paths.
func docs(root *cobra.Command, prefix string) ([]shellPage, error) {
	var all []shellPage
	date := thisBuild().Time // of the commit
	if date.IsZero() {
		date = time.Now()
	}
	man, err := manual(root, mark, date)
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
		// The first line of a zsh script names the command it completes.
		first, rest, _ := bytes.Cut(script, []byte("\n"))
		text := slices.Concat(first, []byte("\n# "+mark+"\n"), rest)
		all = append(all, shellPage{filepath.Join(prefix, "share", filepath.FromSlash(path)), text})
	}
	slices.SortFunc(all, func(a, b shellPage) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	return all, nil
}

// install writes all files, or none if another file is in the place of one.
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

// manual returns the manual pages of cmd and of all commands below it, by file name (curtsy-frontier-ls.1). The mark is a
// comment at the top of each. It turns the texts of the commands into Markdown.
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
		maps.Copy(pages, more)
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

// option makes the page show a flag's placeholder instead of its default, which moves into the text.
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

// unquoted is a flag value whose default pflag shows without quotes.
type unquoted struct{ pflag.Value }

func (unquoted) Type() string { return "" }

var escape = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "#", `\#`)

// markdown is help as Markdown: indented lines become literal blocks.
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
