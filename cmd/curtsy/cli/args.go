package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
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

// FrontierFile has do look at a file with the frontier of the crawl in dir: its own when it is stopped, a snapshot that
// the running crawl writes and that is removed afterwards.
func FrontierFile(ctx context.Context, dir string, do func(ctx context.Context, path string) error) error {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	remote, asked := control.Connect(ctx, dir)
	if asked != nil {
		return do(ctx, filepath.Join(dir, crawldir.FrontierName))
	}
	if locator := engine.Locator(dir); locator != "" { // anybody may read the server
		return do(ctx, locator)
	}
	return UntilSignal(ctx, func(ctx context.Context) error { // a signal, too, removes the snapshot
		path, err := remote.Snapshot(ctx)
		if err != nil {
			return fmt.Errorf("the running crawl could not write a snapshot: %w", err)
		}
		return errors.Join(do(ctx, path), os.Remove(path))
	})
}

// Reading has do read the frontier of the crawl in dir, running or not.
func Reading(ctx context.Context, dir string, do func(ctx context.Context, f frontier.Stored) error) error {
	return FrontierFile(ctx, dir, func(ctx context.Context, path string) error {
		f, err := engine.OpenReadOnly(path)
		if err != nil {
			return InUse(err, dir)
		}
		return Damaged(errors.Join(do(ctx, f), f.Close()), dir)
	})
}

// WhileStopped has do work on a crawl that does not run, and does not begin to until do is done.
func WhileStopped(ctx context.Context, dir string, do func(f frontier.Stored) error) error {
	_, asked := control.Connect(ctx, dir)
	f, err := engine.OpenReadOnly(dir)
	if asked == nil || errors.Is(err, frontier.ErrInUse) {
		if err == nil {
			err = f.Close() // it ended in between; the user is told the same, and the next try works
		}
		return errors.Join(fmt.Errorf("the crawl in %s is running, and its archive must not change meanwhile: interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), or wait for its end, and run the command again", dir),
			notInUse(err))
	}
	if err != nil {
		return Damaged(err, dir)
	}
	return errors.Join(do(f), f.Close())
}

func notInUse(err error) error {
	if errors.Is(err, frontier.ErrInUse) {
		return nil
	}
	return err
}
