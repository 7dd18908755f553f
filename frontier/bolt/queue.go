package bolt

import (
	"iter"
	"slices"

	"curtsy/frontier/bolt/layout"
)

// queue is the tasks of one host. The zero Queue is empty and gives breadth first.
type queue struct {
	runs  runs   // those that have never been given
	aside *aside // the others; mostly nil
}

// aside holds references out of their run.
type aside struct {
	early    heap // to be claimed before those of the queue beyond them: at is the rank of the reference
	later    heap // deferred, and untried for all that: at is the time when they are due, tie the reference
	again    heap // tried before: likewise
	tried    heap // of these, those that are due, given when nothing untried is: at is the rank
	suspects heap // given when nothing else is due: at is the rank
}

// newQueue returns an empty queue: breadth first, or depth first.
func newQueue(deep bool) queue { return queue{runs: runs{deep: deep}} }

// Push appends a reference that was never given. It is beyond all others.
func (q *queue) Push(r layout.Ref) { q.runs.push(r) }

// GiveBack returns a reference to its place in the order of acceptance.
func (q *queue) GiveBack(r layout.Ref) {
	if q.aside == nil {
		q.aside = &aside{}
	}
	q.aside.early.Push(entry{At: q.rank(r)})
}

// GiveSuspect returns a reference to be given when nothing else is due.
func (q *queue) GiveSuspect(r layout.Ref) {
	if q.aside == nil {
		q.aside = &aside{}
	}
	q.aside.suspects.Push(entry{At: q.rank(r)})
}

// GiveLater returns a deferred reference for when it is due, and says whether it was tried before.
func (q *queue) GiveLater(r layout.Ref, due int64, tried bool) {
	if q.aside == nil {
		q.aside = &aside{}
	}
	places := &q.aside.later
	if tried {
		places = &q.aside.again
	}
	places.Push(entry{At: due, Tie: uint64(r)})
}

// Available returns when q has a task to give, suspects apart; ok is false when it has none.
func (q *queue) Available(now int64) (at int64, ok bool) {
	if _, ok := q.runs.front(); ok {
		return now, true
	}
	switch a := q.aside; {
	case a == nil:
		return 0, false
	case len(a.early)+len(a.tried) > 0:
		return now, true
	case len(a.later) > 0 && len(a.again) > 0:
		return min(a.later[0].At, a.again[0].At), true
	case len(a.later) > 0:
		return a.later[0].At, true
	case len(a.again) > 0:
		return a.again[0].At, true
	}
	return 0, false
}

// Take removes up to n references that can be given now, suspects apart, and returns them in their order: what was
// tried before comes after all that was not, lest what fails again and again keep the rest of the host waiting.
func (q *queue) Take(now int64, n int) []layout.Ref {
	var refs []layout.Ref
	if a := q.aside; a != nil {
		for len(a.later) > 0 && a.later[0].At <= now {
			a.early.Push(entry{At: q.rank(timed(a.later.Pop()))})
		}
		for len(a.again) > 0 && a.again[0].At <= now {
			a.tried.Push(entry{At: q.rank(timed(a.again.Pop()))})
		}
	}
	for len(refs) < n {
		r, ok := q.runs.front()
		if q.runs.deep {
			r, ok = q.runs.back()
		}
		if a := q.aside; a != nil && len(a.early) > 0 && (!ok || a.early[0].At < q.rank(r)) {
			refs = append(refs, q.unrank(a.early.Pop().At))
			continue
		}
		if !ok {
			break
		}
		if refs = append(refs, r); q.runs.deep {
			q.runs.popBack()
		} else {
			q.runs.pop()
		}
	}
	if a := q.aside; a != nil {
		for len(refs) < n && len(a.tried) > 0 {
			refs = append(refs, q.unrank(a.tried.Pop().At))
		}
	}
	q.clearAside()
	return refs
}

// clearAside drops what is aside when there is nothing in it.
func (q *queue) clearAside() {
	if a := q.aside; a != nil && len(a.early)+len(a.later)+len(a.again)+len(a.tried)+len(a.suspects) == 0 {
		q.aside = nil
	}
}

// rank returns the place of a reference in the order of q, least first; the rank of a rank is the reference.
func (q *queue) rank(r layout.Ref) int64 {
	if q.runs.deep {
		return -int64(r)
	}
	return int64(r)
}

// unrank returns the reference that has a rank.
func (q *queue) unrank(at int64) layout.Ref {
	if q.runs.deep {
		return layout.Ref(-at)
	}
	return layout.Ref(at)
}

// TakeAny removes up to n references from q, due or not, and returns them.
func (q *queue) TakeAny(n int) (refs []layout.Ref) {
	for places, of := range q.places() {
		for len(*places) > 0 && len(refs) < n {
			last := len(*places) - 1
			refs = append(refs, of((*places)[last]))
			*places = (*places)[:last]
		}
	}
	q.clearAside()
	for len(refs) < n {
		r, ok := q.runs.front()
		if !ok {
			break
		}
		q.runs.pop()
		refs = append(refs, r)
	}
	return refs
}

// TakeThese removes those of refs, which ascend, that are in q, and returns them.
func (q *queue) TakeThese(refs []layout.Ref) (taken []layout.Ref) {
	taken = q.runs.remove(refs)
	for places, of := range q.places() {
		places.Keep(func(e entry) bool {
			_, yes := slices.BinarySearch(refs, of(e))
			if yes {
				taken = append(taken, of(e))
			}
			return !yes
		})
	}
	q.clearAside()
	return taken
}

// places yields the heaps aside, and what returns the reference of an entry: of those ordered by rank, and by time.
func (q *queue) places() iter.Seq2[*heap, func(entry) layout.Ref] {
	return func(yield func(*heap, func(entry) layout.Ref) bool) {
		if a := q.aside; a != nil {
			for _, places := range []*heap{&a.early, &a.suspects, &a.tried} {
				if !yield(places, func(e entry) layout.Ref { return q.unrank(e.At) }) {
					return
				}
			}
			_ = yield(&a.later, timed) && yield(&a.again, timed)
		}
	}
}

// timed returns the reference of an entry that is ordered by time.
func timed(e entry) layout.Ref { return layout.Ref(e.Tie) }

// Suspected reports whether there is a suspect.
func (q *queue) Suspected() bool { return q.aside != nil && len(q.aside.suspects) > 0 }

// Suspect returns the first suspect. There must be one.
func (q *queue) Suspect() layout.Ref { return q.unrank(q.aside.suspects[0].At) }

// TakeSuspect removes the first suspect, and returns it.
func (q *queue) TakeSuspect() layout.Ref {
	r := q.unrank(q.aside.suspects.Pop().At)
	q.clearAside()
	return r
}

// Runs returns how many runs of neighbours there is room for: what the queue costs, 8 bytes each.
func (q *queue) Runs() int { return cap(q.runs.runs) }

// Plain reports whether nothing is aside.
func (q *queue) Plain() bool { return q.aside == nil }

// runs are references in ascending order, as runs of neighbours: eight bytes for a run of up to 128 URLs, and none for
// what is not there. They are taken from at either end.
type runs struct {
	runs []run
	head uint32 // runs before it are used up
	deep bool   // of the Queue, which is as small as can be: there is one per host
}

// run is a reference << 8 | number of its successors.
type run uint64

// push appends r, which is beyond all others.
func (q *runs) push(r layout.Ref) {
	if n := len(q.runs); n > int(q.head) {
		last := q.runs[n-1]
		first, more := layout.Ref(last>>8), last&0xff
		if first+layout.Ref(more)+1 == r && first.Record() == r.Record() {
			q.runs[n-1]++
			return
		}
	}
	if len(q.runs) == cap(q.runs) {
		q.grow()
	}
	q.runs = append(q.runs, run(r)<<8)
}

// grow makes room for a quarter more. Doubling, as append does, would leave a third of the memory unused.
func (q *runs) grow() {
	live := q.runs[q.head:]
	q.runs = append(make([]run, 0, len(live)+len(live)/4+1), live...)
	q.head = 0
}

// front returns the first reference; ok is false when there is none.
func (q *runs) front() (r layout.Ref, ok bool) {
	if int(q.head) == len(q.runs) {
		return 0, false
	}
	return layout.Ref(q.runs[q.head] >> 8), true
}

// back returns the last reference; ok is false when there is none.
func (q *runs) back() (r layout.Ref, ok bool) {
	if int(q.head) == len(q.runs) {
		return 0, false
	}
	last := q.runs[len(q.runs)-1]
	return layout.Ref(last>>8) + layout.Ref(last&0xff), true
}

// popBack removes the last reference. There must be one.
func (q *runs) popBack() {
	n := len(q.runs) - 1
	if q.runs[n]&0xff > 0 {
		q.runs[n]--
		return
	}
	q.runs = q.runs[:n]
	switch {
	case int(q.head) == n:
		q.runs, q.head = nil, 0
	case cap(q.runs) >= 64 && n-int(q.head) < cap(q.runs)/2:
		q.grow()
	}
}

// pop removes the first reference. There must be one.
func (q *runs) pop() {
	r := q.runs[q.head]
	if r&0xff > 0 {
		q.runs[q.head] = (r>>8+1)<<8 | (r&0xff - 1)
		return
	}
	q.head++
	switch {
	case int(q.head) == len(q.runs):
		q.runs, q.head = nil, 0
	case q.head >= 64 && int(q.head) > len(q.runs)/2:
		q.grow()
	}
}

// remove takes those of refs, which ascend, out of q, and returns them. A run may fall into several.
func (q *runs) remove(refs []layout.Ref) (taken []layout.Ref) {
	var runs []run
	for i, r := range q.runs[q.head:] {
		first, end := layout.Ref(r>>8), layout.Ref(r>>8)+layout.Ref(r&0xff)+1
		at, _ := slices.BinarySearch(refs, first)
		refs = refs[at:]
		if len(refs) == 0 {
			if taken != nil {
				runs = append(runs, q.runs[int(q.head)+i:]...)
			}
			break
		}
		for len(refs) > 0 && refs[0] < end {
			if taken == nil { // nothing was missing so far
				runs = slices.Clone(q.runs[q.head : int(q.head)+i])
			}
			taken = append(taken, refs[0])
			if refs[0] > first {
				runs = append(runs, makeRun(first, refs[0]))
			}
			first, refs = refs[0]+1, refs[1:]
		}
		if taken != nil && first < end {
			runs = append(runs, makeRun(first, end))
		}
	}
	if taken != nil {
		q.runs, q.head = slices.Clip(runs), 0
	}
	return taken
}

// makeRun returns the run of the references from first to before end.
func makeRun(first, end layout.Ref) run { return run(first)<<8 | run(end-first-1) }

// entry is an item of a heap: a time (or another rank), and a tie-break that also says what the item is.
type entry struct {
	At  int64
	Tie uint64
}

func (e entry) before(o entry) bool { return e.At < o.At || e.At == o.At && e.Tie < o.Tie }

// heap is a 4-ary min-heap of values: the order of all that waits in the engine, by time or by rank. Four children share a cache line, so a step down costs one miss where a binary
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
