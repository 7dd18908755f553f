package budget

import "sync"

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
