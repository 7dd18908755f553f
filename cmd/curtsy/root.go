package main

import (
	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
)

func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "curtsy",
		Short: "Crawl web sites politely and archive them",
		Long: "curtsy crawls web sites politely and archives them as WARC, with a\n" +
			"tamper-evident log of every decision.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cli.KnownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Version:       crawldir.Version,

		PersistentPreRunE: cli.Swallowed,
	}
	root.Flags().Bool("version", false, "print the version") // without cobra's -v, which is --verbose elsewhere
	root.SetVersionTemplate(versionText())
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageFunc(cli.Usage)
	root.SetHelpCommand(cli.HelpCommand())
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Crawl", []*cobra.Command{
			crawlcmd.New(std),
			redactFirst(crawlcmd.NewResume(std), std),
			redactFirst(crawlcmd.NewUpdate(std), std),
			redactFirst(crawlcmd.NewWatch(std), std),
			crawlcmd.NewMirror(std),
			crawlcmd.NewPlan(std),
			crawlcmd.NewJoin(std),
		}},
		{"Inspect", []*cobra.Command{
			newStatus(std),
			crawlcmd.NewDashboard(std),
			explainCommand(std),
			redactFirst(report(std), std),
			redactFirst(diffCommand(std), std),
			redactFirst(crawlcmd.NewLinkCheck(std), std),
		}},
		{"Data", []*cobra.Command{
			redactFirst(exportCommand(std), std),
			cli.Family("warc", newList(std), newCat(std), newWarcCheck(std), newIndex(std)),
		}},
		{"Compliance", []*cobra.Command{
			redactFirst(auditCommand(std), std),
			cli.Family("ledger", newLedgerCheckpoint(std), newLedgerKey(std), newLedgerProve(std), newLedgerVerify(std), newLedgerSubmit(std), newLedgerCompare(std)),
			crawlcmd.NewIdentity(std),
			cli.Family("optout", newOptOutAdd(std), newOptOutList(std)),
			redactCommand(std),
			cli.Family("robots", newCheck(std), newLint(std), newDiff(std)),
		}},
		{"Manage", []*cobra.Command{
			cli.Family("config", newInit(std), newShow(std), newConfigCheck(std), newSet(std)),
			frontierCommand(std),
			newCompletion(std),
			newInstallDocs(std),
			newVersion(std),
		}},
		{"Learn and test", []*cobra.Command{
			crawlcmd.NewDemo(std),
			cli.Family("crawltest", newScore(std), newServe(std)),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	root.InitDefaultHelpCmd()
	cli.Finish(root)
	return root
}
