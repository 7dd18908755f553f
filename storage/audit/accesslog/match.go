package accesslog

import (
	"cmp"
	"slices"
)

// cluster are exchanges and lines of one request (log, method and target) whose times reach into each other.
type cluster struct {
	exchanges, lines []entry
	until            int64 // the last time that one of the exchanges reaches to
}

// maxCluster bounds a cluster. A longer one is a URL that is asked for all the time; it is settled in parts.
const maxCluster = 512

// fits reports whether a line may be that of an exchange, but for the status. A server may name its hosts by other
// names, as Apache does that writes the ServerName for all aliases (%v); then no line names the one that was asked.
func fits(x, l *entry) bool {
	return x.from <= l.from && l.from <= x.until && (l.host == "" || x.unnamed || bare(x.host) == bare(l.host)) &&
		(!l.cut || x.begins(l))
}

// agrees reports whether a line may be that of an exchange.
func agrees(x, l *entry) bool { return fits(x, l) && (x.loose || x.status == l.status) }

// match pairs lines with exchanges that they agree with: as many lines as can be, those that are the crawler's before
// those of which nobody knows whose they are; and of all ways to do that, one in which as many exchanges as can be
// have their line that need one.
//
// These are augmenting paths (H. W. Kuhn, The Hungarian method for the assignment problem, 1955): a line without a
// free exchange takes one whose line can take another. What a search that failed has visited is left out of all later
// ones.
func (c *cluster) match() *pairing {
	slices.SortStableFunc(c.exchanges, func(a, b entry) int { return cmp.Compare(a.until, b.until) })
	m := &pairing{c: c, lineOf: make([]int, len(c.exchanges)), been: make([]bool, max(len(c.exchanges), len(c.lines)))}
	for i := range m.lineOf {
		m.lineOf[i] = -1
	}
	for _, vague := range []bool{false, true} {
		for l := range c.lines {
			if c.lines[l].vague == vague {
				m.try(m.place, l)
			}
		}
	}
	clear(m.been)
	for x := range c.exchanges {
		if m.lineOf[x] < 0 && !c.exchanges[x].loose {
			m.try(m.claim, x)
		}
	}
	return m
}

// pairing is a match in the making.
type pairing struct {
	c       *cluster
	lineOf  []int  // by exchange; -1 for none
	been    []bool // exchanges, later lines, that are not looked at again
	visited []int
}

// try searches, and forgets where it has been if it found something.
func (m *pairing) try(search func(int) bool, from int) {
	if m.visited = m.visited[:0]; search(from) {
		for _, i := range m.visited {
			m.been[i] = false
		}
	}
}

// place finds an exchange for a line.
func (m *pairing) place(l int) bool {
	line := &m.c.lines[l]
	for x := range m.lineOf { // a free one: the first to end
		if m.lineOf[x] < 0 && agrees(&m.c.exchanges[x], line) {
			m.lineOf[x] = l
			return true
		}
	}
	for x, other := range m.lineOf {
		if m.been[x] || !agrees(&m.c.exchanges[x], line) {
			continue
		}
		m.been[x], m.visited = true, append(m.visited, x)
		if m.place(other) {
			m.lineOf[x] = l
			return true
		}
	}
	return false
}

// claim finds a line for an exchange that needs one: a free one, or that of an exchange which needs none or can have
// another.
func (m *pairing) claim(x int) bool {
	for l := range m.c.lines {
		if m.been[l] || !agrees(&m.c.exchanges[x], &m.c.lines[l]) {
			continue
		}
		m.been[l], m.visited = true, append(m.visited, l)
		of := slices.Index(m.lineOf, l)
		if of >= 0 && !m.c.exchanges[of].loose && !m.claim(of) {
			continue
		}
		if of >= 0 && m.lineOf[of] == l {
			m.lineOf[of] = -1
		}
		m.lineOf[x] = l
		return true
	}
	return false
}

// insteadOf widens an exchange that is left to all that could be left in its place: began and ended are the first
// begin and the last end of them.
func (m *pairing) insteadOf(left int) (began, ended int64) {
	xs, all := m.c.exchanges, bounds{}
	all.take(xs[left].earliest, xs[left].latest)
	m.trail(left, func(from, x, l int) (int, bool) {
		if !agrees(&xs[from], &m.c.lines[l]) {
			return 0, false
		}
		all.take(xs[x].began, xs[x].ended)
		return x, true
	})
	return all.first, all.last
}

// insteadOfLine does the same for a line: it returns the first and the last second.
func (m *pairing) insteadOfLine(left int) (first, last int64) {
	ls, all := m.c.lines, bounds{}
	all.take(ls[left].earliest, ls[left].latest)
	m.trail(left, func(from, x, l int) (int, bool) {
		if !agrees(&m.c.exchanges[x], &ls[from]) {
			return 0, false
		}
		all.take(ls[l].from, ls[l].from)
		return l, true
	})
	return all.first, all.last
}

// trail goes from what is left to the pairs that it could break up, and on from what would be left of those. leads says
// whether it leads from one thing to the pair of x and l, and what would be left.
func (m *pairing) trail(left int, leads func(from, x, l int) (next int, ok bool)) {
	seen := make([]bool, len(m.lineOf))
	for todo := []int{left}; len(todo) > 0; todo = todo[1:] {
		for x, l := range m.lineOf {
			if l < 0 || seen[x] {
				continue
			}
			if next, ok := leads(todo[0], x, l); ok {
				seen[x], todo = true, append(todo, next)
			}
		}
	}
}

// span returns the earliest begin and the latest end of the exchanges whose line l may be.
func (c *cluster) span(l *entry) (began, ended int64) {
	var all bounds
	for i := range c.exchanges {
		if x := &c.exchanges[i]; agrees(x, l) {
			all.take(x.began, x.ended)
		}
	}
	return all.first, all.last
}

// stamps returns the earliest and the latest second of the lines that may be of x.
func (c *cluster) stamps(x *entry) (first, last int64) {
	var all bounds
	for i := range c.lines {
		if l := &c.lines[i]; agrees(x, l) {
			all.take(l.from, l.from)
		}
	}
	return all.first, all.last
}

// bounds are the first and the last of some times; zero without any.
type bounds struct {
	first, last int64
	some        bool
}

func (b *bounds) take(first, last int64) {
	if !b.some {
		*b = bounds{first, last, true}
	}
	b.first, b.last = min(b.first, first), max(b.last, last)
}
