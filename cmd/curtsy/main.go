package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
)

func main() {
	runtime.MemProfileRate = 0 // no profile is taken
	os.Exit(run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run is the program without its process.
func run(ctx context.Context, args []string, std cli.Streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		attach(root)
	}
	return cli.Report(std.Err, root.ExecuteContext(ctx))
}

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
	root.SetVersionTemplate(thisBuild().String())
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

// build identifies the program, for bug reports and reproducible builds.
type build struct {
	Version  string    `json:"version"`
	Commit   string    `json:"commit,omitempty"` // of the source; empty if the build lacks it
	Time     time.Time `json:"time,omitzero"`    // of the commit
	Modified bool      `json:"modified,omitempty"`
	Go       string    `json:"go"`
	System   string    `json:"system"`
}

func thisBuild() build {
	b := build{Version: crawldir.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Time = at.UTC()
			}
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	text := fmt.Sprintf("curtsy %s %s %s\n", b.Version, b.System, b.Go)
	if b.Commit == "" {
		return text
	}
	changed := ""
	if b.Modified {
		changed = ", with changes"
	}
	return text + fmt.Sprintf("commit %s of %s%s\n", b.Commit, b.Time.Format("2006-01-02"), changed)
}

func newVersion(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("version", cli.Flags{"json": &asJSON})
	cmd.RunE = func(*cobra.Command, []string) error {
		if asJSON {
			return cli.WriteJSON(std.Out, thisBuild())
		}
		_, err := fmt.Fprint(std.Out, thisBuild())
		return err
	}
	return cmd
}
