package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/crawler/control"
)

// UntilSignal calls do, whose context ends with a signal: what do was making, it takes away before the process ends. A
// second signal ends the process at once. That nobody reads our output any more counts as the signal of a broken pipe.
func UntilSignal(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // a write says it
	defer signal.Reset(syscall.SIGPIPE)

	var sig os.Signal
	var watch sync.WaitGroup
	done := make(chan struct{})
	watch.Go(func() {
		defer signal.Stop(signals)
		select {
		case sig = <-signals:
			cancel()
		case <-done:
		}
	})
	err := do(ctx)
	close(done)
	watch.Wait()
	switch {
	case sig != nil && errors.Is(err, context.Canceled):
		return Interrupted(sig)
	case errors.Is(err, syscall.EPIPE) && !errors.Is(err, control.ErrNotRunning):
		return Interrupted(syscall.SIGPIPE)
	}
	return err
}

// Interruptible is a command whose work ends with a signal, as UntilSignal has it.
func Interruptible(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return UntilSignal(cmd.Context(), func(ctx context.Context) error { return do(ctx, args) })
	}
}

// cancellable reads from a stream until done is closed. A read from a terminal or a pipe cannot be cancelled: one that is
// under way then is left to the end of the process, with a buffer of its own.
type cancellable struct {
	in   io.Reader
	done <-chan struct{}
	buf  []byte
}

// StdinUntil is standard input until ctx ends.
func StdinUntil(ctx context.Context, in io.Reader) io.Reader {
	return &cancellable{in: in, done: ctx.Done(), buf: make([]byte, 64<<10)}
}

func (c *cancellable) Read(p []byte) (int, error) {
	type piece struct {
		n   int
		err error
	}
	read := make(chan piece, 1)
	size := min(len(p), len(c.buf))
	go func() {
		n, err := c.in.Read(c.buf[:size])
		read <- piece{n, err}
	}()
	select {
	case got := <-read:
		return copy(p, c.buf[:got.n]), got.err
	case <-c.done:
		return 0, context.Canceled
	}
}
