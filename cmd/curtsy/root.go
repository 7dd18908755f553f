package main

import (
	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/configcmd"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/cmd/curtsy/crawltestcmd"
	"curtsy/cmd/curtsy/dashboardcmd"
	"curtsy/cmd/curtsy/evidencecmd"
	"curtsy/cmd/curtsy/explaincmd"
	"curtsy/cmd/curtsy/exportcmd"
	"curtsy/cmd/curtsy/frontiercmd"
	"curtsy/cmd/curtsy/identity"
	"curtsy/cmd/curtsy/linkcheckcmd"
	"curtsy/cmd/curtsy/redactcmd"
	"curtsy/cmd/curtsy/robotscmd"
	"curtsy/cmd/curtsy/shellcmd"
	"curtsy/cmd/curtsy/warccmd"
	"curtsy/crawler/crawldir"
)

func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "curtsy",
		Short: "A polite concurrent web crawler that leaves evidence",
		Long: "curtsy crawls web sites politely: robots.txt and the pace a site asks for always\n" +
			"hold, a kill loses nothing, and what was fetched is kept as WARC with a ledger\n" +
			"of every decision.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.KnownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       crawldir.Version,
	}
	root.Flags().Bool("version", false, "print the version") // without cobra's -v, which is --verbose elsewhere
	root.SetVersionTemplate(shellcmd.VersionText())
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageFunc(cli.Usage)
	root.SetHelpCommand(cli.HelpCommand())
	root.AddCommand(
		crawlcmd.NewDemo(std),
		crawlcmd.NewPlan(std),
		crawlcmd.New(std),
		crawlcmd.NewMirror(std),
		crawlcmd.NewJoin(std),
		redactcmd.First(linkcheckcmd.New(std), std),
		redactcmd.First(crawlcmd.NewResume(std), std),
		redactcmd.First(crawlcmd.NewUpdate(std), std),
		redactcmd.First(crawlcmd.NewWatch(std), std),
		newStatus(std),
		dashboardcmd.New(std),
		explaincmd.Command(std),
		redactcmd.First(evidencecmd.Diff(std), std),
		redactcmd.First(evidencecmd.Report(std), std),
		redactcmd.First(exportcmd.New(std), std),
		frontiercmd.Command(std),
		identity.Command(std),
		configcmd.Command(std),
		robotscmd.Command(std),
		newOptOut(std),
		redactcmd.Command(std),
		evidencecmd.Ledger(std),
		warccmd.Command(std),
		redactcmd.First(evidencecmd.Audit(std), std),
		crawltestcmd.Command(std),
		shellcmd.NewCompletion(std),
		shellcmd.NewInstallDocs(std),
		shellcmd.NewVersion(std),
	)
	root.InitDefaultHelpCmd()
	cli.Finish(root)
	return root
}
