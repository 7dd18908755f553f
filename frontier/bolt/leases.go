package bolt

import (
	"fmt"
	"math"
	"slices"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// leases are the turns that are out. Each of them is that of a host, which has one at a time; its token never comes
// twice, in this run or another. A lease that ends leaves its entry behind until it comes up; after
// a begin there are fewer such entries than leases, plus 64.
type leases struct {
	hosts  *hosts
	epoch  uint64 // of this opening
	length time.Duration
	claims uint32
	expiry heap // at is when a lease expires, tie is claim<<32 | id of the host
	out    int  // their number
}

// begin leases h, which is not leased.
func (ls *leases) begin(h *host, now int64) {
	ls.claims++
	h.lease = &lease{
		token: frontier.Token(ls.epoch<<32 | uint64(ls.claims)), expires: layout.After(now, ls.length), width: max(h.Width, 1),
	}
	ls.out++
	ls.expiry.Push(entry{At: h.lease.expires, Tie: uint64(ls.claims)<<32 | uint64(h.id)})
	if len(ls.expiry) > 2*ls.out+64 {
		ls.expiry.Keep(func(e entry) bool { return ls.host(e) != nil })
	}
}

// end ends the lease of h.
func (ls *leases) end(h *host) {
	h.lease = nil
	ls.out--
}

// expired takes out a lease whose time is over, and returns its host; nil when there is none.
func (ls *leases) expired(now int64) *host {
	for len(ls.expiry) > 0 && ls.expiry[0].At <= now {
		if h := ls.host(ls.expiry.Pop()); h != nil {
			return h
		}
	}
	return nil
}

// earliest returns when the first lease expires, or before; the end of time when there is none.
func (ls *leases) earliest() int64 {
	if len(ls.expiry) == 0 {
		return math.MaxInt64
	}
	return ls.expiry[0].At
}

// host returns the host whose lease e stands for, nil when that lease has ended.
func (ls *leases) host(e entry) *host {
	h := ls.hosts.all[uint32(e.Tie)]
	if h.lease == nil || uint32(h.lease.token) != uint32(e.Tie>>32) {
		return nil
	}
	return h
}

// left fails when the counter of tokens is about to run over: a token must never come twice.
func (ls *leases) left() error {
	if ls.claims > math.MaxUint32-1<<20 {
		return fmt.Errorf("frontier/bolt: claim: %d turns in one run: close the frontier and open it again", ls.claims)
	}
	return nil
}

// inFlight returns the record of this instant. A holder makes Width exchanges at most and takes its tasks in the order
// in which they were given, so that only the first Width that are not settled can be in work.
func (ls *leases) inFlight() []byte {
	refs := make([]layout.Ref, 0, ls.out)
	for _, e := range ls.expiry { // one entry for each lease that is out, beside stale ones
		if h := ls.host(e); h != nil {
			l := h.lease
			for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
				refs = append(refs, t.ref)
			}
		}
	}
	slices.Sort(refs)
	return layout.InFlight{Leases: uint64(ls.out), Refs: refs}.AppendTo(nil)
}
