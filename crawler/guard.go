package crawler

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// guardPanic calls run and reports whether it panicked: what a site sends must not stop the crawl of all others, even
// when it finds a defect of ours.
func (c *outcomes) guardPanic(what fmt.Stringer, run func() error) (was bool, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		stack := debug.Stack()
		if before, ok := p.(*panicked); ok { // it has happened beside this goroutine
			p, stack = before.value, before.stack
		}
		c.cfg.Log("%s: a defect of this program, please report it: panic: %v\n%s", what, p, stack)
		was = true
	}()
	return false, run()
}

// errLease is why a turn's context ends before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means that the lease's time is over, and not that somebody aborts.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}

// aborted has a line written for an exchange that an abort cut short: the host was asked, though nothing came of it, and
// its own log may say so.
func (v *visit) aborted(ctx context.Context, err error, line func(context.Context) error) error {
	if err == nil || !over(ctx, err) || v.end.IsZero() {
		return nil // nobody was asked, or it is a failure of our own state
	}
	return line(context.WithoutCancel(ctx))
}
