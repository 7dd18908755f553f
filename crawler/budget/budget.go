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

// Spent is the name of the budget that is used up; empty for none.
func (b *Tickets) Spent() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent()
}

// spent is Spent with mu held.
func (b *Tickets) spent() string {
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
	return b.more()
}

// more is More with mu held.
func (b *Tickets) more() bool {
	if b.spent() != "" || b.maxPages > 0 && b.pages+b.tickets >= b.maxPages {
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

// Groups keep a cap on the pages of each group of a crawl: of a registrable domain, or of a tag. A page is booked before
// it is asked for, so that those under way never bring a group over its cap. The methods may be called concurrently.
type Groups struct {
	mu    sync.Mutex
	most  int64            // zero for no cap
	pages map[string]int64 // counted, over all runs; nil while pages are not counted
	out   map[string]int64 // booked
}

// NewGroups returns groups of at most so many pages each, of which zero means any number. They have these pages already,
// and do not count pages if that is nil. It keeps the map.
func NewGroups(most int64, pages map[string]int64) *Groups {
	return &Groups{most: most, pages: pages, out: map[string]int64{}}
}

// Counts reports whether pages are counted.
func (g *Groups) Counts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages != nil
}

// Add adds pages that were counted elsewhere, and counts pages from now on.
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

// Limit sets another cap, of which zero means none. Pages that are booked stay booked.
func (g *Groups) Limit(most int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = most
}

// Book takes room for a page of a group. Full says that the group has all its pages; without room and not full, pages under
// way may be the last, or give their room back.
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

// Full reports whether a group has all its pages.
func (g *Groups) Full(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most > 0 && g.pages[name] >= g.most
}

// Pages is how many pages of a group were counted.
func (g *Groups) Pages(name string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages[name]
}

// The names.
const (
	Pages           = "pages"     // 2xx HTML answers
	Bytes           = "bytes"     // received, as they crossed the connection
	Exchanges       = "exchanges" // requests, robots.txt and redirects included
	Answers         = "answers"   // exchanges that brought a response head
	Robots          = "robots"    // exchanges for robots.txt
	Truncated       = "truncated" // bodies cut by our own limits
	Sitemaps        = "sitemaps"  // sitemaps read
	Listed          = "listed"    // what stood in them, taken or not
	SeedsUnanswered = "seeds unanswered"
	OddRetryAfter   = "odd retry-after" // Retry-After fields that cannot be read, or ask for over a year
	Runs            = "runs"            // in which at least one turn was taken: an operator opens the frontier, too
	NoIndex         = "noindex"         // answers that ask not to be indexed
	NoArchive       = "noarchive"       // answers that ask not to be archived
	RefusedAgain    = "refused again"   // refused URLs that were met again, or by another way, and have their line already
)

// EmptyWithoutScript is the reason of PrefixUnparsed for pages that show nothing to whoever runs no scripts.
const EmptyWithoutScript = "empty without JavaScript"

// Prefixes of names that end with a word.
const (
	PrefixLinks      = "links: "           // links of pages that are no candidates, by reason
	PrefixUnparsed   = "unparsed: "        // pages and the like that were fetched and not read, or not whole, by reason
	PrefixFailures   = "failures: "        // exchanges that a host failed, robots.txt included, by class, mended by a retry or not
	PrefixScripts    = "named by script: " // URLs that scripts alone name, by what became of them
	PrefixChanges    = "changes: "         // URLs, by what became of them since the generation before
	PrefixUnanswered = "unanswered seed "  // seeds without a usable answer, one each
	prefixTag        = "pages of tag "     // where pages are counted by the tag of their seed
)

// OfTag is the name of the total of a tag's pages.
func OfTag(tag string) string { return prefixTag + tag }

// Tag is the tag whose pages a total counts.
func Tag(name string) (tag string, ok bool) { return strings.CutPrefix(name, prefixTag) }

// IsPages reports whether a total counts pages, by whatever.
func IsPages(name string) bool { return name == Pages || strings.HasPrefix(name, prefixTag) }

// IsCost reports whether a total counts what was done and cannot be taken back: octets were received, and a host was asked.
func IsCost(name string) bool {
	switch name {
	case Exchanges, Bytes, Answers, Robots, OddRetryAfter:
		return true
	}
	return strings.HasPrefix(name, PrefixFailures) || strings.HasPrefix(name, storage.PrefixStatus) || strings.HasPrefix(name, storage.PrefixType)
}

// Generation says which turn of its life a crawl is in. The first begins with it, and each update begins another one: a
// frontier of its own, over the same archive and ledger. It is kept among the totals of the frontier, so that it changes
// with that in one step.
type Generation struct {
	Number int64     // from 1
	Began  time.Time // what is archived before it is the past; zero in the first
	Lines  int64     // decisions in the ledger before it
	Round  bool      // it asks for some pages alone, when they are due: what it leaves out is as it was
	Before int64     // decisions in the ledger before the generation before; before the last finished one, if that was not
}

// The names of the totals that hold it.
const (
	generation       = "generation"
	generationBegan  = "generation began"        // microseconds of the wall clock
	generationLines  = "generation lines"        // Lines
	generationBefore = "generation lines before" // Before
	generationRound  = "generation round"        // 1 with Round
)

// GenerationOf reads it from the totals of a frontier.
func GenerationOf(counts map[string]int64) Generation {
	g := Generation{Number: max(counts[generation], 1), Lines: counts[generationLines], Before: counts[generationBefore]}
	g.Round = counts[generationRound] > 0
	if at := counts[generationBegan]; at > 0 {
		g.Began = time.UnixMicro(at).UTC()
	}
	return g
}

// Counts are the totals that a frontier of g begins with. All others begin anew: budgets are those of a generation.
func (g Generation) Counts() map[string]int64 {
	counts := map[string]int64{
		generation: g.Number, generationBegan: g.Began.UnixMicro(), generationLines: g.Lines, generationBefore: g.Before,
	}
	if g.Round {
		counts[generationRound] = 1
	}
	return counts
}
