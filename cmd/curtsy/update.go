package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/totals"
	"curtsy/frontier/durable"
	"curtsy/storage/warc"
)

// newUpdate crawls anew what was crawled before.
func newUpdate(std stdio) *cobra.Command {
	var s settings
	var o options
	cmd := &cobra.Command{
		Use:   "update [flags] DIR",
		Short: "Crawl again what an ended crawl has, and say what changed",
		Long: "Crawl again from the seeds of an ended crawl, into the same archive and ledger.\n" +
			"Pages are asked for on condition that they changed; what did not change is kept\n" +
			"as a reference to the answer before. In the end it says what is new, changed,\n" +
			"unchanged and gone; DIR/" + changesName + " has it URL by URL. Settings are those of\n" +
			"the crawl; flags given now replace them for good, and budgets count anew. An\n" +
			"interrupted update goes on with curtsy resume.",
		Example: "  curtsy update news\n" +
			"  curtsy update --max-pages 500 --json news",
		Args: oneDir,
	}
	s.flags(cmd.Flags())
	o.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.dir = args[0]
		return update(cmd.Context(), cmd.Flags(), &s, &o, std)
	}
	return cmd
}

func update(ctx context.Context, flags *pflag.FlagSet, s *settings, o *options, std stdio) error {
	config, err := prepareResume(flags, s, o, std)
	if err != nil {
		return err
	}
	if _, err := crawler.Connect(ctx, o.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: it can be updated when it has ended; see curtsy status %s", o.dir, word(o.dir))
	}
	var g totals.Generation
	err = untilSignal(ctx, func(ctx context.Context) (err error) {
		g, err = beginGeneration(ctx, o.dir, func() error {
			return durable.WriteFile(inDir(o.dir, crawldir.ConfigName), config, 0o666)
		})
		return err
	})
	if err != nil {
		return err
	}
	if !o.quiet {
		fmt.Fprintf(std.Err, "generation %d of %s begins; should it be interrupted, go on with curtsy resume %s\n", g.Number, plain(o.dir), plain(word(o.dir)))
	}
	return runCrawl(ctx, s, o, world{config: config}, std)
}

// generationInfo notes which generation of a crawl an archive goes on with.
func (d *crawlDir) generationInfo(ctx context.Context, info warc.Info) (warc.Info, error) {
	stats, err := d.frontier.Stats(ctx)
	if err != nil {
		return info, err
	}
	d.generation = totals.GenerationOf(stats.Counts)
	fields := append(warc.Fields{}, info.Fields...)
	info.Fields = append(fields, warc.Field{Name: "generation", Value: fmt.Sprint(d.generation.Number)})
	return info, nil
}

// later gives a crawl its past, if it has one.
func (d *crawlDir) later(s *settings, cc *crawler.Config) (err error) {
	if d.generation.Number == 1 {
		return nil
	}
	cc.Past, err = s.past(d, cc.Log)
	return err
}

// conclude says what changed in a generation that a run has ended. ended says that nothing of it is left to do: then the
// frontier of the generation before has had its use.
func (d *crawlDir) conclude(ctx context.Context, s *settings, ended bool, say func(string, ...any)) (*changes, error) {
	if d.generation.Number == 1 {
		return nil, nil
	}
	if err := d.ledger.Sync(ctx); err != nil {
		return nil, err
	}
	p, err := s.past(d, say)
	if err != nil {
		return nil, err
	}
	c, err := d.changes(ctx, p, ended)
	if err != nil || !ended {
		return c, err
	}
	for n := range d.generation.Number { // those of updates that a budget had ended among them
		if err := os.Remove(inDir(d.path, oldFrontier(n))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("crawl directory: %w", err)
		}
	}
	return c, nil
}
