package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
)

func newCrawl(std stdio) *cobra.Command { return newCrawlIn(world{}, std) }

// newCrawlIn is newCrawl in a world of its own.
func newCrawlIn(w world, std stdio) *cobra.Command {
	var s settings
	var o options
	cmd := &cobra.Command{
		Use:   "crawl [flags] SEED…",
		Short: "Crawl from seeds into a new directory",
		Long: "Crawl from seeds into a new directory. Each setting below but those of the first\n" +
			"and the last group is also an environment variable (CURTSY_MAX_PAGES=500) and a\n" +
			"key of a TOML file (max-pages = 500). A flag wins over the environment, then\n" +
			"--config, then your own configuration file.",
		Example: "  curtsy crawl https://www.your-domain.org/\n" +
			"  curtsy crawl --scope prefix --max-pages 500 https://www.your-domain.org/docs/\n" +
			"  curtsy crawl --dry-run --seeds list.txt",
	}
	fs := cmd.Flags()
	o.placeFlags(fs)
	s.flags(fs)
	o.flags(fs)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return crawl(cmd.Context(), fs, &s, &o, w, args, std)
	}
	return cmd
}

func crawl(ctx context.Context, flags *pflag.FlagSet, s *settings, o *options, w world, args []string, std stdio) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := resolve(s, flags, o.config, ""); err != nil {
		return err
	}
	warnEnv(std.Err, crawldir.Names())
	var config []byte
	var seeds []frontier.Candidate
	err := untilSignal(ctx, func(ctx context.Context) (err error) {
		if config, seeds, err = prepare(ctx, flags, s, o, args, std); err == nil {
			err = ctx.Err() // a signal that came too late to stop anything before
		}
		return err
	})
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(ctx, s, o, config, seeds, std)
	}
	o.made = true
	return runCrawl(ctx, s, o, w, std)
}

// prepare makes the crawl directory, with settings and seeds. For a dry run it makes none, and returns them.
func prepare(ctx context.Context, flags *pflag.FlagSet, s *settings, o *options, args []string, std stdio) (config []byte, seeds []frontier.Candidate, err error) {
	std.In = stdinUntil(ctx, std.In)
	from, err := openSeeds(args, o.seeds, o.verbose, std)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	first, err := from.next()
	if err != nil {
		return nil, nil, err
	}
	s.stayHome(flags, first, o, std)
	if err := s.Check(first); err != nil {
		return nil, nil, err
	}
	if config, err = s.TOML(); err != nil {
		return nil, nil, err
	}
	if o.dryRun {
		seeds, err = rest(ctx, first, from, s)
		return config, seeds, err
	}
	if o.dir == "" {
		o.dir = defaultDir(first, time.Now())
	}
	err = createDirFrom(ctx, o.dir, config, func() (batch []frontier.Candidate, err error) {
		if batch, first = first, nil; batch != nil {
			return batch, nil
		}
		if batch, err = from.next(); err == nil {
			err = s.Check(batch)
		}
		return batch, err
	})
	if err == nil {
		err = from.report(o.dir)
	}
	return nil, nil, err
}

// rest returns all seeds of which the first are known.
func rest(ctx context.Context, seeds []frontier.Candidate, from *seedSource, s *settings) ([]frontier.Candidate, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := from.next()
		if errors.Is(err, io.EOF) {
			return seeds, from.report("")
		}
		if err == nil {
			err = s.Check(batch)
		}
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, batch...)
	}
}

// newResume goes on with a crawl.
func newResume(std stdio) *cobra.Command {
	var s settings
	var o options
	cmd := &cobra.Command{
		Use:   "resume [flags] DIR",
		Short: "Go on with a crawl that was stopped or killed",
		Long: "Go on with a crawl that was stopped or killed. Settings are those of the crawl;\n" +
			"flags given now replace them for good.",
		Example: "  curtsy resume news\n" +
			"  curtsy resume --max-pages 0 news",
		Args: oneDir,
	}
	s.flags(cmd.Flags())
	o.flags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.dir = args[0]
		return resume(cmd.Context(), cmd.Flags(), &s, &o, std)
	}
	return cmd
}

// prepareResume reads the settings of a crawl that is to go on, and returns them as a file.
func prepareResume(flags *pflag.FlagSet, s *settings, o *options, std stdio) (config []byte, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := mustHoldCrawl(o.dir); err != nil {
		return nil, err
	}
	if err := mustBeWhole(o.dir); err != nil {
		return nil, err
	}
	if err := resolve(s, flags, o.config, inDir(o.dir, crawldir.ConfigName)); err != nil {
		return nil, err
	}
	warnEnv(std.Err, crawldir.Names())
	if err := s.Check(nil); err != nil {
		return nil, err
	}
	return s.TOML()
}

func resume(ctx context.Context, flags *pflag.FlagSet, s *settings, o *options, std stdio) error {
	config, err := prepareResume(flags, s, o, std)
	if err != nil {
		return err
	}
	if _, err := crawler.Connect(ctx, o.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: there is nothing to go on with; see curtsy status %s", o.dir, word(o.dir))
	}
	return runCrawl(ctx, s, o, world{config: config}, std)
}
