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
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a settings file",
		Long: "Report every error in a settings file, with line and column: unknown keys, with\n" +
			"the closest known one, invalid values, and settings that conflict. Exit code 2:\n" +
			"there are errors.",
		Example: "  curtsy config check crawl.toml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("config check takes one file, not %d", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
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
		},
	}
}
