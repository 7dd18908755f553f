package crawlcmd

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler"
)

// attend runs a crawl with signals and progress around it, which is told to people, or as events. It returns the signal that
// ended the crawl, or nil. Nobody who reads standard error any more counts as a broken pipe's signal. The signals stay
// caught when it returns, so that one that comes late does not interrupt the closing of the directory.
//
// alerts, if not nil, follows the crawl, too.
func attend(ctx context.Context, c *crawler.Crawl, display *progress.Display, events *journal, alerts func(context.Context)) (summary crawler.Summary, sig os.Signal, err error) {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Asked for by Notify, this signal would come for every connection that a server resets, too.
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)

	var beside errgroup.Group
	unread := make(chan struct{}) // closed when no event can be written
	beside.Go(func() error {
		deaf, unread := display.Deaf, unread
		unheard := func() {
			if deaf, unread = nil, nil; sig == nil {
				sig = syscall.SIGPIPE
				c.Drain()
			}
		}
		for {
			select {
			case <-over.Done():
				return nil
			case <-deaf:
				unheard()
			case <-unread:
				unheard()
			case got := <-signals:
				if sig != nil {
					display.Say("aborting; resume repeats the unfinished requests")
					abort()
					continue
				}
				sig = got
				display.Say("finishing requests in flight; press Ctrl-C again to abort them")
				c.Drain()
			}
		}
	})
	beside.Go(func() error {
		if events == nil {
			display.Follow(over, c)
		} else {
			events.Follow(over, c, func(error) { close(unread) })
		}
		return nil
	})
	if alerts != nil {
		beside.Go(func() error {
			alerts(over)
			return nil
		})
	}
	summary, err = c.Run(ctx)
	end()
	err = errors.Join(err, beside.Wait()) // before sig is read, which is set until then
	return summary, sig, err
}
