// Package budget enforces the limits of a crawl (politeness rule 15).
package budget

import (
	"context"
	"math"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// The names of the budgets: those of the flags that set them.
const (
	MaxPages     = "max-pages"
	MaxPerHost   = "max-per-host"
	MaxPerDomain = "max-per-domain"
	MaxPerTag    = "max-per-tag"
	MaxBytes     = "max-bytes"
	MaxTime      = "max-time"
	Depth        = "depth"
)

// Caps are the reasons of frontier.Stats.Capped with the name of the flag of each, in the order in which caps are asked.
var Caps = [...][2]string{
	{frontier.ReasonCapSize, "max-db-size"}, {frontier.ReasonCapCrawl, "max-urls"}, {frontier.ReasonCapDomain, "max-urls-per-domain"},
	{frontier.ReasonCapHost, "max-urls-per-host"},
}

// HeldByTag is why a URL is set aside whose tag has all its pages.
const HeldByTag = "budget: " + MaxPerTag

// Tickets keep the caps over all runs of a crawl: a worker takes a ticket for one page before it claims a turn, so that
// pages under way are never more than the budget has left. The methods may be called concurrently.
type Tickets struct {
	press func() // called again and again while somebody waits for a ticket

	mu                 sync.Mutex
	maxPages, maxBytes int64         // zero means no limit
	pages              int64         // counted
	tickets            int64         // out
	bytes              int64         // counted
	answers            int64         // exchanges that brought an answer of any kind
	changed            chan struct{} // closed and replaced when a ticket comes back
}

// PressAfter is how long tickets are waited for before slow exchanges have to give theirs back.
const PressAfter = 30 * time.Second

// New returns the tickets of a crawl with those caps, of which zero means none, and those totals. It calls press again and
// again while somebody waits for a ticket.
func New(maxPages, maxBytes int64, counts map[string]int64, press func()) *Tickets {
	return &Tickets{
		maxPages: maxPages, maxBytes: maxBytes, press: press,
		pages: counts[Pages], bytes: counts[Bytes], answers: counts[Answers],
		changed: make(chan struct{}),
	}
}

// Limit sets other caps, of which zero means none. Tickets that are out stay out.
func (b *Tickets) Limit(maxPages, maxBytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.maxPages, b.maxBytes = maxPages, maxBytes
	close(b.changed)
	b.changed = make(chan struct{})
}

// Take waits for a ticket. It returns the name of the budget that is used up, or "" with a ticket or when ctx ends.
func (b *Tickets) Take(ctx context.Context) string {
	for {
		b.mu.Lock()
		changed := b.changed
		switch {
		case b.maxBytes > 0 && b.bytes >= b.maxBytes:
			b.mu.Unlock()
			return MaxBytes
		case b.maxPages > 0 && b.pages >= b.maxPages:
			b.mu.Unlock()
			return MaxPages
		case b.maxPages == 0 || b.pages+b.tickets < b.maxPages:
			b.tickets++
			b.mu.Unlock()
			return ""
		}
		b.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(PressAfter):
			b.press()
		case <-ctx.Done():
			return ""
		}
	}
}

// Spent is the name of the budget that is used up; empty for none.
func (b *Tickets) Spent() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.maxBytes > 0 && b.bytes >= b.maxBytes:
		return MaxBytes
	case b.maxPages > 0 && b.pages >= b.maxPages:
		return MaxPages
	}
	return ""
}

// More takes a ticket if there is one: for a worker that has one already.
func (b *Tickets) More() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxBytes > 0 && b.bytes >= b.maxBytes || b.maxPages > 0 && b.pages+b.tickets >= b.maxPages {
		return false
	}
	b.tickets++
	return true
}

// Hold corrects how many tickets are out, for one that is given back at once.
func (b *Tickets) Hold(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets += int64(n)
}

// Give returns a ticket with the pages it was used for.
func (b *Tickets) Give(pages int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tickets--
	b.pages += pages
	close(b.changed)
	b.changed = make(chan struct{})
}

// Spend counts bytes received and whether they were an answer.
func (b *Tickets) Spend(bytes int64, answer bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += bytes
	if answer {
		b.answers++
	}
}

// Answered reports whether any host has ever answered anything.
func (b *Tickets) Answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers > 0
}

// PerHostPerDay is the name of the cap that Daily keeps.
const PerHostPerDay = "per-host-per-day"

// Daily caps the requests to each host within any 24 hours, whatever they are for. Its methods may be called concurrently.
//
// It counts by the hour, and an hour's requests count until its end is a day ago: so the cap holds for every 24 hours,
// wherever they begin, and a host may have to wait for an hour longer than it would by the second.
type Daily struct {
	most func(canon.Authority) int64 // requests to a host; zero for any number

	mu    sync.Mutex
	hosts map[canon.Authority]*hours
}

// hours are the requests to a host, by the hour since 1970 that they were made in.
type hours map[int64]int64

// NewDaily returns a cap of so many requests a day to each host; zero for any number.
func NewDaily(most func(canon.Authority) int64) *Daily {
	return &Daily{most: most, hosts: map[canon.Authority]*hours{}}
}

// Made counts a request that was made at some time before now, which may be that of another run.
func (d *Daily) Made(a canon.Authority, at, now time.Time) {
	if at.After(now) { // the clock was set back since
		at = now
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.most(a) > 0 && expires(hour(at)).After(now) {
		(*d.of(a, now))[hour(at)]++
	}
}

// Take counts a request that is about to be made, and returns zero; or it returns how long that has to wait.
func (d *Daily) Take(a canon.Authority, now time.Time) (wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := d.most(a)
	if most == 0 {
		return 0
	}
	h := d.of(a, now)
	if wait = h.wait(most, now); wait == 0 {
		(*h)[hour(now)]++
	}
	return wait
}

// Return takes back what Take counted at some time: the request was not made.
func (d *Daily) Return(a canon.Authority, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[a]; h != nil && (*h)[hour(at)] > 0 {
		(*h)[hour(at)]--
	}
}

// Left is how many requests to a may be made now, and after how long there are more when there are none.
func (d *Daily) Left(a canon.Authority, now time.Time) (n int64, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	most := d.most(a)
	if most == 0 {
		return math.MaxInt64, 0
	}
	h := d.of(a, now)
	return max(most-h.sum(), 0), h.wait(most, now)
}

// of are the hours of a host that count still.
func (d *Daily) of(a canon.Authority, now time.Time) *hours {
	h := d.hosts[a]
	if h == nil {
		h = &hours{}
		d.hosts[a] = h
	}
	for at := range *h {
		if !expires(at).After(now) {
			delete(*h, at)
		}
	}
	return h
}

func (h hours) sum() (n int64) {
	for _, made := range h {
		n += made
	}
	return n
}

// wait is how long it takes until the sum is below most.
func (h hours) wait(most int64, now time.Time) time.Duration {
	over := h.sum() - most
	if over < 0 {
		return 0
	}
	for at := hour(now) - 25; at <= hour(now)+1; at++ {
		if over -= h[at]; over < 0 && h[at] > 0 {
			return expires(at).Sub(now)
		}
	}
	return 24 * time.Hour
}

func hour(at time.Time) int64 { return at.Unix() / 3600 }

// expires is when the requests of an hour no longer count.
func expires(hour int64) time.Time { return time.Unix((hour+25)*3600, 0) }
