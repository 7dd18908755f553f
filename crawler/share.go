package crawler

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage"
)

// sharers are what is known of the hosts at one address that have something pending: they share its pace (politeness rule 10).
type sharers struct {
	pending int64           // URLs
	paces   []time.Duration // of the hosts, each for itself
}

// sharing says who shares each address.
type sharing struct {
	every time.Duration // between two starts at one address
	at    map[netip.Prefix]*sharers
}

// findSharing counts who shares addresses, among the first hosts of the crawl.
func (c *Crawl) findSharing(ctx context.Context) (sharing, error) {
	all := sharing{every: c.cfg.IPDelay, at: map[netip.Prefix]*sharers{}}
	err := eachHost(ctx, c.cfg.Frontier, mostLooked, func(h frontier.Host) bool {
		n, err := host.Read(h.Memory)
		pace, _ := c.cfg.usualPace(h, &n)
		if err == nil && !c.cfg.ownBy(h.Authority, &n) && !isResting(h, pace) {
			all.add(n.Spot, h.Pending(), pace)
		}
		return true
	})
	return all, err
}

// add takes in a host. One that has nothing pending, or whose address is not known, shares none.
func (all *sharing) add(spot netip.Prefix, pending int64, pace time.Duration) {
	if !spot.IsValid() || pending == 0 {
		return
	}
	x := all.at[spot]
	if x == nil {
		x = &sharers{}
		all.at[spot] = x
	}
	x.pending += pending
	x.paces = append(x.paces, pace)
}

// longest is the address that takes longest until all that is pending there has had its start.
func (all sharing) longest() (spot netip.Prefix, need time.Duration) {
	for s, x := range all.at {
		if d := time.Duration(x.pending) * all.every; len(x.paces) > 1 && (d > need || d == need && s.String() < spot.String()) {
			spot, need = s, d
		}
	}
	return spot, need
}

// pause is the time between two turns of a host at an address where each other host gets as many as it, or as its own pace
// lets it have; zero where the hosts' own paces leave turns over.
func (all sharing) pause(spot netip.Prefix) time.Duration {
	x := all.at[spot]
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
func (all sharing) paced(queues []Queue) []Queue {
	queues = slices.Clone(queues) // who asked at the same time has them, too
	for i, q := range queues {
		queues[i].Pace = max(q.Pace, all.pause(q.spot).Seconds())
	}
	return queues
}

// word names the hosts at an address.
func (all sharing) word(spot netip.Prefix) string {
	name := spot.String()
	if spot.IsSingleIP() {
		name = spot.Addr().String()
	}
	return fmt.Sprintf("%d hosts of %s", len(all.at[spot].paces), name)
}

// term is what an address asks of the hosts that share it; false where nothing is to share.
func (all sharing) term(spot netip.Prefix) (PaceTerm, bool) {
	d := all.pause(spot)
	if d == 0 || len(all.at[spot].paces) < 2 {
		return PaceTerm{}, false
	}
	return PaceTerm{By: storage.ByAddress, Seconds: seconds(d), Note: fmt.Sprintf("one exchange in %v for the %s", all.every, all.word(spot))}, true
}
