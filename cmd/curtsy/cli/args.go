package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/storage/plainly"
)

// Finish gives root and the commands below it what is the same for all: usage lines as they are written, and
// wrong arguments as usage errors.
func Finish(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return Usagef("%w", err)
			}
			return nil
		}
	}
	addHelpAll(cmd)
	for _, sub := range cmd.Commands() {
		Finish(sub)
	}
}

// earlier maps what commands were called before to their names.
var earlier = map[string]string{
	"curtsy changes":             "curtsy diff",
	"curtsy check":               "curtsy linkcheck",
	"curtsy forget":              "curtsy redact",
	"curtsy pack":                "curtsy export --format wacz",
	"curtsy serve":               "curtsy mirror serve",
	"curtsy frontier check":      "curtsy frontier repair --dry-run",
	"curtsy frontier compact":    "curtsy frontier repair --compact",
	"curtsy frontier park":       "curtsy frontier pause",
	"curtsy frontier rebuild":    "curtsy frontier repair",
	"curtsy frontier resume":     "curtsy frontier unpause",
	"curtsy frontier set":        "curtsy config set",
	"curtsy identity webbotauth": "curtsy identity keygen",
	"curtsy ledger head":         "curtsy ledger checkpoint",
	"curtsy ledger lodge":        "curtsy ledger submit",
}

// KnownCommand refuses an unknown command, and names the one that was probably meant.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if now := earlier[cmd.CommandPath()+" "+args[0]]; now != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], now)
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := plainly.Nearest(args[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], near)
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// OneDir is for commands that take a crawl directory.
func OneDir(cmd *cobra.Command, args []string) error {
	return Exactly(1, "one crawl directory")(cmd, args)
}

// Exactly is for commands that take so many arguments, in words.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s takes %s, not %d: write %s", cmd.Name(), what, len(args), cmd.UseLine())
	}
}

// NoArgs is for commands that take flags only.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}
