package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

func newConfigCheck(std cli.Streams) *cobra.Command {
	cmd := cli.Command("config check")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("config check takes one file, not %d", len(args))
		}
		return nil
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		wrong := crawldir.CheckFile(args[0])
		for _, err := range wrong {
			fmt.Fprintln(std.Err, plainly.Lines(plainly.Error(config.Nearer(err))))
		}
		if len(wrong) > 0 {
			fmt.Fprintf(std.Err, "curtsy: %s in %s\n", plainly.Count(len(wrong), "error"), plainly.Lines(args[0]))
			return cli.Silent(cli.ExitUsage)
		}
		_, err := fmt.Fprintf(std.Out, "%s: OK\n", plainly.Lines(args[0]))
		return err
	}
	return cmd
}
