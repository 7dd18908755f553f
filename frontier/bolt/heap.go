// This file is a priority queue of values: the order of all that waits in the engine, by time or by rank.

package bolt

// entry is an item of a heap: a time (or another rank), and a tie-break that also says what the item is.
type entry struct {
	At  int64
	Tie uint64
}

func (e entry) before(o entry) bool { return e.At < o.At || e.At == o.At && e.Tie < o.Tie }

// heap is a 4-ary min-heap of values. Four children share a cache line, so a step down costs one miss where a binary
// heap has two; values instead of pointers mean that comparing touches no host. Items are not moved when what they
// stand for changes: the owner pushes another and recognises the old one when it comes up.
type heap []entry

// Push adds e.
func (h *heap) Push(e entry) {
	*h = append(*h, e)
	a := *h
	i := len(a) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(a[up]) {
			break
		}
		a[i] = a[up]
		i = up
	}
	a[i] = e
}

// Pop removes the first entry and returns it. The heap must not be empty.
func (h *heap) Pop() entry {
	a := *h
	first, last := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) > 0 {
		a.sink(0, last)
	}
	return first
}

// sink puts e at i or as far below as it belongs.
func (h heap) sink(i int, e entry) {
	for {
		child := 4*i + 1
		if child >= len(h) {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, len(h)); c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

// Remove takes one entry that equals e out of the heap, if there is one.
func (h *heap) Remove(e entry) {
	a := *h
	for i := range a {
		if a[i] != e {
			continue
		}
		last := a[len(a)-1]
		a = a[:len(a)-1]
		*h = a
		if i == len(a) {
			return
		}
		for i > 0 && last.before(a[(i-1)/4]) {
			a[i] = a[(i-1)/4]
			i = (i - 1) / 4
		}
		a.sink(i, last)
		return
	}
}

// Keep removes the entries that f does not want and restores the order.
func (h *heap) Keep(f func(entry) bool) {
	a := (*h)[:0]
	for _, e := range *h {
		if f(e) {
			a = append(a, e)
		}
	}
	for i := len(a)/4 + 1; i >= 0; i-- {
		if i < len(a) {
			a.sink(i, a[i])
		}
	}
	*h = a
}
