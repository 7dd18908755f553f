// Package budget enforces the limits of a crawl (politeness rule 15).
package budget

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
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

// Caps are the reasons of frontier.Stats.Capped with their flags, in the order of checks.
var Caps = [...][2]string{
	{frontier.ReasonCapSize, "max-db-size"}, {frontier.ReasonCapCrawl, "max-urls"}, {frontier.ReasonCapDomain, "max-urls-per-domain"},
	{frontier.ReasonCapHost, "max-urls-per-host"},
}

// HeldByTag is the reason of URLs held because of their tag.
const HeldByTag = "budget: " + MaxPerTag

// Tickets keep the caps over all runs: a worker takes a ticket for a page before it claims a turn, so that pages under way never
// exceed the budget. The methods may be called concurrently.
type Tickets struct {
	press func() // called repeatedly while a worker waits for a ticket

	mu                 sync.Mutex
	maxPages, maxBytes int64         // zero means no limit
	pages              int64         // counted
	tickets            int64         // out
	bytes              int64         // counted
	answers            int64         // exchanges with a response of any kind
	changed            chan struct{} // closed and replaced when a ticket comes back
}

// PressAfter is the wait for tickets after which slow exchanges must return theirs.
const PressAfter = 30 * time.Second

// New returns tickets for caps, where zero means none, and totals. It calls press repeatedly while a worker waits.
func New(maxPages, maxBytes int64, counts map[string]int64, press func()) *Tickets {
	return &Tickets{
		maxPages: maxPages, maxBytes: maxBytes, press: press,
		pages: counts[Pages], bytes: counts[Bytes], answers: counts[Answers],
		changed: make(chan struct{}),
	}
}

// Limit sets other caps, where zero means none. Tickets in use remain valid.
func (b *Tickets) Limit(maxPages, maxBytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.maxPages, b.maxBytes = maxPages, maxBytes
	close(b.changed)
	b.changed = make(chan struct{})
}

// Take waits for a ticket. It returns the name of the exhausted budget, or "" with a ticket or at the end of ctx.
func (b *Tickets) Take(ctx context.Context) string {
	for {
		b.mu.Lock()
		changed, spent, taken := b.changed, b.spent(), b.more()
		b.mu.Unlock()
		if spent != "" || taken {
			return spent
		}
		select {
		case <-changed:
		case <-time.After(PressAfter):
			b.press()
		case <-ctx.Done():
			return ""
		}
	}
}

// Spent returns the name of the exhausted budget, or "".
func (b *Tickets) Spent() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent()
}

func (b *Tickets) spent() string {
	switch {
	case b.maxBytes > 0 && b.bytes >= b.maxBytes:
		return MaxBytes
	case b.maxPages > 0 && b.pages >= b.maxPages:
		return MaxPages
	}
	return ""
}

// More takes a further ticket if there is one.
func (b *Tickets) More() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.more()
}

func (b *Tickets) more() bool {
	if b.spent() != "" || b.maxPages > 0 && b.pages+b.tickets >= b.maxPages {
		return false
	}
	b.tickets++
	return true
}

// Hold corrects the number of tickets in use.
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

func (b *Tickets) Spend(bytes int64, answer bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += bytes
	if answer {
		b.answers++
	}
}

// Answered reports whether any host has ever responded.
func (b *Tickets) Answered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answers > 0
}

// PerHostPerDay is the name of the cap of Daily.
const PerHostPerDay = "per-host-per-day"

// Daily caps the requests to each host within any 24 hours. It counts by the hour, and an hour counts until its end is a day ago, so
// that a host may wait up to an hour longer than needed. The methods may be called concurrently.
type Daily struct {
	most func(canon.Authority) int64 // requests to a host; zero for any number

	mu    sync.Mutex
	hosts map[canon.Authority]*hours
}

// hours are the requests to a host by hour since 1970.
type hours map[int64]int64

// NewDaily returns a Daily; zero is unlimited.
func NewDaily(most func(canon.Authority) int64) *Daily {
	return &Daily{most: most, hosts: map[canon.Authority]*hours{}}
}

// Made counts an earlier request, perhaps of another run.
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

// Take counts a request and returns zero, or returns how long it has to wait.
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

// Return takes back a Take whose request was not sent.
func (d *Daily) Return(a canon.Authority, at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[a]; h != nil && (*h)[hour(at)] > 0 {
		(*h)[hour(at)]--
	}
}

// Left returns how many requests to a are allowed now, or the wait until one is.
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

// of returns the hours of a host that count.
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

// expires returns when the requests of an hour stop counting.
func expires(hour int64) time.Time { return time.Unix((hour+25)*3600, 0) }

// Groups cap the pages of each registrable domain, or tag. A page is booked before its request, so that pages under way never exceed
// the cap. The methods may be called concurrently.
type Groups struct {
	mu    sync.Mutex
	most  int64            // zero for no cap
	pages map[string]int64 // counted, over all runs; nil while pages are not counted
	out   map[string]int64 // booked
}

// NewGroups returns groups with a cap, where zero means none, and their pages so far, which it keeps. Nil pages are not counted.
func NewGroups(most int64, pages map[string]int64) *Groups {
	return &Groups{most: most, pages: pages, out: map[string]int64{}}
}

func (g *Groups) Counts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages != nil
}

// Add adds pages, and counts pages from now on.
func (g *Groups) Add(pages map[string]int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pages == nil {
		g.pages = map[string]int64{}
	}
	for name, n := range pages {
		g.pages[name] += n
	}
}

// Limit sets another cap, where zero means none. Booked pages stay booked.
func (g *Groups) Limit(most int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = most
}

// Book takes room for a page. Without room, full means that the group has all its pages; otherwise pages under way may return theirs.
func (g *Groups) Book(name string) (booked, full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pages == nil {
		return true, false
	}
	switch n := g.pages[name]; {
	case g.most == 0:
	case n >= g.most:
		return false, true
	case n+g.out[name] >= g.most:
		return false, false
	}
	g.out[name]++
	return true, false
}

// Give returns the room that was booked, and counts the pages that it was used for.
func (g *Groups) Give(name string, pages int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pages == nil {
		return
	}
	if pages > 0 {
		g.pages[name] += pages
	}
	if g.out[name]--; g.out[name] <= 0 {
		delete(g.out, name)
	}
}

func (g *Groups) Full(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most > 0 && g.pages[name] >= g.most
}

func (g *Groups) Pages(name string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages[name]
}

// The names.
const (
	Pages           = "pages"     // 2xx HTML responses
	Bytes           = "bytes"     // received, as they crossed the connection
	Exchanges       = "exchanges" // requests, robots.txt and redirects included
	Answers         = "answers"   // exchanges with a response head
	Robots          = "robots"    // exchanges for robots.txt
	Truncated       = "truncated" // bodies cut by the crawler's limits
	Sitemaps        = "sitemaps"  // sitemaps read
	Listed          = "listed"    // entries of sitemaps, in scope or not
	SeedsUnanswered = "seeds unanswered"
	OddRetryAfter   = "odd retry-after" // Retry-After fields that cannot be read, or ask for over a year
	Runs            = "runs"            // in which at least one turn was taken: an operator also opens the frontier
	NoIndex         = "noindex"         // responses that ask not to be indexed
	NoArchive       = "noarchive"       // responses that ask not to be archived
	RefusedAgain    = "refused again"   // refused URLs that were found again, or in another way, and already have their line
)

// EmptyWithoutScript is the reason of PrefixUnparsed for pages that are empty without JavaScript.
const EmptyWithoutScript = "empty without JavaScript"

// Prefixes of names that end with a word.
const (
	PrefixLinks      = "links: "           // links of pages that are not candidates, by reason
	PrefixUnparsed   = "unparsed: "        // fetched documents that were not read completely, by reason
	PrefixFailures   = "failures: "        // exchanges that a host failed, robots.txt included, by class, even if retried
	PrefixScripts    = "named by script: " // URLs that only scripts name, by outcome
	PrefixChanges    = "changes: "         // URLs, by their change since the generation before
	PrefixUnanswered = "unanswered seed "  // seeds without a usable response, one each
	prefixTag        = "pages of tag "     // where pages are counted by the tag of their seed
)

func OfTag(tag string) string { return prefixTag + tag }

func Tag(name string) (tag string, ok bool) { return strings.CutPrefix(name, prefixTag) }

// IsPages reports whether a total counts pages.
func IsPages(name string) bool { return name == Pages || strings.HasPrefix(name, prefixTag) }

// IsCost reports whether a total includes the exchanges of lost turns.
func IsCost(name string) bool {
	switch name {
	case Exchanges, Bytes, Answers, Robots, OddRetryAfter:
		return true
	}
	return strings.HasPrefix(name, PrefixFailures) || strings.HasPrefix(name, storage.PrefixStatus) || strings.HasPrefix(name, storage.PrefixType)
}

// Generation is the generation of a crawl: each update begins another one, with its own frontier over the same archive and ledger. It
// is kept in the totals of the frontier, to change with that in one step.
type Generation struct {
	Number int64     // from 1
	Began  time.Time // older responses are the past; zero in the first
	Lines  int64     // decisions in the ledger before it
	Round  bool      // it requests only the due pages; the others stay as they were
	Before int64     // decisions in the ledger before the previous generation, or before the last finished one if that was not
}

// The names of the totals that hold it.
const (
	generation       = "generation"
	generationBegan  = "generation began"        // microseconds of the wall clock
	generationLines  = "generation lines"        // Lines
	generationBefore = "generation lines before" // Before
	generationRound  = "generation round"        // 1 with Round
)

func GenerationOf(counts map[string]int64) Generation {
	g := Generation{Number: max(counts[generation], 1), Lines: counts[generationLines], Before: counts[generationBefore]}
	g.Round = counts[generationRound] > 0
	if at := counts[generationBegan]; at > 0 {
		g.Began = time.UnixMicro(at).UTC()
	}
	return g
}

// Counts returns the initial totals of a frontier of g. Budgets start again in each generation.
func (g Generation) Counts() map[string]int64 {
	counts := map[string]int64{
		generation: g.Number, generationBegan: g.Began.UnixMicro(), generationLines: g.Lines, generationBefore: g.Before,
	}
	if g.Round {
		counts[generationRound] = 1
	}
	return counts
}
