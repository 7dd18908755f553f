package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
)

func main() {
	runtime.MemProfileRate = 0 // only --profile wants samples, and sets it
	std := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Report(std.Err, newRoot(std).ExecuteContext(context.Background())))
}

// bench is what the command line says, and what all runs share.
type bench struct {
	name                          string // of the setup
	rounds, pages, hosts, workers int    // except for rounds, 0 means the default of the setup
	discovered                    []int
	pace, peerLimit               time.Duration
	vs                            []string
	dir, profile, docs            string
	json                          bool
	given                         func(flag string) bool
	say                           func(format string, args ...any) // reports progress

	contenders []contender
	self       string   // this program
	env        []string // of its other processes
	tmp        string   // where crawls are kept
	webs       map[webConfig]*remoteWeb
}

func newRoot(std cli.Streams) *cobra.Command {
	b := bench{webs: map[webConfig]*remoteWeb{}}
	b.say = func(format string, args ...any) { fmt.Fprintf(std.Err, format+"\n", args...) }
	root := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure the cost of crawling on this machine",
		Long: "Measure the cost of crawling on this machine, on generated pages that another\n" +
			"process serves on loopback, in rounds that alternate between curtsy and the\n" +
			"programs it is compared with. Everything is on: robots.txt, a durable frontier,\n" +
			"archive and ledger. The servers check each run.\n" +
			"docs/dev/performance.md explains each setup and figure.",
		Args: cli.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.given = cmd.Flags().Changed
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return b.run(ctx, std.Out) })
		},
	}
	root.SetFlagErrorFunc(cli.FlagError)
	fs := root.Flags()
	fs.StringVar(&b.name, "setup", oneHost, "measure this setup, `NAME`: "+setupNames)
	fs.IntVar(&b.rounds, "rounds", 5, "measure each program `N` times, alternately")
	fs.IntVar(&b.pages, "pages", 0, "`N` pages in all; 0 = the default of the setup")
	fs.IntVar(&b.hosts, "hosts", 0, "`N` hosts; 0 = the default of the setup")
	fs.IntVar(&b.workers, "workers", 0, "`N` requests at a time; 0 = the default of the setup")
	fs.DurationVar(&b.pace, "pace", 500*time.Millisecond, "`TIME` between requests that the hosts of saturation require; from 1s on they\nare third-party hosts, below that your own")
	fs.IntSliceVar(&b.discovered, "discovered", nil, "crawl until `N` URLs are known, once for each N, in growth (default\n100000,1000000)")
	fs.StringArrayVar(&b.vs, "vs", nil, "compare with `PROGRAM`: bare (fetch and parse, nothing stored), wget, wget2,\nhttrack, scrapy, peers (those of the four that are installed), none, checkers (link\ncheckers), or a command line with {url}, {urls} or {seeds} (a file), and {dir};\nrepeatable (default bare for one-host and many-hosts, peers for mirror)")
	fs.DurationVar(&b.peerLimit, "peer-limit", 2*time.Minute, "stop a peer after `TIME`, and report its result until then")
	fs.StringVar(&b.docs, "docs", "", "also time the link checkers on the pages in `FOLDER`")
	fs.StringVar(&b.dir, "dir", "", "store crawls under `DIR` while they run; the disk counts (default a temporary one)")
	fs.StringVar(&b.profile, "profile", "", "write processor and allocation profiles of each crawl into `DIR`, for go tool pprof,\nand report the cost of each stage; slightly slower")
	fs.BoolVar(&b.json, "json", false, "print one JSON object")
	linkcheck := crawlcmd.NewLinkCheck(std)
	linkcheck.Hidden = true
	root.AddCommand(linkcheck, newChild(std))
	return root
}
