package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/dashboard"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

func newStatus(std cli.Streams) *cobra.Command {
	var asJSON, watch bool
	var every crawldir.Duration
	cmd := cli.Command("status", cli.Flags{"watch": &watch, "interval": &every, "json": &asJSON})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case !watch && cmd.Flags().Changed("interval"):
			return cli.Usagef("--interval is for --watch")
		case watch && cmd.Flags().Changed("interval") && time.Duration(every) < shortestWatch:
			return cli.Usagef("--interval: a crawl is looked at no more often than every %v", shortestWatch)
		case !watch:
			return statusOnce(cmd.Context(), args[0], asJSON, std)
		}
		if err := crawldir.Require(args[0]); err != nil {
			return err
		}
		w := &statusWatch{std: std, dir: args[0], every: time.Duration(every), json: asJSON, source: dashboard.NewDirectory(args[0])}
		if !asJSON {
			w.terminal = progress.TerminalOf(std.Out)
		}
		return cli.UntilSignal(cmd.Context(), w.run)
	}
	return cmd
}

// statusOf queries the running crawl, or reads the frontier if none answers: a control file may be damaged, or left by
// a kill, but the lock of the frontier is reliable.
func statusOf(ctx context.Context, dir string) (st status.Status, err error) {
	if err := crawldir.Require(dir); err != nil {
		return status.Status{}, err
	}
	watch, unwatched := control.AskWatch(ctx, dir)
	st, asked := control.Ask(ctx, dir)
	defer func() {
		if unwatched != nil {
			return
		}
		if st.Watch = &watch; asked != nil && !watch.Next.IsZero() {
			st.State = status.Watching
		}
	}()
	if asked == nil {
		return st, nil
	}
	f, err := engine.OpenReadOnly(dir)
	if errors.Is(err, frontier.ErrInUse) && errors.Is(asked, control.ErrNotRunning) {
		return status.Status{}, fmt.Errorf("%s is in use, by a crawl that is starting or ending, or by another command; try again later", dir)
	}
	if errors.Is(err, frontier.ErrInUse) {
		return status.Status{}, fmt.Errorf("the crawl in %s is running, but does not report its state: %w", dir, asked)
	}
	if err != nil {
		return status.Status{}, cli.Damaged(err, dir)
	}
	st, err = status.Of(ctx, f)
	all, statsErr := f.Stats(ctx)
	if err = errors.Join(err, statsErr, f.Close()); err != nil || !st.Killed {
		return st, err
	}
	began := budget.GenerationOf(all.Counts).Began
	if requests, err := ledger.Asked(filepath.Join(dir, crawldir.LedgerName), began); err == nil { // else keep the frontier's counts
		st.Tell(requests)
	}
	return st, nil
}

// addTimes adds the time of the first line of the ledger, and when its last line was written.
func addTimes(st *status.Status, dir string) {
	for l, err := range ledger.Read(filepath.Join(dir, crawldir.LedgerName)) {
		if err == nil {
			st.Began = &l.Time
		}
		break
	}
	segments, err := os.ReadDir(filepath.Join(dir, crawldir.LedgerName))
	if err != nil || st.Began == nil {
		return
	}
	for _, s := range segments {
		if fi, err := s.Info(); err == nil && fi.Size() > 0 && (st.Last == nil || fi.ModTime().After(*st.Last)) {
			at := fi.ModTime().UTC()
			st.Last = &at
		}
	}
}

// statusWatch shows a crawl until it ends.
type statusWatch struct {
	std   cli.Streams
	dir   string
	every time.Duration // between two looks; zero for the default
	json  bool

	source interface {
		Look(ctx context.Context) (dashboard.Look, error)
	}
	terminal *progress.Terminal // nil where lines are printed
	rates    status.Samples
	last     dashboard.Look // of the crawl while it ran
	ran      bool           // a look found it running
	silent   time.Time      // start of its silence; zero while it answers
}

const (
	watchLive     = time.Second
	shortestWatch = 100 * time.Millisecond
	watchPlain    = 10 * time.Second
	longestQuiet  = 10 * time.Second // an ending crawl closes its files
	rateSpan      = 10 * time.Second
)

func (w *statusWatch) run(ctx context.Context) (err error) {
	if w.every == 0 {
		if w.every = watchPlain; w.terminal != nil {
			w.every = watchLive
		}
	}
	w.rates = status.Keep(int(rateSpan/min(w.every, rateSpan))+2, w.every/2)
	if w.terminal != nil {
		defer func() { err = errors.Join(err, w.terminal.Leave()) }()
	}
	ticks := time.NewTicker(w.every)
	defer ticks.Stop()
	for {
		over, err := w.look(ctx)
		if over || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
	}
}

// look looks once, and reports whether the crawl is over.
func (w *statusWatch) look(ctx context.Context) (over bool, err error) {
	look, err := w.source.Look(ctx)
	now := time.Now()
	switch {
	case err != nil && (!w.ran || ctx.Err() != nil):
		return false, err
	case err != nil && w.silent.IsZero():
		w.silent = now
		return false, nil
	case err != nil && now.Sub(w.silent) < longestQuiet:
		return false, nil
	case err != nil:
		return true, w.end("no longer reports its state: " + plainly.OneLine(plainly.Error(err)))
	}
	w.silent = time.Time{}
	if !look.Running {
		return true, w.ended(now, look)
	}
	w.ran, w.last = true, look
	w.rates.Add(status.Sample{
		At: now, Pages: look.Status.Pages, Bytes: look.Status.Bytes, Exchanges: look.Status.Exchanges, Permitted: look.Waits.Permitted,
	})
	return false, w.show(now, look)
}

func (w *statusWatch) show(now time.Time, look dashboard.Look) error {
	rates := w.rates.Over(rateSpan)
	switch {
	case w.json:
		return cli.WriteLine(w.std.Out, lineOf(now, look, rates))
	case w.terminal != nil:
		return w.terminal.Draw(progress.Line(look.Look, rates))
	}
	_, err := fmt.Fprintln(w.std.Out, progress.Line(look.Look, rates))
	return err
}

// ended shows the last look at a crawl that does not run.
func (w *statusWatch) ended(now time.Time, look dashboard.Look) error {
	s := &look.Status
	s.Elapsed = w.last.Status.Elapsed
	if err := w.show(now, look); err != nil {
		return err
	}
	n := s.Queued + s.InFlight + s.Deferred
	be := "are"
	if n == 1 {
		be = "is"
	}
	resume := plainly.Argument(w.dir)
	switch {
	case !w.ran && s.State == "finished":
		return w.end("is finished; there is nothing to watch")
	case !w.ran:
		return w.end("does not run; continue it with curtsy resume " + resume)
	case s.Killed:
		return w.end("was killed, and nothing is lost: continue it with curtsy resume " + resume)
	case s.State == "finished":
		return w.end("has ended: everything is done. See curtsy report " + resume)
	}
	return w.end(fmt.Sprintf("has ended, and %s %s left: continue it with curtsy resume %s", plainly.Count(n, "URL"), be, resume))
}

// end reports how the crawl ended, below the live line.
func (w *statusWatch) end(how string) error {
	if w.terminal != nil {
		if err := w.terminal.Leave(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w.std.Err, "The crawl in %s %s\n", plainly.Lines(w.dir), plainly.Lines(how))
	return err
}

type watchLine struct {
	Time    time.Time     `json:"time"`
	Running bool          `json:"running"`
	Status  status.Status `json:"status"`
	Waits   status.Waits  `json:"waits"`
	Rates   struct {
		Pages     float64 `json:"pages"`
		Bytes     float64 `json:"bytes"`
		Exchanges float64 `json:"exchanges"`
	} `json:"per_s"`
	Estimate watchEstimate `json:"estimate"`
}

type watchEstimate struct {
	Least    float64 `json:"least_s"`
	Likely   float64 `json:"likely_s"`
	Known    int64   `json:"known"`
	Expected int64   `json:"expected"`
	Open     bool    `json:"open"`
	Until    string  `json:"until,omitempty"`
	Host     string  `json:"host,omitempty"`
	Pace     float64 `json:"pace_s"`
	PaceBy   string  `json:"pace_by,omitempty"`
}

func lineOf(now time.Time, look dashboard.Look, rates status.Rates) watchLine {
	e := look.Estimate
	l := watchLine{Time: now.UTC(), Running: look.Running, Status: look.Status, Waits: look.Waits, Estimate: watchEstimate{
		Least: e.Left.Seconds(), Likely: e.Likely.Seconds(), Known: e.Known, Expected: e.Expected, Open: e.Open, Until: e.Until,
		Host: e.Host, Pace: e.Pace.Seconds(), PaceBy: e.PaceBy,
	}}
	l.Rates.Pages, l.Rates.Bytes, l.Rates.Exchanges = rates.Pages, rates.Bytes, rates.Exchanges
	return l
}

func statusOnce(ctx context.Context, dir string, asJSON bool, std cli.Streams) error {
	st, err := statusOf(ctx, dir)
	if err != nil {
		return err
	}
	addTimes(&st, dir)
	if asJSON {
		return cli.WriteJSON(std.Out, st)
	}
	now := time.Now()
	_, err = fmt.Fprint(std.Out, text.Status(st, dir, now), windowOf(st, dir, now))
	return err
}

// windowOf is a line on the window of a stopped crawl: a running one reports itself that it waits.
func windowOf(st status.Status, dir string, now time.Time) string {
	s, err := crawldir.ReadSettings(dir)
	if err != nil || st.State == "running" || st.State == status.OutsideWindow {
		return ""
	}
	w, err := hostrule.ParseSpans(s.Window)
	if err != nil || len(w) == 0 {
		return ""
	}
	is := "open now"
	if at, ok := w.Opens(now); ok && at.After(now) {
		is = "closed now, opens at " + w.Clock(at)
	}
	return fmt.Sprintf("%-12s %s; %s\n", "window", w, is)
}
