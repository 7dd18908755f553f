package budget

import "sync"

// Groups keep a cap on the pages of each group of a crawl: of a registrable domain, or of a tag. A page is booked before
// it is asked for, so that those under way never bring a group over its cap. A nil Groups has no cap. The methods may be
// called concurrently.
type Groups struct {
	most int64

	mu    sync.Mutex
	pages map[string]int64 // counted, over all runs
	out   map[string]int64 // booked
}

// NewGroups returns groups of at most so many pages each, which have these already. It keeps the map.
func NewGroups(most int64, pages map[string]int64) *Groups {
	return &Groups{most: most, pages: pages, out: map[string]int64{}}
}

// Book takes room for a page of a group. Full says that the group has all its pages; without room and not full, pages under
// way may be the last, or give their room back.
func (g *Groups) Book(name string) (booked, full bool) {
	if g == nil {
		return true, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch n := g.pages[name]; {
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
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if pages > 0 {
		g.pages[name] += pages
	}
	if g.out[name]--; g.out[name] <= 0 {
		delete(g.out, name)
	}
}

// Full reports whether a group has all its pages.
func (g *Groups) Full(name string) bool { return g != nil && g.Pages(name) >= g.most }

// Pages is how many pages of a group were counted.
func (g *Groups) Pages(name string) int64 {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pages[name]
}
