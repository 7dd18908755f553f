package bolt

import (
	"iter"
	"slices"

	"curtsy/frontier/bolt/layout"
)

// queue is the tasks of one host. The zero queue is empty and breadth first.
type queue struct {
	runs  runs   // never given
	aside *aside // the others; mostly nil
}

type aside struct {
	early    heap // before those of the runs beyond them: at is the rank of the reference
	later    heap // deferred without an attempt: at is the due time, tie the reference
	again    heap // deferred after an attempt: same keys
	tried    heap // due ones of again, given when nothing untried is: at is the rank
	suspects heap // given when nothing else is due: at is the rank
}

func newQueue(deep bool) queue { return queue{runs: runs{deep: deep}} }

// Push appends a reference that is beyond all others.
func (q *queue) Push(r layout.Ref) { q.runs.push(r) }

// GiveBack returns a reference to its place in the order of acceptance.
func (q *queue) GiveBack(r layout.Ref) {
	if q.aside == nil {
		q.aside = &aside{}
	}
	q.aside.early.Push(entry{At: q.rank(r)})
}

func (q *queue) GiveSuspect(r layout.Ref) {
	if q.aside == nil {
		q.aside = &aside{}
	}
	q.aside.suspects.Push(entry{At: q.rank(r)})
}

// GiveLater returns a deferred reference, which becomes available when due; tried reports an earlier attempt.
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

// Available returns when q has a task to give other than suspects; ok is false when it has none.
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

// Take removes up to n references that are due, without suspects, in their order: tried ones come last, so that
// a task that fails repeatedly does not keep the rest of the host waiting.
func (q *queue) Take(now int64, n int) []layout.Ref {
	var refs []layout.Ref
	if a := q.aside; a != nil {
		for len(a.later) > 0 && a.later[0].At <= now {
			a.early.Push(entry{At: q.rank(timedRef(a.later.Pop()))})
		}
		for len(a.again) > 0 && a.again[0].At <= now {
			a.tried.Push(entry{At: q.rank(timedRef(a.again.Pop()))})
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

func (q *queue) clearAside() {
	if a := q.aside; a != nil && len(a.early)+len(a.later)+len(a.again)+len(a.tried)+len(a.suspects) == 0 {
		q.aside = nil
	}
}

// rank returns the place of a reference in the order of q, least first.
func (q *queue) rank(r layout.Ref) int64 {
	if q.runs.deep {
		return -int64(r)
	}
	return int64(r)
}

func (q *queue) unrank(at int64) layout.Ref {
	if q.runs.deep {
		return layout.Ref(-at)
	}
	return layout.Ref(at)
}

// TakeAny removes and returns up to n references, due or not.
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

// places yields the heaps aside, each with a function that returns the reference of an entry.
func (q *queue) places() iter.Seq2[*heap, func(entry) layout.Ref] {
	return func(yield func(*heap, func(entry) layout.Ref) bool) {
		if a := q.aside; a != nil {
			for _, places := range []*heap{&a.early, &a.suspects, &a.tried} {
				if !yield(places, func(e entry) layout.Ref { return q.unrank(e.At) }) {
					return
				}
			}
			_ = yield(&a.later, timedRef) && yield(&a.again, timedRef)
		}
	}
}

// timedRef returns the reference of an entry that is ordered by time.
func timedRef(e entry) layout.Ref { return layout.Ref(e.Tie) }

func (q *queue) Suspected() bool { return q.aside != nil && len(q.aside.suspects) > 0 }

// Suspect returns the first suspect. There must be one.
func (q *queue) Suspect() layout.Ref { return q.unrank(q.aside.suspects[0].At) }

func (q *queue) TakeSuspect() layout.Ref {
	r := q.unrank(q.aside.suspects.Pop().At)
	q.clearAside()
	return r
}

// Runs returns the capacity for runs, of 8 bytes each.
func (q *queue) Runs() int { return cap(q.runs.runs) }

func (q *queue) Plain() bool { return q.aside == nil }

// runs are references in ascending order, as runs of up to 128 neighbours of 8 bytes each. They are taken from either
// end.
type runs struct {
	runs []run
	head uint32 // runs before it are used up
	deep bool   // of the queue; here to keep it small: there is one per host
}

// run is a reference << 8 | number of its successors.
type run uint64

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

func (q *runs) front() (r layout.Ref, ok bool) {
	if int(q.head) == len(q.runs) {
		return 0, false
	}
	return layout.Ref(q.runs[q.head] >> 8), true
}

func (q *runs) back() (r layout.Ref, ok bool) {
	if int(q.head) == len(q.runs) {
		return 0, false
	}
	last := q.runs[len(q.runs)-1]
	return layout.Ref(last>>8) + layout.Ref(last&0xff), true
}

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

// remove takes refs, which ascend, out of q, and returns those that were in it. A run may be split.
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

// entry is an item of a heap: a time or rank, and a tie-break that also identifies the item.
type entry struct {
	At  int64
	Tie uint64
}

func (e entry) before(o entry) bool { return e.At < o.At || e.At == o.At && e.Tie < o.Tie }

// heap is a 4-ary min-heap of values. Four children share a cache line, so a step down costs one miss where a binary
// heap has two; comparing values touches no host. An item that changes is pushed again; the owner recognises the old
// one as stale.
type heap []entry

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

// Pop removes and returns the first entry. The heap must not be empty.
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

// sink puts e at i or below.
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

// Keep removes the entries for which f is false.
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
