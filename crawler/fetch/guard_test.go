package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Politeness rule 23.
func TestRefusedAddresses(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified",
		"10.0.0.1": "private", "10.255.255.255": "private", "9.255.255.255": "", "11.0.0.0": "",
		"100.63.255.255": "", "100.64.0.0": "shared", "100.127.255.255": "shared", "100.128.0.0": "", "100.100.100.200": "metadata",
		"127.0.0.1": "loopback", "127.255.255.255": "loopback", "126.255.255.255": "", "128.0.0.0": "",
		"169.254.169.254": "metadata", "169.254.0.1": "link-local", "169.255.0.0": "", "168.63.129.16": "metadata", "168.63.129.17": "",
		"172.15.255.255": "", "172.16.0.0": "private", "172.31.255.255": "private", "172.32.0.0": "",
		"192.0.0.192": "IETF", "192.0.1.0": "", "192.0.2.1": "documentation", "192.88.99.1": "6to4", "192.167.255.255": "", "192.168.0.1": "private", "192.169.0.0": "",
		"198.17.255.255": "", "198.18.0.0": "benchmarking", "198.19.255.255": "benchmarking", "198.20.0.0": "", "198.51.100.9": "documentation",
		"203.0.113.1": "documentation", "223.255.255.255": "", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "240.0.0.1": "reserved", "255.255.255.255": "reserved",
		"8.8.8.8": "", "93.184.215.14": "",

		"::": "unspecified", "::1": "loopback", "::2": "reserved", "::7f00:1": "reserved", "::ffff:127.0.0.1": "loopback", "::ffff:8.8.8.8": "", "::ffff:169.254.169.254": "metadata",
		"::ffff:0:10.0.0.1": "IPv4-translated of private", "::ffff:0:8.8.8.8": "reserved",
		"64:ff9b::10.0.0.1": "NAT64 of private", "64:ff9b::169.254.169.254": "NAT64 of metadata", "64:ff9b::8.8.8.8": "", "64:ff9b:1::1": "local translation",
		"100::1": "discard", "100:0:0:1::1": "dummy", "1fff:ffff::": "reserved",
		"2001::1": "Teredo client of reserved", "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo client of documentation", "2001:0:4136:e378:8000:63bf:f5ff:fffe": "Teredo client of private",
		"2001:0:4136:e378:8000:63bf:f7f7:f7f7": "IETF", "2001:20::1": "IETF", "2001:1ff::1": "IETF", "2001:200::1": "", "2001:db8::1": "documentation", "2001:db9::1": "",
		"2002:0a00:0001::1": "6to4 of private", "2002:7f00:1::1": "6to4 of loopback", "2002:808:808::1": "", "2606:2800:220:1::1": "",
		"3ffe::1": "", "3fff::1": "documentation", "3fff:0fff::1": "documentation", "3fff:1000::1": "", "4000::1": "reserved", "5f00::1": "segment routing", "7fff::1": "reserved", "8000::1": "reserved",
		"fc00::1": "private", "fd12::1": "private", "fd00:ec2::254": "metadata", "fd20:ce::254": "metadata", "fe00::1": "reserved", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "::1%lo": "loopback", "febf::1": "link-local", "fec0::1": "private",
		"ff02::1": "multicast",
	} {
		got := refusal(netip.MustParseAddr(addr))
		assert.Equal(t, (got == ""), (want == ""), addr)
		assert.True(t, strings.HasPrefix(got, want), addr)
	}
}

func TestExemptions(t *testing.T) {
	f := mustNew(t, Config{
		AllowNet:       nets("10.1.0.0/16", "fd12::/16"),
		AllowAddr:      []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:8000"), netip.MustParseAddrPort("[::1]:8001")},
		AllowLocalhost: []uint16{9000},
	})
	for _, c := range []struct {
		authority, addr string
		passes          bool
	}{
		{"http://a.test:80", "10.1.2.3", true},
		{"http://a.test:80", "::ffff:10.1.2.3", true},
		{"http://a.test:80", "fd12::1%eth0", true},
		{"http://a.test:80", "10.2.0.1", false},
		{"http://a.test:80", "64:ff9b::10.1.2.3", false}, // leads elsewhere than the network that was allowed
		{"http://127.0.0.1:8000", "127.0.0.1", true},
		{"http://127.0.0.1:8001", "127.0.0.1", false},           // that port only
		{"http://127.0.0.2:8000", "127.0.0.2", false},           // that address only
		{"http://evil.test:8000", "127.0.0.1", false},           // a name does not exempt an address
		{"http://localhost:8000", "127.0.0.1", false},           // not even this one
		{"http://[::ffff:7f00:1]:8000", "127.0.0.1", true},      // the same address
		{"http://[::1]:8001", "::1", true},                      //
		{"http://localhost:9000", "127.0.0.1", true},            //
		{"http://localhost:9000", "::1", true},                  //
		{"http://localhost:9001", "127.0.0.1", false},           // that port only
		{"http://localhost:9000", "10.9.9.9", false},            // loopback only
		{"http://a.localhost:9000", "127.0.0.1", false},         // that name only
		{"http://localhost.evil.test:9000", "127.0.0.1", false}, //
	} {
		a := authority(t, c.authority)
		port, err := strconv.ParseUint(a.Port(), 10, 16)
		require.NoError(t, err)
		err = f.guard(a, netip.AddrPortFrom(netip.MustParseAddr(c.addr), uint16(port)))
		var failure *Failure
		if (err == nil) != c.passes || err != nil && (!errors.As(err, &failure) || failure.Class != PrivateAddress) {
			t.Errorf("%s at %s: %v, want passed %v", c.authority, c.addr, err, c.passes)
		}
	}
}

func TestOnlyGuardedAddressesAreDialled(t *testing.T) {
	const four, six = "93.184.215.14", "2606:2800:21f::1"
	for _, c := range []struct {
		name   string
		family Family
		found  []string
		url    string // empty: http://a.test/
		want   []string
		class  Class
	}{
		{name: "public", found: []string{four, "8.8.4.4"}, want: []string{four + ":80", "8.8.4.4:80"}},
		{name: "private", found: []string{"192.168.1.1", "127.0.0.1"}, class: PrivateAddress},
		{name: "mapped", found: []string{"::ffff:" + four}, url: "http://a.test:81/", want: []string{four + ":81"}},
		{name: "mixed", found: []string{"127.0.0.1", four, "10.0.0.1"}, want: []string{four + ":80"}},
		{name: "IPv6", found: []string{six}, url: "http://a.test:8443/", want: []string{"[" + six + "]:8443"}},
		{name: "three of four", found: []string{"8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4"}, want: []string{"8.8.8.1:80", "8.8.8.2:80", "8.8.8.3:80"}},
		{name: "none", class: DNS},
		{name: "literal", found: []string{four}, url: "http://127.0.0.1/", class: PrivateAddress},
		{name: "literal in disguise", found: []string{four}, url: "http://0x7f.1/", class: PrivateAddress},
		{name: "literal IPv6", found: []string{four}, url: "http://[::1]/", class: PrivateAddress},
		{name: "metadata", found: []string{four}, url: "http://169.254.169.254/latest/meta-data/", class: PrivateAddress},
		{name: "public literal", found: []string{four}, url: "http://8.8.4.4/", want: []string{"8.8.4.4:80"}},

		{name: "both, any family", found: []string{six, four}, want: []string{"[" + six + "]:80", four + ":80"}},
		{name: "both, IPv4", family: IPv4, found: []string{six, four}, want: []string{four + ":80"}},
		{name: "both, IPv6", family: IPv6, found: []string{four, six}, want: []string{"[" + six + "]:80"}},
		{name: "IPv4 only, IPv6", family: IPv6, found: []string{four}, class: NoIPv6},
		{name: "IPv6 only, IPv4", family: IPv4, found: []string{six}, class: NoIPv4},
		{name: "mapped, IPv4", family: IPv4, found: []string{"::ffff:" + four}, want: []string{four + ":80"}},
		{name: "mapped, IPv6", family: IPv6, found: []string{"::ffff:" + four}, class: NoIPv6},
		{name: "literal, IPv6", family: IPv6, url: "http://" + four + "/", class: NoIPv6},
		{name: "none, IPv6", family: IPv6, class: DNS},
	} {
		bubble(t, c.name, func(t *testing.T) {
			lookups := 0
			w := &world{serve: answering(ok("bread"))}
			f := w.fetcher(t, Config{Family: c.family, Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
				if lookups++; lookups > 1 && c.class == "" {
					return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil // rebinding
				}
				return resolveTo(c.found...)(ctx, host)
			}})
			url := cmp.Or(c.url, "http://a.test/")
			x := get(t, f, url)
			expect(t, x, c.class, "")
			assert.Equal(t, c.want[:min(1, len(c.want))], w.dialed)
			all, err := f.Addresses(t.Context(), authority(t, url))
			var got []string
			for _, a := range all {
				got = append(got, a.String())
			}
			var failure *Failure
			if !slices.Equal(got, c.want) || errors.As(err, &failure) != (c.class != "") || failure != nil && failure.Class != c.class {
				t.Errorf("addresses %v, %v; want %v, class %q", got, err, c.want, c.class)
			}
			if c.class != "" && (x.Protocols != nil || (c.class == NoIPv4 || c.class == NoIPv6) && !c.class.Ours()) {
				t.Errorf("%q was spoken, %s is taken for a fault of the host", x.Protocols, c.class)
			}
		})
	}
}

// RFC 8305 4: a host with many addresses of both families is reached where one family leads nowhere.
func TestNextAddressOnlyWithoutConnection(t *testing.T) {
	six := []string{"2606:2800:220:1::1", "2606:2800:220:1::2", "2606:2800:220:1::3", "2606:2800:220:1::4"}
	four := []string{"8.8.8.1", "8.8.8.2", "8.8.8.3", "8.8.8.4"}
	only := func(addr string) func(netip.Addr) bool { return func(a netip.Addr) bool { return a.String() == addr } }
	for _, c := range []struct {
		name   string
		found  []string
		works  func(netip.Addr) bool
		dialed []string
		class  Class
	}{
		{"first", four, only(four[0]), four[:1], ""},
		{"third", four, only(four[2]), four[:3], ""},
		{"not the fourth", four, only(four[3]), four[:3], NoRoute},
		{"not after a connection", four, only(four[0]), four[:1], Reset},
		{"IPv6 leads nowhere", slices.Concat(six, four), netip.Addr.Is4, []string{six[0], four[0]}, ""},
		{"IPv4 leads nowhere", slices.Concat(four, six), netip.Addr.Is6, []string{four[0], six[0]}, ""},
		{"IPv6 only", six, netip.Addr.Is6, six[:1], ""},
		{"the resolver's order", []string{six[0], four[0], six[1]}, netip.Addr.Is6, six[:1], ""},
		{"one IPv4 address last", slices.Concat(six, four[:1]), netip.Addr.Is4, []string{six[0], four[0]}, ""},
		{"the third of both kinds", slices.Concat(six, four), only(six[1]), []string{six[0], four[0], six[1]}, ""},
	} {
		for _, swallowed := range []bool{false, true} {
			bubble(t, c.name, func(t *testing.T) {
				w := &world{serve: answering(ok("bread"))}
				if c.class == Reset {
					w.serve = answering("")
				}
				if swallowed && c.class == NoRoute {
					c.class = Timeout
				}
				var dialed []string
				x := get(t, w.fetcher(t, Config{
					Resolve: resolveTo(c.found...),
					Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
						to := netip.MustParseAddrPort(address).Addr()
						dialed = append(dialed, to.String())
						if c.works(to) {
							return w.dial(ctx, network, address)
						}
						if swallowed {
							return hang[net.Conn](ctx)
						}
						return nil, &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}
					},
				}), "http://a.test/")
				if class(x) != c.class || !slices.Equal(dialed, c.dialed) || x.Addr.Addr().String() != dialed[len(dialed)-1] {
					t.Errorf("%v, dialled %v, address %v; want class %q, %v", x.Failure, dialed, x.Addr, c.class, c.dialed)
				}
			})
		}
	}
}

func TestLookUpFailures(t *testing.T) {
	for _, c := range []struct {
		err   error
		class Class
	}{
		{&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}, NXDomain},
		{&net.DNSError{Err: "server misbehaving", Name: "a.test", IsTemporary: true}, DNS},
		{&net.DNSError{Err: "i/o timeout", Name: "a.test", IsTimeout: true}, DNS},
		{errors.New("odd"), DNS},
	} {
		x := get(t, mustNew(t, Config{Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, c.err }}), "http://a.test/")
		if expect(t, x, c.class, ""); !errors.Is(x.Failure, c.err) || x.Request != nil || x.Response != nil || x.Addr.IsValid() {
			t.Errorf("%v: %+v", c.err, x)
		}
	}
}

// RFC 6761 6.3: localhost is never looked up.
func TestSystemResolver(t *testing.T) {
	found, err := lookUpBySystem(t.Context(), "localhost")
	if err != nil || len(found) != 2 || !found[0].IsLoopback() || !found[1].IsLoopback() {
		t.Errorf("%v, %v", found, err)
	}
	if found, err := lookUpBySystem(canceled(), "a.test"); err == nil {
		t.Errorf("cancelled: %v", found)
	}
}

func TestTooManyOpenFilesIsOurs(t *testing.T) {
	f := mustNew(t, Config{Resolve: resolveTo("8.8.8.8", "8.8.4.4"), Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.EMFILE}
	}})
	if x, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://a.test/")}); x != nil || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("%v, %v", x, err)
	}
}

type far struct {
	net.Conn
	addr string
}

func (c far) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.addr)) }

// Politeness rule 2.
func TestWithoutContactOnlyLoopbackIsAsked(t *testing.T) {
	for _, c := range []struct {
		contact, addr string
		asked         bool
	}{
		{"", "127.0.0.1:80", true},
		{"", "[::1]:80", true},
		{"", "93.184.215.14:80", false},
		{"", "10.0.0.1:80", false},
		{"https://example.com/bot", "93.184.215.14:80", false},
		{"https://curtsy.dev/bot", "93.184.215.14:80", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := false
			w := &world{serve: func(_ int, conn net.Conn) {
				if asked = request(conn) != ""; asked {
					fmt.Fprint(conn, ok("bread"))
				}
			}}
			f := w.fetcher(t, Config{
				Identity: Identity{Contact: c.contact},
				Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					conn, err := w.dial(ctx, network, address)
					return far{conn, c.addr}, err
				},
			})
			x, err := f.Do(t.Context(), Request{URL: mustURL(t, "http://a.test/")})
			if err == nil {
				closed(t, x)
			} else if !strings.Contains(err.Error(), "curtsy identity set --contact") {
				t.Errorf("%+v: the error does not help: %v", c, err)
			}
			closed(t, f)
			w.wg.Wait()
			if (err == nil) != c.asked || asked != c.asked {
				t.Errorf("%+v: asked %v, %v", c, asked, err)
			}
		})
	}
}
