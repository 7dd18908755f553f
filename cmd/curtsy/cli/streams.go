package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/canon"
)

// Streams are the three streams of a process.
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

// JSONFlag declares --json.
func JSONFlag(cmd *cobra.Command, to *bool, what string) {
	cmd.Flags().BoolVar(to, "json", false, what)
	Group(cmd.Flags(), "Output")
}

// MayWrite refuses to let an option write a file of a kind where something else stands.
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

// Listen listens at what --listen gives, an address with a port. What it cannot listen at is a usage error.
func Listen(ctx context.Context, at string) (net.Listener, error) {
	return ListenFor(ctx, "--listen", at)
}

// ListenFor is Listen at what another flag gives.
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

// networkOf is where to listen: at an IPv4 address with IPv4 alone, else as the system has it.
func networkOf(listen string) string {
	if at, err := netip.ParseAddrPort(listen); err == nil && at.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Elsewhere reports whether other machines may reach an address that is listened at.
func Elsewhere(listened net.Addr) bool {
	at, err := netip.ParseAddrPort(listened.String())
	return err != nil || !at.Addr().Unmap().IsLoopback()
}

// FromHere is an address that can be opened on this machine, where that at which is listened means all it has.
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
