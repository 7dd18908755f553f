package bolt

import (
	"curtsy/frontier"
	"curtsy/frontier/bolt/queue"
	"curtsy/frontier/canon"
)

// hosts are the authorities that are known, and the sums over them. A host stays known, with its id, for ever.
//
// The sums are those over all at any time when nobody is between two calls of count. hosts.all is only ever appended to,
// so that who has read it under the mutex may go on with what it was.
type hosts struct {
	all     []*host // by id; nil for an id that was never written
	byName  map[canon.Authority]*host
	domains map[string]*domain
	sums    sums
	names   names // has a lock of its own

	perDomain bool  // there is a cap on domains
	deep      bool  // tasks are given depth first
	floor     int64 // no host with no pace of its own is due before: see loader.restart
}

// sums are those over all hosts.
type sums struct {
	known, pending             int64 // hosts
	conditions                 [frontier.Refused + 1]int64
	stopped                    int64 // of hosts, by an operator
	queued, inFlight, deferred int64 // tasks
}

// know returns the host of a, which is known from then on; it is on disk once something about it is.
func (hs *hosts) know(a canon.Authority) *host {
	h := hs.byName[a]
	if h == nil {
		h = &host{authority: a, id: uint32(len(hs.all)), notBefore: hs.floor, queue: queue.New(hs.deep)}
		h.domain = hs.domain(a)
		hs.all = append(hs.all, h)
		hs.byName[a] = h
		hs.count(h, 1)
	}
	return h
}

// count moves the sums over all hosts as h changes: call it with -1 before and +1 after.
func (hs *hosts) count(h *host, by int64) {
	d := &hs.sums
	d.known += by
	if h.pending() > 0 {
		d.pending += by
	}
	d.conditions[h.condition] += by
	if h.hold != nil {
		d.stopped += by
	}
	d.queued += by * int64(h.queued)
	d.inFlight += by * int64(h.inFlight)
	d.deferred += by * int64(h.deferred)
}

// dropped reports whether candidates of a are refused.
func (hs *hosts) dropped(a canon.Authority) bool {
	if hs.sums.stopped == 0 {
		return false // nearly always, and there is one question per link
	}
	h := hs.byName[a]
	return h != nil && h.dropped()
}

// domain returns the domain of a, nil when no cap asks for it.
func (hs *hosts) domain(a canon.Authority) *domain {
	if !hs.perDomain {
		return nil
	}
	name := a.RegistrableDomain()
	d := hs.domains[name]
	if d == nil {
		d = &domain{}
		hs.domains[name] = d
	}
	return d
}

// domain counts the URLs of a registrable domain that became tasks, for the cap on them. Without one there is none.
type domain struct {
	urls int64
}
