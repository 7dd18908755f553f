package host

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

const halfSecond = 500 * time.Millisecond

func hostN(t testing.TB, n int) canon.Authority {
	t.Helper()
	a, err := canon.ParseAuthority(fmt.Sprintf("http://h%d.test", n))
	require.NoError(t, err)
	return a
}

func mustWait(t *testing.T, s *Pacer, a canon.Authority, at netip.Addr, want time.Duration) {
	t.Helper()
	wait, _ := s.Take(a, at)
	require.Equal(t, want, wait, a.String())
}

func TestRule10_IPv4CountsWholeAndIPv6ByItsNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"8.8.8.8": "8.8.8.8/32", "8.8.8.9": "8.8.8.9/32", "::ffff:8.8.8.8": "8.8.8.8/32",
		"2606:2800:220:1::1": "2606:2800:220:1::/64", "2606:2800:220:1:ffff::2": "2606:2800:220:1::/64",
		"2606:2800:220:2::1": "2606:2800:220:2::/64", "fe80::1%eth0": "fe80::/64",
		"64:ff9b::808:808": "8.8.8.8/32", "64:ff9b::808:809": "8.8.8.9/32", "64:ff9b:1::808:808": "64:ff9b:1::/64",
		"2002:808:808::1": "8.8.8.8/32", "2002:808:808:5::1": "8.8.8.8/32",
	} {
		assert.Equalf(t, want, Network(netip.MustParseAddr(addr)).String(), "the network of %s", addr)
	}
}

func TestRule10_EarlyHostHasNotWaitedLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := NewPacer(time.Second, nil), netip.MustParseAddr("8.8.8.8")
		s.Take(hostN(t, 0), at)
		s.Take(hostN(t, 1), at) // has to come in 1 s
		mustWait(t, s, hostN(t, 2), at, 2*time.Second)
		time.Sleep(time.Second + 600*time.Millisecond) // the second does not come
		if wait, due := s.Take(hostN(t, 2), at); wait != 0 || due.After(time.Now()) {
			t.Errorf("wait %v; it counts as having waited %v longer than it did", wait, time.Until(due))
		}
	})
}

// Hosts that come in time start in the order of their first requests, one every half second.
func TestRule10_FirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := NewPacer(halfSecond, nil), netip.MustParseAddr("8.8.8.8")
		begin := time.Now()
		for i := range 50 {
			wait, due := s.Take(hostN(t, i), at)
			if want := time.Duration(i) * halfSecond; wait != want || !due.IsZero() {
				t.Fatalf("host %d is to wait %v, want %v", i, wait, want)
			}
		}
		assert.EqualValues(t, 49, s.Waiting(), "hosts wait")
		for i := 1; i < 50; i++ {
			time.Sleep(time.Until(begin.Add(time.Duration(i) * halfSecond)))
			if wait, _ := s.Take(hostN(t, 100+i), at); wait <= 0 {
				t.Fatal("a newcomer is let pass before those in line")
			}
			if wait, due := s.Take(hostN(t, i), at); wait != 0 || !due.Equal(time.Now()) {
				t.Fatalf("host %d came in time and is to wait %v, due %v", i, wait, due)
			}
		}
	})
}

// A late host lets others pass, and goes first when it comes. The gap is kept.
func TestRule10_LateHostDelaysNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := NewPacer(halfSecond, nil), netip.MustParseAddr("8.8.8.8")
		for i := range 4 {
			s.Take(hostN(t, i), at) // 0 has its start, 1 to 3 have to wait 0.5, 1.0 and 1.5 s
		}
		time.Sleep(2 * halfSecond) // host 1 has not come
		mustWait(t, s, hostN(t, 2), at, 0)
		time.Sleep(halfSecond / 2)
		mustWait(t, s, hostN(t, 1), at, halfSecond/2)
		time.Sleep(halfSecond / 2)
		mustWait(t, s, hostN(t, 3), at, halfSecond) // host 1 was here first
		mustWait(t, s, hostN(t, 1), at, 0)
		time.Sleep(waiterLife + 2*halfSecond)
		if wait, due := s.Take(hostN(t, 3), at); wait != 0 || !due.IsZero() {
			t.Errorf("a place is kept for a minute: wait %v, due %v", wait, due)
		}
	})
}

// Property: starts at an address are never closer than the delay, and memory is bounded by the waiting hosts.
func TestRule10_NoGapIsShortWhateverHappens(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := NewPacer(halfSecond, nil)
			last := map[netip.Prefix]time.Time{}
			told := map[int]time.Time{}
			starts := 0
			for range 4000 {
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
				i := r.IntN(60)
				if due, ok := told[i]; ok && r.IntN(10) > 0 && time.Until(due) > 0 {
					continue // most wait as long as they have to
				}
				addr := netip.AddrFrom4([4]byte{8, 8, 8, byte(i % 3)})
				if r.IntN(50) == 0 {
					addr = netip.AddrFrom4([4]byte{8, 8, 8, 9}) // the name now has another address
				}
				wait, _ := s.Take(hostN(t, i), addr)
				if wait > 0 {
					told[i] = time.Now().Add(wait)
				} else {
					delete(told, i)
					starts++
					key := Network(addr)
					if gap := time.Since(last[key]); gap < halfSecond {
						t.Fatalf("seed %d: a gap of %v at %v", seed, gap, key)
					}
					last[key] = time.Now()
				}
			}
			assert.GreaterOrEqualf(t, starts, 300, "seed %d: %d starts only", seed, starts)
			assert.LessOrEqual(t, len(s.waiters), 60, "places for 60 hosts")
		})
	}
}

func TestRule10_MemoryFollowsTheHostsInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPacer(halfSecond, nil)
		for i := range 20 * leastSweep {
			addr := netip.AddrFrom4([4]byte{8, 9, byte(i >> 9), byte(i >> 1)}) // two hosts at each, the second in line
			s.Take(hostN(t, i), addr)
			time.Sleep(100 * time.Millisecond) // so 600 places of a minute, and as many addresses
			if n := len(s.addrs) + len(s.waiters); n > 3*leastSweep {
				t.Fatalf("after %d hosts %d are remembered", i, n)
			}
		}
	})
}

func TestRule10_RequestsOverSlowConnectionsKeepTheGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := NewPacer(halfSecond, nil), netip.MustParseAddr("2606:2800:220:1::1")
		other := netip.MustParseAddr("2606:2800:220:1::2")
		require.NoError(t, s.Send(t.Context(), at))
		time.Sleep(50 * time.Millisecond)
		s.Sent(at)
		begin := time.Now()
		if err := s.Send(t.Context(), other); err != nil || time.Since(begin) != halfSecond {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		mustWait(t, s, hostN(t, 1), at, halfSecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, s.Send(ctx, at), context.DeadlineExceeded, "cancelled")
	})
}

func TestRule10_TheAddressLastUsedIsKeptAndAnUnreachableOneLeft(t *testing.T) {
	of := func(ss ...string) (out []netip.AddrPort) {
		for _, s := range ss {
			out = append(out, netip.AddrPortFrom(netip.MustParseAddr(s), 80))
		}
		return out
	}
	s, a := NewChooser(), hostN(t, 1)
	pick := func(want string, among ...string) netip.Addr {
		t.Helper()
		got := s.Pick(a, of(among...))
		if got.Addr().String() != want || got.Port() != 80 {
			t.Errorf("of %v: %v, want %s", among, got, want)
		}
		return got.Addr()
	}
	s.Used(a, pick("8.8.8.1", "8.8.8.1", "8.8.8.2"), true, 2)
	s.Used(a, pick("8.8.8.1", "8.8.8.2", "8.8.8.1"), true, 2) // the resolver reverses them
	s.Used(a, pick("8.8.8.3", "8.8.8.3", "8.8.8.2"), true, 2) // gone
	assert.True(t, s.Used(a, pick("8.8.8.3", "8.8.8.2", "8.8.8.3", "8.8.8.4"), false, 3), "one of three unreachable, and no other is tried")
	assert.True(t, s.Used(a, pick("8.8.8.4", "8.8.8.2", "8.8.8.3", "8.8.8.4"), false, 3), "two of three unreachable, and no other is tried")
	assert.False(t, s.Used(a, pick("8.8.8.2", "8.8.8.2", "8.8.8.3", "8.8.8.4"), false, 3), "all are unreachable, and another is tried")
	assert.True(t, s.Used(a, pick("8.8.8.3", "8.8.8.2", "8.8.8.3", "8.8.8.4"), false, 3), "a new round ends with its first address")
	s.Used(a, pick("8.8.8.4", "8.8.8.2", "8.8.8.3", "8.8.8.4"), true, 3)
	pick("8.8.8.4", "8.8.8.2", "8.8.8.3", "8.8.8.4")
	for i := range 3 * maxChosen {
		s.Used(hostN(t, i+2), netip.MustParseAddr("8.8.8.8"), true, 1)
	}
	assert.LessOrEqual(t, len(s.now)+len(s.old), 2*maxChosen, "hosts are remembered")
	pick("8.8.8.2", "8.8.8.2", "8.8.8.4") // forgotten
}

// Politeness rule 17: a restart keeps the delay, once for each address.
func TestRule17_AResumedPacerHasEachAddressRestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, at := NewPacer(halfSecond, nil), netip.MustParseAddr("8.8.8.8")
		s.Resumed()
		time.Sleep(halfSecond / 5)
		mustWait(t, s, hostN(t, 0), at, halfSecond*4/5)
		begin := time.Now()
		if err := s.Send(t.Context(), netip.MustParseAddr("8.8.4.4")); err != nil || time.Since(begin) != halfSecond*4/5 {
			t.Errorf("the first request is held for %v, %v", time.Since(begin), err)
		}
		mustWait(t, s, hostN(t, 0), at, 0)
		mustWait(t, s, hostN(t, 1), netip.MustParseAddr("8.8.4.5"), 0)
	})
}
