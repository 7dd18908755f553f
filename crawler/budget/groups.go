package budget

import (
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

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
