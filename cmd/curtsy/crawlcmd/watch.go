package crawlcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/freshness"
	"curtsy/crawler/status"
	"curtsy/crawler/watch"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// watching are the flags of watch that are not settings of the crawl.
type watching struct {
	options
	lasts      time.Duration
	once, list bool
}

func NewWatch(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	var w watching
	cmd := cli.Command("watch")
	cmd.Long += "\n\n" + inherits
	config.Flags(&s, cmd.Flags())
	fs := cmd.Flags()
	fs.Var((*crawldir.Duration)(&w.lasts), "for", "`TIME` end after this time; 0 = never")
	fs.BoolVar(&w.once, "once", false, "visit the URLs that are due, then end")
	fs.BoolVar(&w.list, "list", false, "print the plan, page by page, without any request")
	cli.Often(fs, "per-host-per-day", "min-interval", "max-interval", "fresh", "round-interval", "for", "once", "list")
	cli.Group(fs, "Watching")
	w.flags(fs)
	cmd.RunE = w.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		w.dir = args[0]
		return w.run(cmd.Context(), cmd.Flags(), &s, std)
	})
	return cmd
}

func (w *watching) run(ctx context.Context, flags *pflag.FlagSet, s *crawldir.Settings, std cli.Streams) error {
	if err := prepareResume("watch", flags, s, &w.options, std); err != nil {
		return err
	}
	if s.PerHostPerDay == 0 {
		s.PerHostPerDay = watch.DefaultPerDay
	}
	if _, err := control.Connect(ctx, w.dir); err == nil {
		return fmt.Errorf("the crawl in %s is running: see curtsy status %s", w.dir, plainly.Argument(w.dir))
	}
	o := watch.Options{
		Policy: freshness.Policy{Min: s.MinInterval, Max: s.MaxInterval, Enough: s.Fresh}, PerDay: s.PerHostPerDay, Hosts: s.Hosts, Gather: s.Gather,
	}
	if w.list {
		return cli.UntilSignal(ctx, func(ctx context.Context) error { return w.print(ctx, o, std) })
	}
	if _, err := control.AskWatch(ctx, w.dir); err == nil {
		return fmt.Errorf("%s is already being watched: see curtsy status %s", w.dir, plainly.Argument(w.dir))
	}
	if err := crawldir.Remember(w.dir, s); err != nil {
		return err
	}
	if w.once {
		if err := crawldir.Opens(s, time.Now()); err != nil {
			return err
		}
	}
	defer cli.Tune(s.MemoryLimit)()
	if err := w.page.Listen(ctx); err != nil {
		return err
	}
	defer w.page.End()
	if err := w.page.Begin(ctx, w.dir, std); err != nil {
		return err
	}
	w.again = true
	at := &watch.Watch{Dir: w.dir, Settings: s, Options: o, Once: w.once}
	if w.lasts > 0 {
		at.End = time.Now().Add(w.lasts)
	}
	is := state{quiet: w.quiet, err: std.Err}
	at.Sleep = is.sleep
	if !w.quiet {
		at.Round = func(g budget.Generation, p *watch.Plan) {
			fmt.Fprintf(std.Err, "round %d: %s due\n", g.Number, plainly.Count(len(p.Due), "page"))
		}
	}
	alive, end := context.WithCancel(ctx)
	serving := errgroup.Group{}
	serving.Go(func() error {
		err := control.ServeWatch(alive, w.dir, is.get)
		if err != nil { // a watch lasts for weeks: report at once that it has no control interface
			fmt.Fprintf(std.Err, "warning: %s; the watch continues\n", plainly.OneLine(err.Error()))
		}
		return err
	})
	err := w.rounds(ctx, at, &is, s, std)
	end()
	return cmp.Or(err, serving.Wait())
}

// rounds runs rounds until the watch is over.
func (w *watching) rounds(ctx context.Context, at *watch.Watch, is *state, s *crawldir.Settings, std cli.Streams) error {
	for {
		more := false
		err := cli.UntilSignal(ctx, func(ctx context.Context) (err error) {
			more, err = at.Next(ctx)
			return err
		})
		if err != nil {
			return cli.InUse(err, w.dir)
		}
		if !more {
			return nil
		}
		is.mu.Lock()
		is.is.Next, is.is.Why, is.is.URL = time.Time{}, "", ""
		is.mu.Unlock()
		if err := w.round(ctx, s, std); err != nil {
			return err
		}
	}
}

// state is the state of the watch, for the control interface.
type state struct {
	quiet bool
	err   io.Writer

	mu sync.Mutex
	is status.Watch
}

func (s *state) get() status.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// sleep notes that nothing is due for a while.
func (s *state) sleep(is status.Watch) {
	s.mu.Lock()
	s.is = is
	s.mu.Unlock()
	if !s.quiet {
		fmt.Fprintln(s.err, text.Watch(is))
	}
}

// round runs one round, until it ends or a signal comes.
func (w *watching) round(ctx context.Context, s *crawldir.Settings, std cli.Streams) error {
	display := progress.New(std.Err, w.quiet, false)
	defer signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	result, sig, err := runIn(ctx, s, &w.options, World{}, display)
	display.Finish()
	if err == nil && s.Mirror {
		_, err = build(ctx, s, w.dir, display)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nThe disk is full. Nothing that was finished is lost: free some space, then run curtsy watch %s", err, plainly.Argument(w.dir))
	}
	if err != nil {
		return err
	}
	if w.follower() != nil {
		if err := w.ends(result.Summary, result.Changes); err != nil {
			return err
		}
	}
	if result.Changes != nil {
		if err := w.printChanges(result.Changes, std); err != nil {
			return err
		}
	}
	if sig != nil {
		return cli.Interrupted(sig)
	}
	return nil
}

func (w *watching) printChanges(c *crawldir.Changes, std cli.Streams) error {
	if !w.quiet {
		n := func(word storage.Change) int64 { return c.Counts[string(word)] }
		fmt.Fprintf(std.Err, "round %d: new %d, changed %d, unchanged %d, fresh, no request %d, gone %d, not known now %d, opted out %d\n", c.Generation,
			n(storage.ChangeNew), n(storage.ChangeChanged), n(storage.ChangeUnchanged), n(storage.ChangeFresh), n(storage.ChangeGone), c.Counts[crawldir.Unknown], c.Counts[crawldir.OptedOut])
	}
	if !w.json {
		return nil
	}
	return cli.WriteLine(std.Out, c)
}

// print prints the plan.
func (w *watching) print(ctx context.Context, o watch.Options, std cli.Streams) error {
	out := bufio.NewWriter(std.Out)
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if !w.json {
		fmt.Fprintln(table, "DUE\tINTERVAL\tCHANGES A DAY\tCHANGES/VISITS\tWHY\tURL")
	}
	n := 0
	_, err := watch.MakePlan(ctx, w.dir, o, func(e watch.Entry) error {
		if w.json {
			return cli.WriteLine(out, e)
		}
		due := "never"
		if !e.Due.IsZero() {
			due = e.Due.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%.3g\t%d/%d\t%s\t%s\n", due, plainly.Duration(e.Interval.Round(time.Second)), e.Rate, e.Changes, e.Visits, e.Why, plainly.OneLine(e.URL))
		if n++; n%1000 == 0 {
			return table.Flush()
		}
		return nil
	})
	if err != nil {
		return cli.InUse(err, w.dir)
	}
	return errors.Join(table.Flush(), out.Flush())
}
