package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
)

// benching is what the command line of bench says.
type benching struct {
	setup                         string
	rounds, pages, hosts, workers int64 // but for rounds, 0 means as the setup has it
	discovered                    []int
	pace, latency, peerLimit      crawldir.Duration
	vs                            []string
	memory, maxBody               crawldir.Size
	dir, profile, svg, docs       string
	large                         bool
	flags                         *pflag.FlagSet
	json, quiet                   bool
}

func newRoot(std cli.Streams) *cobra.Command {
	var b benching
	root := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure the cost of crawling on this machine",
		Long: "Measure the cost of crawling on this machine, on a web of made-up pages that\n" +
			"another process serves on loopback, in rounds that alternate between curtsy and\n" +
			"the programs it is compared with. Everything is on: robots.txt, a durable\n" +
			"frontier, archive and ledger. The servers check each run.\n" +
			"docs/dev/performance.md explains each figure.",
		Example: "  bench\n" +
			"  bench --vs bare --vs peers\n" +
			"  bench --vs bare --vs 'wget2 -q -r -l inf -P {dir} {url}'\n" +
			"  bench --setup many-hosts --rounds 9\n" +
			"  bench --setup saturation --hosts 1000 --pace 1s --workers 32\n" +
			"  bench --setup growth --discovered 100000,1000000\n" +
			"  bench --setup mirror\n" +
			"  bench --setup hostile\n" +
			"  bench --setup scale --svg scale.svg\n" +
			"  bench --vs checkers --docs /usr/share/doc/python3-doc/html\n" +
			"  bench --rounds 1 --vs none --profile prof",
		Args:          cli.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.flags = cmd.Flags()
			return runBench(cmd.Context(), &b, std)
		},
	}
	fs := root.Flags()
	b.webFlags(fs)
	cli.Group(fs, "Web")
	b.measureFlags(fs)
	cli.Group(fs, "Measurement")
	fs.StringVar(&b.svg, "svg", "", "write the curves of scale into `FILE`")
	fs.BoolVar(&b.json, "json", false, "print one JSON object")
	fs.BoolVarP(&b.quiet, "quiet", "q", false, "print the result only")
	cli.Group(fs, "Output")
	root.AddCommand(newWeb(std), newCrawl(std), newBare(std), newNull(std), newParts(std), newFrontier(std), newCheck(std))
	root.SetFlagErrorFunc(cli.FlagError)
	root.SetUsageFunc(cli.Usage)
	cli.Finish(root)
	return root
}

func (b *benching) webFlags(fs *pflag.FlagSet) {
	fs.StringVar(&b.setup, "setup", OneHost, "measure this setup, `NAME`: "+Setups())
	cli.Words(fs, "setup", SetupNames()...)
	fs.Var(crawldir.AtLeast(&b.pages, 0), "pages", "`N` pages in all; 0 = the default of the setup")
	fs.Var(crawldir.AtLeast(&b.hosts, 0), "hosts", "`N` hosts; 0 = the default of the setup")
	fs.Var(crawldir.AtLeast(&b.workers, 0), "workers", "`N` requests at a time; 0 = the default of the setup")
	b.pace = crawldir.Duration(500 * time.Millisecond)
	fs.Var(&b.pace, "pace", "`TIME` between requests that the hosts of saturation require; from 1s on they\nare third-party hosts, below that your own")
	b.latency = crawldir.Duration(20 * time.Millisecond)
	fs.Var(&b.latency, "latency", "`TIME` that each response of saturation takes")
	fs.IntSliceVar(&b.discovered, "discovered", []int{100_000, 1_000_000}, "crawl until `N` URLs are known, once for each N, in growth;\nin scale, the steps (there 1,000 to 1,000,000)")
	b.maxBody = 100 << 20
	fs.Var(&b.maxBody, "max-body", "maximum `SIZE` of a body in hostile, as for crawl")
	fs.BoolVar(&b.large, "large", false, "continue to 10,000,000 URLs in scale; takes minutes")
}

func (b *benching) measureFlags(fs *pflag.FlagSet) {
	b.rounds = 5
	fs.Var(crawldir.AtLeast(&b.rounds, 1), "rounds", "measure each program `N` times, alternately; scale measures once")
	fs.StringArrayVar(&b.vs, "vs", nil, "compare with `PROGRAM`: bare (fetch and parse, nothing kept), model (a frontier in\nmemory), dashboard (open in 5 browsers, scraped each second),\nwget, wget2, httrack, scrapy, peers (those of the four that are\ninstalled), none, checkers (curtsy linkcheck beside wget --spider, linkchecker, muffet and\nlinkinator, on known faults), or a command line with {url}, {urls} or {seeds} (a file), and\n{dir}; repeatable (default bare for one-host and many-hosts, peers for mirror)")
	cli.Words(fs, "vs", "bare", "model", "dashboard", "wget", "wget2", "httrack", "scrapy", "peers", "none", "checkers")
	b.peerLimit = crawldir.Duration(2 * time.Minute)
	fs.Var(&b.peerLimit, "peer-limit", "stop a peer after `TIME`, and report its result until then")
	fs.StringVar(&b.docs, "docs", "", "also time the checkers on the pages in `FOLDER`")
	b.memory = crawldir.Size(crawldir.Defaults().MemoryLimit)
	fs.Var(&b.memory, "memory-limit", "use up to `SIZE` of memory to save time, as for crawl")
	fs.StringVar(&b.dir, "dir", "", "keep crawls under `DIR` while they run; the disk counts (default a temporary\none)")
	fs.StringVar(&b.profile, "profile", "", "write processor and allocation profiles of each crawl into `DIR`, for\ngo tool pprof, and report the cost of each stage; slightly slower")
}

// config is what the command line comes to.
func (b *benching) config() Config {
	c := Config{
		Setup: b.setup, Rounds: int(b.rounds), Pages: int(b.pages), Hosts: int(b.hosts), Workers: int(b.workers),
		Discovered: b.discovered, Pace: time.Duration(b.pace), Latency: time.Duration(b.latency), PeerLimit: time.Duration(b.peerLimit),
		VS: b.vs, Memory: int64(b.memory), MaxBody: int64(b.maxBody), Dir: b.dir, Profile: b.profile, SVG: b.svg, Docs: b.docs, Large: b.large,
		Given: b.flags.Changed, Version: crawldir.Version, Unset: []string{config.EnvName("config")},
	}
	for _, name := range crawldir.Names() {
		c.Unset = append(c.Unset, config.EnvName(name))
	}
	return c
}

// mayWrite refuses files that would take the place of others, before anything is measured.
func (b *benching) mayWrite() error {
	if err := cli.MayWrite("--svg", b.svg, userfile.Kind{Name: "a picture of scale", Mark: PictureMark}); err != nil {
		return err
	}
	if b.profile == "" {
		return nil
	}
	profiles, err := crawldir.Entries(b.profile, "", ".pprof")
	if err != nil {
		return cli.Usagef("--profile: %w", err)
	}
	for _, path := range append(profiles, filepath.Join(b.profile, "new.pprof")) { // of gzip, all of them
		if err := cli.MayWrite("--profile", path, userfile.Kind{Name: "a profile", Mark: "\x1f\x8b"}); err != nil {
			return err
		}
	}
	return nil
}

func runBench(ctx context.Context, b *benching, std cli.Streams) error {
	if err := b.mayWrite(); err != nil {
		return err
	}
	return cli.UntilSignal(ctx, func(ctx context.Context) error {
		display := progress.New(std.Err, b.quiet, false)
		result, err := Run(ctx, b.config(), display.Say)
		display.Finish()
		if err != nil {
			return coded(err)
		}
		if b.json {
			err = cli.WriteJSON(std.Out, result)
		} else {
			err = result.WriteText(std.Out)
		}
		return coded(errors.Join(err, result.Verdict()))
	})
}

// coded gives an error of a bench its exit code.
func coded(err error) error {
	var misused *UsageError
	var found *Found
	switch {
	case errors.As(err, &misused):
		return &cli.Error{Code: cli.ExitUsage, Err: err}
	case errors.As(err, &found):
		return &cli.Error{Code: cli.ExitFound, Err: err}
	}
	return err
}
