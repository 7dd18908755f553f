package pacing

import (
	"net/netip"
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// address is what is known of an address. Exchanges come in the order of their ends; some of the last starts are kept
// back so that they are counted in their own order.
type address struct {
	starts []start   // that are kept back, the earliest first
	last   time.Time // the latest that was counted
	due    time.Time // when the next one may begin, if none came early before
}

// How many starts are kept back for one address at most, and for how long.
const (
	maxStarts = 32
	keptBack  = 2 * time.Minute
)

// connecting is how long it may take from the moment that a slot at an address is taken to the first byte of the
// request: resolver, connection and TLS. That moment is not in the archive, so two starts prove little, and many do.
const connecting = 20 * time.Second

// addressed counts a start at an address (docs/trust/politeness.md, rule 10).
func (j *Judge) addressed(e *evidence.Exchange) {
	if !j.m.Promises() || e.Own || !e.Addr.IsValid() {
		return
	}
	at := j.addressOf(e)
	delay := leastDelay
	if j.m.Ours() {
		delay = max(j.m.Info.IPDelay, delay)
	}
	i, _ := slices.BinarySearchFunc(at.starts, e.Began, func(s start, t time.Time) int { return s.t.Compare(t) })
	at.starts = slices.Insert(at.starts, i, start{e.Began, e.Authority, e.Place, delay})
	for len(at.starts) > maxStarts || e.Began.Sub(at.starts[0].t) > keptBack {
		j.start(at)
	}
}

// leastDelay is the least that the pace of an address can be set to (docs/trust/politeness.md, rule 10).
const leastDelay = 100 * time.Millisecond

func (j *Judge) addressOf(e *evidence.Exchange) *address {
	name := block(e.Addr)
	at := j.addrs[name]
	if at == nil {
		at = &address{}
		j.addrs[name] = at
	}
	return at
}

// start counts the earliest start that was kept back.
func (j *Judge) start(at *address) {
	s := at.starts[0]
	at.starts = slices.Delete(at.starts, 0, 1)
	if s.t.Before(at.last) {
		return // it took longer than the window is wide: nothing can be said of it
	}
	delay := s.delay
	if !at.last.IsZero() && s.t.Sub(at.last)+slack(delay) < delay {
		j.found.Doubt(s.authority, finding.AddressPace,
			"two requests to one address started closer than its delay, and the archive does not record when their "+
				"connections were made", s.t.Sub(at.last), s.t.Sub(at.last))
	}
	if !at.due.IsZero() && s.t.Add(connecting).Before(at.due) {
		j.found.Add(finding.Finding{Code: finding.AddressPace, Authority: s.authority, Place: s.at, Time: s.t,
			Required: "starts " + delay.String() + " apart at one address (politeness rule 10)",
			Observed: "so many before it that it began " + finding.Round(at.due.Sub(s.t)) + " too early"})
		at.due = s.t
	}
	at.last = s.t
	if s.t.After(at.due) {
		at.due = s.t
	}
	at.due = at.due.Add(delay)
}

// block is what has one pace: an IPv4 address, also one that a translator leads to, or 64 bits of an IPv6 one.
func block(addr netip.Addr) string {
	addr = translated(addr.Unmap())
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// Behind these prefixes IPv6 addresses hold the IPv4 address that they lead to: NAT64 (RFC 6052) and 6to4 (RFC 3056).
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// translated returns the IPv4 address that addr leads to, else addr.
func translated(addr netip.Addr) netip.Addr {
	octets := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(octets[12:]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(octets[2:6]))
	}
	return addr
}

// start is when an exchange began.
type start struct {
	t         time.Time
	authority string
	at        finding.Place
	delay     time.Duration // as the settings were then
}
