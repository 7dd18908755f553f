package main

import (
	"context"
	"io"
	"net"
	"net/netip"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
)

// in runs a command line of crawl, resume or update in a world of its own, whose names are not those of real hosts.
func in(w crawlcmd.World, args ...string) result {
	var out, errs strings.Builder
	std := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	root := newRoot(std)
	for _, c := range root.Commands() {
		if c.Name() == args[0] && args[0] == "crawl" {
			root.RemoveCommand(c)
			root.AddCommand(crawlcmd.NewIn(w, std))
		}
	}
	root.SetArgs(args)
	code := cli.Report(&errs, root.ExecuteContext(context.Background()))
	return result{out.String(), errs.String(), code}
}

// nobody is a world in which every name has an address at which nobody listens.
func nobody() crawlcmd.World {
	return crawlcmd.World{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("198.51.100.7")}, nil
		},
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, io.ErrUnexpectedEOF },
	}
}

// nobodyKnows is a world without names.
func nobodyKnows() crawlcmd.World {
	w := nobody()
	w.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return w
}
