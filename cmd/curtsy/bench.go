package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// benching is what the command line of bench says.
type benching struct {
	setup                         string
	rounds, pages, hosts, workers number // but for rounds, 0 means as the setup has it
	pace, latency                 duration
	vs                            []string
	memory                        size
	dir, profile                  string
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
			"  curtsy bench --setup many-hosts --rounds 9\n" +
			"  curtsy bench --vs bare --vs 'wget2 -q -r -l inf -P {dir} {url}'\n" +
			"  curtsy bench --setup saturation --hosts 1000 --pages 20000 --pace 1s",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.flags = cmd.Flags()
			return bench(cmd.Context(), &b, std)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&b.setup, "setup", setupOneHost, "the web, a `NAME`: one-host, many-hosts, saturation or growth")
	fs.Var(&b.pages, "pages", "`N` pages in all; 0 for what the setup has")
	fs.Var(&b.hosts, "hosts", "`N` hosts; 0 likewise")
	fs.Var(&b.workers, "workers", "`N` exchanges at a time; 0 likewise")
	b.pace = duration(500 * time.Millisecond)
	fs.Var(&b.pace, "pace", "`TIME` between exchanges that the hosts of saturation ask for; from 1s on they\nare foreign hosts, below that your own")
	b.latency = duration(20 * time.Millisecond)
	fs.Var(&b.latency, "latency", "`TIME` that each answer of saturation takes")
	inGroup(fs, "Web")
	b.rounds = number{5, 1}
	fs.Var(&b.rounds, "rounds", "measure each of them `N` times, in turn")
	fs.StringArrayVar(&b.vs, "vs", nil, "compare with `WHOM`: bare (fetch and parse, nothing kept), model (a frontier in\nmemory), none, or a command line with {url}, {urls} or {seeds} (a file), and\n{dir}; repeatable (default bare, where it can be)")
	b.memory = defaultMemory
	fs.Var(&b.memory, "memory-limit", "`SIZE` of memory to save time with, as of crawl")
	fs.StringVar(&b.dir, "dir", "", "keep crawls under `DIR` while they run; the disk counts (default a temporary\none)")
	fs.StringVar(&b.profile, "profile", "", "write a processor profile of each crawl into `DIR`, for go tool pprof; it\ncosts a little")
	inGroup(fs, "Measurement")
	fs.BoolVar(&b.json, "json", false, "print one JSON object")
	fs.BoolVarP(&b.quiet, "quiet", "q", false, "print the result only")
	inGroup(fs, "Output")
	cmd.AddCommand(newBenchWeb(std), newBenchCrawl(std), newBenchBare(std), newBenchNull(std))
	return cmd
}

func bench(ctx context.Context, b *benching, std stdio) error {
	plan, err := b.plan()
	if err != nil {
		return err
	}
	return untilSignal(ctx, func(ctx context.Context) error {
		result, err := plan.run(ctx, newVoice(std.err, &b.options))
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
