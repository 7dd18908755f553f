package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/frontier/engine"
	"curtsy/storage/plainly"
)

// frontierCommand is the group of commands about what a crawl has to do, and what it has done.
func frontierCommand(std cli.Streams) *cobra.Command {
	cmd := cli.Family("frontier", newFrontierList(std), newAdd(std), newPause(std), newUnpause(std), newDrop(std), newRetry(std), newRelease(std),
		newExport(std), newImport(std), newRepair(std))
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Swallowed(cmd, args); err != nil { // cobra runs only the nearest hook
			return err
		}
		if len(args) == 0 || engine.Locator(args[0]) == "" {
			return nil
		}
		name := cmd.CommandPath()
		if urls, err := cmd.Flags().GetBool("urls"); err == nil && urls {
			name += " --urls"
		}
		return crawldir.RefusedInFleet(name)
	}
	return cmd
}

// dirFirst is for commands that take a crawl directory and, behind it, up to most other arguments.
func dirFirst(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args) - 1; n >= least && (most < 0 || n <= most) {
			return nil
		}
		if len(args) == 0 {
			return fmt.Errorf("%s takes a crawl directory first: write %s", cmd.Name(), cmd.UseLine())
		}
		return fmt.Errorf("%s does not take %s: write %s", cmd.Name(), plainly.Count(int64(len(args)), "argument"), cmd.UseLine())
	}
}
