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
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/ledger"
)

func newStatus(std cli.Streams) *cobra.Command {
	var asJSON, watch bool
	var every crawldir.Duration
	cmd := cli.Command("status")
	cmd.Args = cli.OneDir
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
		return watchStatus(cmd.Context(), args[0], time.Duration(every), asJSON, std)
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "refresh until the crawl ends")
	cmd.Flags().Var(&every, "interval", "`TIME` with --watch: time between two updates (default 1s on a terminal, else 10s)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object; with --watch one on each line")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

// statusOf asks the running crawl, or reads the frontier when none answers: a control file may be left of a kill, or
// damaged, but the frontier's lock does not lie.
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
	if told, err := ledger.Asked(filepath.Join(dir, crawldir.LedgerName), began); err == nil { // else the frontier's own counts must do
		st.Tell(told)
	}
	return st, nil
}

// addTimes adds when the crawl began, by the first line of its ledger, and when the last line was written.
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
			at := fi.ModTime()
			st.Last = &at
		}
	}
}
