package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var known = Identity{Contact: "https://lab.dev/bot"}

func TestBind_IsWhereConnectionsLeaveFrom(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	from := netip.MustParseAddr("127.0.0.3")
	if err := CheckLocal(from); err != nil {
		t.Skip(err) // of the loopback net, not all systems have more than one address
	}
	seen := make(chan string, 1)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		seen <- conn.RemoteAddr().(*net.TCPAddr).IP.String()
		request(conn)
		say(conn, ok("hello"))
		_ = conn.Close()
	}()
	t.Cleanup(func() { _ = l.Close(); <-served })
	at := netip.MustParseAddrPort(l.Addr().String())
	f := mustNew(t, Config{Bind: from, AllowAddr: []netip.AddrPort{at}})
	require.Equal(t, 200, get(t, f, "http://"+at.String()+"/").Status)
	assert.Equal(t, from.String(), <-seen)
}

func TestBind_AddressThatIsNotHere(t *testing.T) {
	assert.ErrorContains(t, CheckLocal(netip.MustParseAddr("192.0.2.7")), "192.0.2.7")
	gone := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.OpError{Op: "bind", Err: syscall.EADDRNOTAVAIL}}
	}
	f := (&world{}).fetcher(t, Config{Identity: known, Bind: netip.MustParseAddr("93.184.1.1"), Dial: gone})
	_, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
	var failure *Failure
	if err == nil || errors.As(err, &failure) || !strings.Contains(err.Error(), "--bind") {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{Bind: netip.MustParseAddr("::1"), Family: IPv4}); err == nil {
		t.Error("an IPv6 address is taken for IPv4 connections")
	}
}
