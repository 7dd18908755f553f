package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// benching is what the command line of bench says.
type benching struct {
	setup                         string
	rounds, pages, hosts, workers number // but for rounds, 0 means as the setup has it
	discovered                    []int
	pace, latency, peerLimit      duration
	vs                            []string
	memory, maxBody               size
	dir, profile, svg             string
	large                         bool
	flags                         *pflag.FlagSet
	options
}

func newBench(std stdio) *cobra.Command {
	var b benching
	cmd := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure what crawling costs, here, beside others",
		Long: "Measure what crawling costs on this machine: on a web of made-up pages that a\n" +
			"process of its own serves on loopback, in rounds that alternate with whom curtsy\n" +
			"is compared to. Everything is on: robots.txt, a durable frontier, archive and\n" +
			"ledger. A referee on the servers' side judges each run. What each figure means\n" +
			"stands in docs/performance.md.",
		Example: "  curtsy bench\n" +
			"  curtsy bench --vs bare --vs peers\n" +
			"  curtsy bench --vs bare --vs 'wget2 -q -r -l inf -P {dir} {url}'\n" +
			"  curtsy bench --setup many-hosts --rounds 9\n" +
			"  curtsy bench --setup saturation --hosts 1000 --pace 1s --workers 32\n" +
			"  curtsy bench --setup growth --discovered 100000,1000000\n" +
			"  curtsy bench --setup mirror\n" +
			"  curtsy bench --setup hostile\n" +
			"  curtsy bench --setup scale --svg scale.svg\n" +
			"  curtsy bench --rounds 1 --vs none --profile prof",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.flags = cmd.Flags()
			return bench(cmd.Context(), &b, std)
		},
	}
	fs := cmd.Flags()
	b.webFlags(fs)
	inGroup(fs, "Web")
	b.measureFlags(fs)
	inGroup(fs, "Measurement")
	fs.StringVar(&b.svg, "svg", "", "write the curves of scale into `FILE`")
	fs.BoolVar(&b.json, "json", false, "print one JSON object")
	fs.BoolVarP(&b.quiet, "quiet", "q", false, "print the result only")
	inGroup(fs, "Output")
	cmd.AddCommand(newBenchWeb(std), newBenchCrawl(std), newBenchBare(std), newBenchNull(std), newBenchParts(std), newBenchFrontier(std))
	return cmd
}

func (b *benching) webFlags(fs *pflag.FlagSet) {
	fs.StringVar(&b.setup, "setup", setupOneHost, "what is measured, a `NAME`: "+setupNames())
	fs.Var(&b.pages, "pages", "`N` pages in all; 0 for what the setup has")
	fs.Var(&b.hosts, "hosts", "`N` hosts; 0 likewise")
	fs.Var(&b.workers, "workers", "`N` exchanges at a time; 0 likewise")
	b.pace = duration(500 * time.Millisecond)
	fs.Var(&b.pace, "pace", "`TIME` between exchanges that the hosts of saturation ask for; from 1s on they\nare foreign hosts, below that your own")
	b.latency = duration(20 * time.Millisecond)
	fs.Var(&b.latency, "latency", "`TIME` that each answer of saturation takes")
	fs.IntSliceVar(&b.discovered, "discovered", []int{100_000, 1_000_000}, "crawl until `N` URLs are known, once for each N, in growth;\nin scale, the steps (there 1,000 to 1,000,000)")
	b.maxBody = 100 << 20
	fs.Var(&b.maxBody, "max-body", "largest `SIZE` of a body in hostile, as of crawl")
	fs.BoolVar(&b.large, "large", false, "go on to 10,000,000 URLs in scale; that takes minutes")
}

func (b *benching) measureFlags(fs *pflag.FlagSet) {
	b.rounds = number{5, 1}
	fs.Var(&b.rounds, "rounds", "measure each of them `N` times, in turn; scale measures once")
	fs.StringArrayVar(&b.vs, "vs", nil, "compare with `WHOM`: bare (fetch and parse, nothing kept), model (a frontier in\nmemory), wget, wget2, httrack, scrapy, peers (those of the four that are\ninstalled), none, or a command line with {url}, {urls} or {seeds} (a file), and\n{dir}; repeatable (default bare for one-host and many-hosts, peers for mirror)")
	b.peerLimit = duration(2 * time.Minute)
	fs.Var(&b.peerLimit, "peer-limit", "stop a peer after `TIME`, and say what it did until then")
	b.memory = defaultMemory
	fs.Var(&b.memory, "memory-limit", "`SIZE` of memory to save time with, as of crawl")
	fs.StringVar(&b.dir, "dir", "", "keep crawls under `DIR` while they run; the disk counts (default a temporary\none)")
	fs.StringVar(&b.profile, "profile", "", "write profiles of each crawl into `DIR`, of the processor and of allocations, for\ngo tool pprof, and say what each stage takes; it costs a little")
}

func bench(ctx context.Context, b *benching, std stdio) error {
	plan, err := b.plan()
	if err != nil {
		return err
	}
	return untilSignal(ctx, func(ctx context.Context) error {
		voice := newVoice(std.err, &b.options)
		if plan.setup == setupScale {
			return scale(ctx, b, plan, voice, std)
		}
		result, err := plan.run(ctx, voice)
		if err != nil {
			return err
		}
		if b.json {
			err = writeJSON(std.out, result)
		} else {
			err = writeBench(std.out, result)
		}
		return errors.Join(err, result.verdict())
	})
}

// limitReached says that a peer was stopped.
func limitReached(limit time.Duration) string {
	d := duration(limit)
	return fmt.Sprintf("stopped after %s", d.String())
}
