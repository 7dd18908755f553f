package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/canon"
)

type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// WriteLine prints a line of NDJSON.
func WriteLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// MayWrite refuses to let an option replace a file of another kind.
func MayWrite(option, path string, k userfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := k.Writable(path, crawldir.Place()); err != nil {
		return Usagef("%s: %w", option, err)
	}
	return nil
}

// URL parses a URL from the command line.
func URL(raw string) (canon.URL, error) {
	u, err := canon.Parse(raw)
	if err == nil {
		return u, nil
	}
	if _, why := crawldir.Seed(raw, ""); why != nil {
		return u, Usagef("%s", strings.Replace(why.Error(), "seed ", "URL ", 1))
	}
	return u, Usagef("%w", err)
}

// Listen listens at the address of --listen. A failure is a usage error.
func Listen(ctx context.Context, at string) (net.Listener, error) {
	return ListenFor(ctx, "--listen", at)
}

// ListenFor is Listen for another flag.
func ListenFor(ctx context.Context, flag, at string) (net.Listener, error) {
	if err := mayListen(flag, at); err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, networkOf(at), at)
	if err != nil {
		return nil, Usagef("%s %s: %w", flag, at, err)
	}
	return l, nil
}

// mayListen returns an error unless at is an address with a port.
func mayListen(flag, at string) error {
	const like = "write it like 127.0.0.1:8080, with port 0 for any that is free"
	_, port, err := net.SplitHostPort(at)
	if _, e := strconv.ParseUint(at, 10, 16); err != nil && e == nil {
		return Usagef("%s %s is a port without an address; write 127.0.0.1:%s", flag, at, at)
	}
	if err != nil {
		return Usagef("%s %s is not an address with a port; %s", flag, at, like)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return Usagef("%s %s: the port is not a number up to 65535; %s", flag, at, like)
	}
	return nil
}

// networkOf returns "tcp4" for an IPv4 address, so that 0.0.0.0 excludes IPv6.
func networkOf(listen string) string {
	if at, err := netip.ParseAddrPort(listen); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Elsewhere reports whether other machines may reach an address.
func Elsewhere(listened net.Addr) bool {
	at, err := netip.ParseAddrPort(listened.String())
	return err != nil || !at.Addr().Unmap().IsLoopback()
}

// FromHere returns an address that can be opened on this machine, also if listened is unspecified.
func FromHere(listened net.Addr) string {
	at, err := netip.ParseAddrPort(listened.String())
	switch a := at.Addr(); {
	case err != nil || !a.IsUnspecified():
		return listened.String()
	case a.Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(int(at.Port())))
}

// UntilSignal calls do with a context that ends with a signal; do then removes unfinished files. A second signal ends the
// process at once. A closed standard output counts as SIGPIPE.
func UntilSignal(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // writes fail instead
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

// Interruptible makes a RunE of do with UntilSignal.
func Interruptible(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return UntilSignal(cmd.Context(), func(ctx context.Context) error { return do(ctx, args) })
	}
}

// cancellable reads until done is closed. A read from a terminal or a pipe cannot be cancelled: the pending one is abandoned,
// with its own buffer.
type cancellable struct {
	in   io.Reader
	done <-chan struct{}
	buf  []byte
}

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

const (
	garbage   = 400 // GOGC
	lookEvery = 500 * time.Millisecond
	looks     = 120 // memory alive at all these looks raises the limit: successive large pages do not
)

// Tune sets the garbage collector for a crawl; stop restores it. It does nothing without a limit, or if GOGC or GOMEMLIMIT is
// in the environment.
//
// Most memory of a crawl is soon garbage: a page's tree lives for a millisecond. At GOGC=100, collecting takes much of the
// processor time. So the collector waits until the heap has grown fivefold, or the process nears the limit.
//
// The limit is soft: the nearer the live heap, the more often the collector runs, in vain. A crawl that holds more than two
// thirds of the limit therefore gets half as much again as it holds. One large page does not raise the limit; many in a row
// raise the default by a few MiB.
func Tune(limit int64) (stop func()) {
	if limit <= 0 || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent, before := debug.SetGCPercent(garbage), debug.SetMemoryLimit(limit)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		raise(limit, done)
	}()
	return func() {
		close(done)
		<-ended
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(before)
	}
}

// Bound sets the garbage collector for a command that reads an archive, with documents of several megabytes: from 48 MiB on it
// works harder. stop restores it. Bound does nothing if GOMEMLIMIT is in the environment.
func Bound() (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(48 << 20)
	return func() { debug.SetMemoryLimit(before) }
}

// raise sets the limit to room of the live heap until done is closed.
func raise(asked int64, done <-chan struct{}) {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	limit := asked
	var last [looks]int64
	for i := 0; ; i = (i + 1) % looks {
		select {
		case <-done:
			return
		case <-ticks.C:
		}
		metrics.Read(live)
		last[i] = int64(live[0].Value.Uint64())
		if want := room(asked, slices.Min(last[:])); want != limit {
			limit = want
			debug.SetMemoryLimit(limit)
		}
	}
}

// room is the limit for a live heap, in bytes.
func room(asked, live int64) int64 { return max(asked, live+live/2) }
