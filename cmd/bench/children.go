package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler/crawldir"
)

// What bench measures runs in processes of its own, so that processor time and memory are told apart. They are hidden
// commands of this program, called by these names and flags.

func newCrawl(std cli.Streams) *cobra.Command {
	var stats, profile string
	var volatile bool
	cmd := &cobra.Command{
		Use:    "crawl [flags] -- ARGS",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "crawl" {
				return cli.Usagef("only bench runs this command")
			}
			w := crawlcmd.World{}
			if volatile {
				w.Open = InMemory(cmd.Context())
			}
			crawl := crawlcmd.NewIn(w, std)
			crawl.SetArgs(args[1:])
			crawl.SilenceErrors, crawl.SilenceUsage = true, true
			stop, err := Profile(profile)
			if err != nil {
				return err
			}
			err = crawl.ExecuteContext(cmd.Context())
			return errors.Join(err, stop(), SaveStats(stats))
		},
	}
	cmd.Flags().StringVar(&stats, "stats", "", "`FILE`")
	cmd.Flags().StringVar(&profile, "profile", "", "`FILE`")
	cmd.Flags().BoolVar(&volatile, "model", false, "")
	return cmd
}

func newBare(cli.Streams) *cobra.Command {
	var stats, seeds string
	var workers, most int
	var memory crawldir.Size
	cmd := &cobra.Command{
		Use:    "bare [flags]",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := Seeds(seeds)
			if err != nil {
				return coded(err)
			}
			stop := cli.Tune(int64(memory))
			err = Bare(cmd.Context(), from, workers, most)
			stop()
			return errors.Join(err, SaveStats(stats))
		},
	}
	cmd.Flags().StringVar(&stats, "stats", "", "`FILE`")
	cmd.Flags().StringVar(&seeds, "seeds", "", "`FILE`")
	cmd.Flags().IntVar(&workers, "workers", 1, "`N`")
	cmd.Flags().IntVar(&most, "max-pages", 0, "`N`")
	cmd.Flags().Var(&memory, "memory-limit", "`SIZE`")
	return cmd
}

// newNull asks for roots and throws away what comes: how fast is the web at most?
func newNull(std cli.Streams) *cobra.Command {
	var seeds string
	var workers int
	var lasts crawldir.Duration
	cmd := &cobra.Command{
		Use:    "null [flags]",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := Seeds(seeds)
			if err != nil {
				return coded(err)
			}
			rate, err := NullRate(cmd.Context(), from, workers, time.Duration(lasts))
			if err != nil {
				return err
			}
			return cli.WriteLine(std.Out, rate)
		},
	}
	cmd.Flags().StringVar(&seeds, "seeds", "", "`FILE`")
	cmd.Flags().IntVar(&workers, "workers", 1, "`N`")
	cmd.Flags().Var(&lasts, "lasts", "`TIME`")
	return cmd
}

func newParts(std cli.Streams) *cobra.Command {
	var seeds string
	var memory crawldir.Size
	cmd := &cobra.Command{
		Use:    "parts [flags]",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := Seeds(seeds)
			if err != nil {
				return coded(err)
			}
			stop := cli.Tune(int64(memory))
			parts, err := MeasureParts(cmd.Context(), from, PartsPages)
			stop()
			if err != nil {
				return err
			}
			return cli.WriteJSON(std.Out, parts)
		},
	}
	cmd.Flags().StringVar(&seeds, "seeds", "", "`FILE`")
	cmd.Flags().Var(&memory, "memory-limit", "`SIZE`")
	return cmd
}

func newWeb(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:    "web CONFIG",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return coded(Web(args[0], std.In, std.Out)) },
	}
}

func newFrontier(std cli.Streams) *cobra.Command {
	var dir string
	var urls, hosts int
	var volatile bool
	cmd := &cobra.Command{
		Use:    "frontier [flags]",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stats, err := LoadFrontier(cmd.Context(), dir, urls, hosts, volatile)
			if err != nil {
				return coded(err)
			}
			return cli.WriteJSON(std.Out, stats)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`DIR`")
	cmd.Flags().IntVar(&urls, "urls", 1000, "`N`")
	cmd.Flags().IntVar(&hosts, "hosts", 1, "`N`")
	cmd.Flags().BoolVar(&volatile, "model", false, "")
	return cmd
}

func newCheck(std cli.Streams) *cobra.Command {
	cmd := crawlcmd.NewLinkCheck(std)
	cmd.Hidden = true
	return cmd
}
