package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// World is what a run meets outside its settings: the network, unless it is the real one, and the frontier, unless it is
// the usual one.
type World struct {
	Open    func(path string, o frontier.Options) (frontier.Frontier, error)
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// runCrawl runs the crawl in o.dir until its end and reports on it.
func runCrawl(ctx context.Context, s *crawldir.Settings, o *options, w World, std cli.Streams) error {
	defer cli.Tune(s.MemoryLimit)()
	if err := o.page.Begin(ctx, o.dir, std); err != nil {
		return err
	}
	display := progress.New(std.Err, o.quiet, false)
	// From the run on they are caught until all is closed and said.
	defer signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	result, sig, err := runIn(ctx, s, o, w, display)
	summary := result.Summary
	display.Finish()
	if err == nil && sig == nil && o.made && reachedNobody(summary) {
		return withdraw(o, summary, std)
	}
	if err == nil && s.Mirror {
		o.mirrored, err = build(ctx, s, o.dir, display)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nThe disk is full. Nothing that was finished is lost: free some space, then run curtsy resume %s", err, plainly.Argument(o.dir))
	}
	if err != nil {
		return err
	}
	if o.then != nil {
		if o.follower() != nil {
			if err := o.ends(summary, result.Changes); err != nil {
				return err
			}
		}
		return o.then(Ended{Dir: o.dir, Result: result, Signal: sig})
	}
	switch {
	case o.follower() != nil:
		if err := o.ends(summary, result.Changes); err != nil {
			return err
		}
	case !o.quiet:
		if o.mirrored != nil {
			fmt.Fprint(std.Err, o.mirrored.Lead())
		}
		fmt.Fprint(std.Err, text.Summary(summary, o.dir, w.Dial == nil))
		if result.Changes != nil {
			fmt.Fprint(std.Err, changesText(result.Changes))
		}
		if o.mirrored != nil {
			fmt.Fprint(std.Err, o.mirrored.Text())
		}
	case sig == nil:
		if summary.Incomplete {
			sayIncomplete(std.Err, summary, o.dir)
		}
		if o.mirrored.Incomplete() {
			why, _, _ := strings.Cut(o.mirrored.Lead(), "\n")
			fmt.Fprintf(std.Err, "curtsy: %s\n", why)
		}
	}
	if o.json {
		out := struct {
			crawler.Summary
			Update *crawldir.Changes `json:"update,omitempty"`
			Mirror *Built            `json:"mirror,omitempty"`
		}{summary, result.Changes, o.mirrored}
		if err := cli.WriteJSON(std.Out, out); err != nil {
			return err
		}
	}
	switch {
	case sig != nil:
		return cli.Interrupted(sig)
	case summary.Incomplete, o.mirrored.Incomplete():
		return cli.Silent(cli.ExitIncomplete)
	}
	return nil
}

// sayIncomplete says why a crawl is not complete.
func sayIncomplete(w io.Writer, s crawler.Summary, dir string) {
	why, command := plainly.Count(s.SeedsUnanswered, "seed")+" without a usable response", "report"
	if s.EndedBy == crawler.EndedWaiting {
		why, command = "the crawl ended incomplete", "status"
	}
	fmt.Fprintf(w, "curtsy: %s; see curtsy %s %s\n", why, command, plainly.Lines(plainly.Argument(dir)))
}

// runIn runs the crawl in o.dir, unless it is finished already. Until it begins a signal ends the opening: something of
// the directory may have to be made first, and take long. From then on it is asked to stop, and sig is the signal.
func runIn(ctx context.Context, s *crawldir.Settings, o *options, w World, display *progress.Display) (r crawldir.Result, sig os.Signal, err error) {
	opts := crawldir.Options{
		Settings: s, Say: func(n crawldir.Note) { display.Say("%s", cli.Note(n, o.dir)) },
		Resolve: w.Resolve, Dial: w.Dial, OpenFrontier: w.Open,
		Attend: func(ctx context.Context, start crawldir.Start) (summary crawler.Summary, err error) {
			if err := announce(s, o, start, display); err != nil {
				return summary, err
			}
			o.hooks.summary = &crawler.Summary{EndedBy: crawler.EndedInterrupted}
			summary, sig, err = attend(ctx, start.Crawl, display, o.follower(), func(ctx context.Context) {
				o.hooks.follow(ctx, o.dir, start.Crawl, display.Tell)
			})
			if err == nil {
				o.hooks.summary = &summary
			}
			return summary, err
		},
		Line: o.lines(display.Line),
	}
	if events := o.follower(); events != nil {
		opts.Operator = events.Act
	}
	var d *crawldir.Dir
	err = cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
		d, err = crawldir.Open(ctx, o.dir, opts)
		if err == nil && ctx.Err() != nil { // all was there, and still the crawl is not to begin
			err = errors.Join(ctx.Err(), d.Close())
		}
		return err
	})
	if errors.Is(err, frontier.ErrInUse) {
		return r, nil, fmt.Errorf("%w; see how it is with curtsy status %s", err, plainly.Argument(o.dir))
	}
	if err != nil {
		return r, nil, cli.Damaged(err, o.dir)
	}
	r, err = d.Run(ctx)
	return r, sig, errors.Join(err, d.Close())
}

// announce says where the crawl goes, and once that a short --delay is for the user's own hosts only.
func announce(s *crawldir.Settings, o *options, start crawldir.Start, display *progress.Display) error {
	foreign := start.Named || s.LoopbackForeign()
	seeds := plainly.Count(start.Seeds, "seed")
	switch {
	case o.dryRun:
		display.Say("requesting only robots.txt and sitemaps, for %s", seeds)
	case o.follower() != nil:
		if err := o.begins(s, start); err != nil {
			return err
		}
	case o.generation > 0:
		again := "resume"
		if s.LinkCheck {
			again = "linkcheck"
		}
		display.Say("updating %s (generation %d); after an interruption, continue with curtsy %s %s", o.dir, o.generation, again, plainly.Argument(o.dir))
	case o.again:
		display.Say("resuming crawl (%s) in %s", seeds, o.dir)
	default:
		display.Say("crawling from %s into %s", seeds, o.dir)
	}
	if names := s.OwnNames(); len(names) > 0 && !o.dryRun {
		display.Say("%s: your own once %s is found there", strings.Join(names, ", "), crawler.OwnerPath)
		foreign = false // the crawl says of each whether it is
	}
	if o.made && !o.json && !start.Named && !s.LoopbackForeign() && s.Delay == crawldir.Defaults().Delay {
		display.Say("all seeds are on this machine (loopback): --delay 0 would remove the delay of %v between requests", plainly.Duration(s.Delay))
	}
	if foreign && s.Delay < crawler.Floor {
		display.Say("--delay %v applies only to your own hosts; other hosts keep %v", plainly.Duration(s.Delay), crawler.Floor)
	}
	return nil
}
