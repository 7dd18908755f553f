package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

type asker struct {
	prompt bool

	asked, under, most atomic.Int64
	answer             func(n int64, host string) ([]netip.Addr, error)
}

func (a *asker) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	n := a.asked.Add(1)
	a.most.Store(max(a.most.Load(), a.under.Add(1)))
	defer a.under.Add(-1)
	takes := time.Second
	if a.prompt {
		takes = 9 * takes / 10
	}
	select {
	case <-time.After(takes):
		return a.answer(n, host)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func public(int64, string) ([]netip.Addr, error) {
	return resolveTo("8.8.8.8")(context.Background(), "")
}

func TestLookUpsAreSharedAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &asker{answer: public, prompt: true}
		f := mustNew(t, Config{Resolve: r.resolve, ConnectTimeout: time.Minute})
		var g errgroup.Group
		for i := range 1280 {
			g.Go(func() error {
				_, err := f.Addresses(t.Context(), authority(t, fmt.Sprintf("http://h%d.test:%d", i%128, 8000+i)))
				return err
			})
		}
		require.NoError(t, g.Wait())
		assert.EqualValues(t, 128, r.asked.Load(), "128 names")
		assert.EqualValues(t, maxLookups, r.most.Load(), "128 names")
	})
}

func TestAnswersAreKeptForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &asker{answer: public}
		f := mustNew(t, Config{Resolve: r.resolve})
		a := authority(t, "http://a.test:80")
		begin := time.Now()
		for range 50 {
			if _, err := f.Addresses(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		assert.Equal(t, int64(time.Since(begin)/nameLife)+1, r.asked.Load())
	})
	synctest.Test(t, func(t *testing.T) {
		r := &asker{answer: func(int64, string) ([]netip.Addr, error) { return nil, &net.DNSError{IsTimeout: true} }}
		f := mustNew(t, Config{Resolve: r.resolve})
		a := authority(t, "http://a.test:80")
		for n := range int64(3) {
			var g errgroup.Group
			for range 10 {
				g.Go(func() error { _, err := f.Addresses(t.Context(), a); return err })
			}
			var failure *Failure
			if err := g.Wait(); !errors.As(err, &failure) || failure.Class != DNS {
				t.Errorf("%v", err)
			}
			assert.Equal(t, n+1, r.asked.Load())
		}
	})
}

func TestLookUpGivenUpIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &asker{answer: public}
		f := mustNew(t, Config{Resolve: r.resolve})
		a := authority(t, "http://a.test:80")
		first, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		var g errgroup.Group
		g.Go(func() error {
			if _, err := f.Addresses(first, a); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the first: %w", err)
			}
			return nil
		})
		synctest.Wait()
		begin := time.Now()
		if _, err := f.Addresses(t.Context(), a); err != nil || time.Since(begin) != 3*time.Second/2 {
			t.Errorf("the second: %v after %v", err, time.Since(begin))
		}
		assert.NoError(t, g.Wait())
	})
}

func TestRememberedNamesAreBounded(t *testing.T) {
	n := newNames(resolveTo("8.8.8.8"), time.Minute)
	for i := range 2*maxNames + 10 {
		if _, err := n.of(t.Context(), fmt.Sprintf("h%d.test", i)); err != nil {
			t.Fatal(err)
		}
		require.LessOrEqual(t, len(n.known), maxNames, "names")
	}
	assert.Empty(t, n.under, "look-ups under way")
}

// Politeness rule 23: public at the first lookup, private at the second.
func TestRebindingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &asker{answer: func(n int64, _ string) ([]netip.Addr, error) {
			if n == 1 {
				return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
		}}
		w := &world{serve: answering(ok("bread"))}
		f := w.fetcher(t, Config{Resolve: r.resolve})
		expect(t, get(t, f, "http://a.test/"), "", "")
		time.Sleep(nameLife)
		expect(t, get(t, f, "http://a.test/"), PrivateAddress, "")
		if _, err := f.Addresses(t.Context(), authority(t, "http://a.test:80")); err == nil {
			t.Error("the second answer passes")
		}
		assert.Equal(t, []string{"8.8.8.8:80"}, w.dialed, "dialled")
	})
}

func TestExchangeGoesToItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: always(ok("bread"))}
		f := w.fetcher(t, Config{Resolve: resolveTo("8.8.8.8", "8.8.4.4")})
		one, two := netip.MustParseAddrPort("8.8.8.8:80"), netip.MustParseAddrPort("8.8.4.4:80")
		for i, c := range []struct {
			addr   netip.AddrPort
			reused bool
		}{{one, false}, {one, true}, {two, false}, {two, true}, {netip.AddrPort{}, true}, {one, false}} {
			x := do(t, f, Request{URL: mustURL(t, "http://a.test/"), Addr: c.addr})
			expect(t, x, "", "")
			if c.addr.IsValid() && x.Addr != c.addr || x.Reused != c.reused {
				t.Errorf("exchange %d to %v went to %v, reused %v", i, c.addr, x.Addr, x.Reused)
			}
		}
		before := len(w.dialed)
		for _, private := range []string{"127.0.0.1:80", "[::1]:80", "10.0.0.1:80", "169.254.169.254:80"} {
			x := do(t, f, Request{URL: mustURL(t, "http://b.test/"), Addr: netip.MustParseAddrPort(private)})
			expect(t, x, PrivateAddress, "")
		}
		assert.Len(t, w.dialed, before)
	})
}

func TestNoOtherAddressThanAsked(t *testing.T) {
	asked, dialed := 0, []string{}
	f := mustNew(t, Config{
		Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			asked++
			return resolveTo("8.8.8.8", "8.8.4.4")(ctx, host)
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		},
	})
	u := mustURL(t, "http://a.test/")
	for range 2 {
		addrs, err := f.Addresses(t.Context(), u.Authority())
		require.NoError(t, err)
		expect(t, do(t, f, Request{URL: u, Addr: addrs[1]}), Connect, "")
	}
	assert.Equal(t, 2, asked)
	assert.Equal(t, []string{"8.8.4.4:80", "8.8.4.4:80"}, dialed)
}

func TestUnmadeIsAnExchangeThatFailed(t *testing.T) {
	f := mustNew(t, Config{Resolve: resolveTo("127.0.0.1")})
	u := mustURL(t, "http://a.test/")
	_, err := f.Addresses(t.Context(), u.Authority())
	var failure *Failure
	require.True(t, errors.As(err, &failure), err)
	x := Unmade(u, failure)
	expect(t, x, PrivateAddress, "")
	if x.URL.String() != u.String() || x.Start.IsZero() || x.End.Before(x.Start) || len(x.Request) != 0 || x.Close() != nil {
		t.Errorf("%+v", x)
	}
}

func TestNames_RememberFewAddresses(t *testing.T) {
	all := make([]netip.Addr, 4000)
	for i := range all {
		all[i] = netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)})
	}
	n := newNames(func(context.Context, string) ([]netip.Addr, error) { return all, nil }, time.Minute)
	got, err := n.of(t.Context(), "a.test")
	if known := n.known["a.test"].addrs; err != nil || !slices.Equal(got, all[:maxFound]) || !slices.Equal(known, got) || cap(known) > 2*maxFound {
		t.Errorf("%d addresses, %v, of which %d are remembered in room for %d", len(got), err, len(known), cap(known))
	}
}

// Politeness rule 25.
func TestRule25_SlowLookupsDelayNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mustNew(t, Config{Resolve: func(ctx context.Context, host string) ([]netip.Addr, error) {
			if host != "good.test" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return resolveTo("8.8.8.8")(ctx, host)
		}})
		var slow errgroup.Group
		for i := range 1000 {
			slow.Go(func() error {
				begin := time.Now()
				_, err := f.Addresses(t.Context(), authority(t, fmt.Sprintf("http://h%d.test", i)))
				var failure *Failure
				if !errors.As(err, &failure) || failure.Class != DNS || time.Since(begin) < 10*time.Second {
					return fmt.Errorf("after %v: %w", time.Since(begin), err)
				}
				return nil
			})
		}
		synctest.Wait()
		begin := time.Now()
		if _, err := f.Addresses(t.Context(), authority(t, "http://good.test")); err != nil {
			t.Error(err)
		}
		assert.LessOrEqual(t, time.Since(begin), 1000/maxLookups*slowLookUp+slowLookUp, "the good name took too long")
		assert.NoError(t, slow.Wait())
	})
}
