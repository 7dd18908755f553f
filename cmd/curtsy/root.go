package main

import (
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/phrasebook"
	"curtsy/crawler/crawldir"
)

func newRoot(std stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "curtsy",
		Short: "A polite concurrent web crawler that leaves evidence",
		Long: "curtsy crawls web sites politely: robots.txt and the pace a site asks for always\n" +
			"hold, a kill loses nothing, and what was fetched is kept as WARC with a ledger\n" +
			"of every decision.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:           crawldir.Version,
	}
	root.Flags().Bool("version", false, "print the version") // without cobra's -v, which is --verbose elsewhere
	root.SetVersionTemplate(versionText())
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage)
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newDemo(std),
		newCrawl(std),
		newMirror(std),
		newResume(std),
		newUpdate(std),
		newStatus(std),
		newExplain(std),
		newReport(std),
		newPack(std),
		newServe(std),
		newFrontier(std),
		newIdentity(std),
		newRobots(std),
		newOptOut(std),
		newLedger(std),
		newWARC(std),
		newAudit(std),
		newCrawltest(std),
		newBench(std),
		newVersion(std),
	)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	finishCommands(root)
	return root
}

// finishCommands gives root and the commands below it what is the same for all: usage lines as they are written, and
// wrong arguments as usage errors.
func finishCommands(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w", err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		finishCommands(sub)
	}
}

// knownCommand refuses what no command took, with the nearest one that exists.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := nearest(args[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], near)
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// oneDir is for commands that take a crawl directory.
func oneDir(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("%s takes one crawl directory, not %d: write %s", cmd.Name(), len(args), cmd.UseLine())
}

// noArgs is for commands that take flags only.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

var flagName = regexp.MustCompile(`--([\w-]+)`)

// flagError explains a wrong flag, with the nearest one that exists.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		return usagef("--%s: %w", invalid.GetFlag().Name, noNumber(invalid))
	case errors.As(err, &unknown):
		if p, ok := elsewhere(cmd, unknown); ok {
			return usagef("%w; %s", err, p)
		}
		if m := flagName.FindStringSubmatch(err.Error()); m != nil {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
			if near := nearest(m[1], names); near != "" {
				return usagef("%w; did you mean --%s?", err, near)
			}
		}
	}
	return usagef("%w; see %s --help", err, cmd.CommandPath())
}

// noNumber says what a flag takes that was given something that strconv does not read.
func noNumber(err *pflag.InvalidValueError) error {
	var number *strconv.NumError
	switch {
	case !errors.As(err, &number):
		return errors.Unwrap(err)
	case err.GetFlag().Value.Type() == "bool":
		return fmt.Errorf("%q: write true or false, or nothing behind the name", number.Num)
	case errors.Is(number, strconv.ErrRange):
		return fmt.Errorf("%q is too large", number.Num)
	}
	return fmt.Errorf("%q: write a whole number", number.Num)
}

// elsewhere finds what the user may know by another name, from another crawler, if it can be said with this command.
func elsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) (phrasebook.Phrase, bool) {
	given := []string{"--" + unknown.GetSpecifiedName()}
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		given = []string{"-" + short, "-" + unknown.GetSpecifiedName()} // -np; or -l5
	}
	for _, g := range given {
		p, ok := phrasebook.Find(g)
		if ok && cmd.Flags().Lookup("seeds") != nil && (p.Flag() == "" || cmd.Flags().Lookup(p.Flag()) != nil || strings.Contains(p.Note, "curtsy mirror")) {
			return p, true
		}
	}
	return phrasebook.Phrase{}, false
}

func versionText() string {
	return fmt.Sprintf("curtsy %s %s/%s %s\n", crawldir.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func newVersion(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(std.out, versionText())
			return err
		},
	}
}
