package main

import (
	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
)

// configCommand is curtsy config with its commands.
func configCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Create, show, check and change settings",
		Long: "Create, show, check and change the settings of crawls. Each setting is a flag of\n" +
			"curtsy crawl (--max-pages 500), an environment variable (CURTSY_MAX_PAGES=500)\n" +
			"and a key of a TOML file (max-pages = 500). A flag wins over the environment,\n" +
			"then --config, then the crawl's own file or, for a new crawl, yours.",
		Args: cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInit(std), newShow(std), newConfigCheck(std), newSet(std))
	return cmd
}
