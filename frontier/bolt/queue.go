package bolt

import (
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
		r, ok := q.first()
		if a := q.aside; a != nil && len(a.early) > 0 && (!ok || a.early[0].At < q.rank(r)) {
			refs = append(refs, q.unrank(a.early.Pop().At))
			continue
		}
		if !ok {
			break
		}
		q.popFirst()
		refs = append(refs, r)
	}
	if a := q.aside; a != nil {
		for len(refs) < n && len(a.tried) > 0 {
			refs = append(refs, q.unrank(a.tried.Pop().At))
		}
	}
	q.clearAside()
	return refs
}

// first returns the reference of the queue that comes first.
func (q *queue) first() (r layout.Ref, ok bool) {
	if q.runs.deep {
		return q.runs.back()
	}
	return q.runs.front()
}

// popFirst removes what first returns.
func (q *queue) popFirst() {
	if q.runs.deep {
		q.runs.popBack()
		return
	}
	q.runs.pop()
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
	if a := q.aside; a != nil {
		take := func(places *heap, of func(entry) layout.Ref) {
			for len(*places) > 0 && len(refs) < n {
				last := len(*places) - 1
				refs = append(refs, of((*places)[last]))
				*places = (*places)[:last]
			}
		}
		take(&a.early, q.ranked)
		take(&a.suspects, q.ranked)
		take(&a.tried, q.ranked)
		take(&a.later, timed)
		take(&a.again, timed)
		q.clearAside()
	}
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
	a := q.aside
	if a == nil {
		return taken
	}
	take := func(places *heap, of func(entry) layout.Ref) {
		places.Keep(func(e entry) bool {
			_, yes := slices.BinarySearch(refs, of(e))
			if yes {
				taken = append(taken, of(e))
			}
			return !yes
		})
	}
	take(&a.early, q.ranked)
	take(&a.suspects, q.ranked)
	take(&a.tried, q.ranked)
	take(&a.later, timed)
	take(&a.again, timed)
	q.clearAside()
	return taken
}

// ranked returns the reference of an entry that is ordered by rank, timed that of one ordered by time: see aside.
func (q *queue) ranked(e entry) layout.Ref { return q.unrank(e.At) }
func timed(e entry) layout.Ref             { return layout.Ref(e.Tie) }

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
