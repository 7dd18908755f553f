package status

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

// sharers are what is known of the hosts at one address that have something pending: they share its pace (politeness rule 10).
type sharers struct {
	pending int64           // URLs
	paces   []time.Duration // of the hosts, each for itself
}

// Sharing says who shares each address.
type Sharing struct {
	every time.Duration // between two starts at one address
	at    map[netip.Prefix]*sharers
}

func (l *Live) findSharing(ctx context.Context) (Sharing, error) {
	all := newSharing(l.settings.IPDelay)
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		n, err := host.Read(h.Memory)
		if p := l.settings.Pacing(h, &n); err == nil && !p.Own && !isResting(h, p.Pace) {
			all.add(n.Spot, h.Pending(), p.Pace)
		}
		return true
	})
	return all, err
}

func newSharing(every time.Duration) Sharing {
	return Sharing{every: every, at: map[netip.Prefix]*sharers{}}
}

// add takes in a host. One that has nothing pending, or whose address is not known, shares none.
func (all *Sharing) add(addr netip.Prefix, pending int64, pace time.Duration) {
	if !addr.IsValid() || pending == 0 {
		return
	}
	x := all.at[addr]
	if x == nil {
		x = &sharers{}
		all.at[addr] = x
	}
	x.pending += pending
	x.paces = append(x.paces, pace)
}

// longest is the address that takes longest until all that is pending there has had its start.
func (all Sharing) longest() (addr netip.Prefix, need time.Duration) {
	for s, x := range all.at {
		if d := time.Duration(x.pending) * all.every; len(x.paces) > 1 && (d > need || d == need && s.String() < addr.String()) {
			addr, need = s, d
		}
	}
	return addr, need
}

// pause is the time between two turns of a host at an address where each other host gets as many as it, or as its own pace
// lets it have; zero where the hosts' own paces leave turns over.
func (all Sharing) pause(addr netip.Prefix) time.Duration {
	x := all.at[addr]
	if x == nil || all.every <= 0 {
		return 0
	}
	paces := slices.Sorted(slices.Values(x.paces))
	slices.Reverse(paces)
	left := 1 / all.every.Seconds() // starts a second
	for i, p := range paces {
		share := left / float64(len(paces)-i)
		if p <= 0 || 1/p.Seconds() > share*(1+1e-9) {
			return time.Duration(float64(time.Second) / share).Round(time.Microsecond)
		}
		left -= 1 / p.Seconds()
	}
	return 0
}

// paced are the queues with the paces that the hosts' addresses leave to them.
func (all Sharing) paced(queues []Queue) []Queue {
	queues = slices.Clone(queues) // who asked at the same time has them, too
	for i, q := range queues {
		queues[i].Pace = max(q.Pace, all.pause(q.Addr).Seconds())
	}
	return queues
}

// word names the hosts at an address.
func (all Sharing) word(addr netip.Prefix) string {
	name := addr.String()
	if addr.IsSingleIP() {
		name = addr.Addr().String()
	}
	return fmt.Sprintf("%d hosts of %s", len(all.at[addr].paces), name)
}

// Term is the pause that an address asks of the hosts that share it, with how it comes about; false where nothing is to
// share.
func (all Sharing) Term(addr netip.Prefix) (pause time.Duration, note string, ok bool) {
	pause = all.pause(addr)
	if pause == 0 || len(all.at[addr].paces) < 2 {
		return 0, "", false
	}
	return pause, fmt.Sprintf("one request in %v for the %s", all.every, all.word(addr)), true
}
