package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/mirror"
)

// newServe serves a mirror on this machine, or to others.
func newServe(std cli.Streams) *cobra.Command {
	var listen string
	var offline bool
	cmd := cli.Command("mirror serve")
	cmd.Args = cli.OneDir
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return serveMirror(cmd.Context(), args[0], listen, offline, std)
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`ADDRESS:PORT` address to listen on; port 0 takes any free port")
	cmd.Flags().BoolVar(&offline, "offline", false, "keep browsers from loading anything from other hosts")
	cli.Group(cmd.Flags(), "Server")
	return cmd
}

func serveMirror(ctx context.Context, dir, listen string, offline bool, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	var start string
	if tree != dir {
		start = firstSeed(ctx, dir)
	}
	l, err := cli.Listen(ctx, listen)
	if err != nil {
		return err
	}
	elsewhere := cli.Elsewhere(l.Addr())
	h, err := mirror.NewHandler(mirror.ServeOptions{Tree: tree, Start: start, Offline: offline, AnyName: elsewhere})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if elsewhere {
		fmt.Fprintf(std.Err, "other machines may reach %s, and see everything in the mirror\n", l.Addr())
	}
	if _, err := fmt.Fprintf(std.Out, "http://%s/\n", cli.FromHere(l.Addr())); err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	return errors.Join(untilDone(ctx, l, h), h.Close())
}

// untilDone serves until ctx ends, and then lets the answers under way be finished.
func untilDone(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
