package budget

import (
	"slices"
	"sync"
)

const (
	window   = 1000 // exchanges or pages that a share is of
	leastOf  = 100  // exchanges from which on a share of errors is one
	recalled = 1 << 20
)

// Answer is what came of one exchange.
type Answer struct {
	Failed bool
	Page   bool
	First  bool   // the page is the first of its host
	Text   uint64 // the digest of what the page says; 0 if it says too little
}

// Watch watches one run for conditions. Its methods may be called concurrently.
type Watch struct {
	ofTag func(tag string) int64 // the pages of a tag so far

	mu     sync.Mutex
	all    []Condition
	pages  int64
	failed ring
	copied ring
	first  ring
	texts  []uint64
}

// NewWatch returns a Watch for conditions. Before are the pages of the runs before; ofTag counts those of a tag, with what Note
// is about to be told.
func NewWatch(all []Condition, before int64, ofTag func(tag string) int64) *Watch {
	w := &Watch{pages: before, ofTag: ofTag}
	w.Set(all)
	return w
}

// Set sets other conditions. The window of duplicates begins with the first condition on them.
func (w *Watch) Set(all []Condition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = all
	if w.texts == nil && slices.ContainsFunc(all, func(c Condition) bool { return c.what == duplicates }) {
		w.texts, w.copied = make([]uint64, recalled), ring{}
	}
}

// Note takes in what came of an exchange.
func (w *Watch) Note(a Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed.add(a.Failed)
	if !a.Page {
		return
	}
	w.pages++
	w.first.add(a.First)
	met := false
	if w.texts != nil && a.Text != 0 {
		place := &w.texts[a.Text>>1%recalled] // the lowest bit is set in all
		met, *place = *place == a.Text, a.Text
	}
	w.copied.add(met)
}

// Met returns the first condition that is met, in words; "" for none.
func (w *Watch) Met() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.all {
		if w.met(c) {
			return c.text
		}
	}
	return ""
}

func (w *Watch) met(c Condition) bool {
	switch c.what {
	case pages:
		n := w.pages
		if c.tag != "" {
			n = w.ofTag(c.tag)
		}
		return n >= c.limit
	case errorRate:
		return w.failed.len() >= leastOf && w.failed.over(c.limit)
	case duplicates:
		return w.copied.len() == window && w.copied.over(c.limit)
	case newHosts:
		return w.first.len() == window && w.first.set < c.limit
	}
	return false
}

// ring remembers of the last things whether each was so.
type ring struct {
	bits  [window]bool
	taken int64
	set   int64 // of bits
}

func (r *ring) add(is bool) {
	place := &r.bits[r.taken%window]
	if *place {
		r.set--
	}
	if is {
		r.set++
	}
	*place = is
	r.taken++
}

func (r *ring) len() int64 { return min(r.taken, window) }

// over reports whether more than so many parts of 100,000 were so.
func (r *ring) over(parts int64) bool { return r.set*100_000 > parts*r.len() }
