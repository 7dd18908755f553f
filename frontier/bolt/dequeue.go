package bolt

import (
	"slices"

	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/bolt/layout"
)

// takeAny removes up to n references from the places of h, due or not, and returns them.
func (h *host) takeAny(n int) (refs []layout.Ref) {
	if a := h.aside; a != nil {
		take := func(places *heap.Heap, of func(heap.Entry) layout.Ref) {
			for len(*places) > 0 && len(refs) < n {
				last := len(*places) - 1
				refs = append(refs, of((*places)[last]))
				*places = (*places)[:last]
			}
		}
		take(&a.early, h.ranked)
		take(&a.suspects, h.ranked)
		take(&a.tried, h.ranked)
		take(&a.later, timed)
		take(&a.again, timed)
		h.clearAside()
	}
	for len(refs) < n {
		r, ok := h.queue.front()
		if !ok {
			break
		}
		h.queue.pop()
		refs = append(refs, r)
	}
	return refs
}

// takeThese removes those of refs, which ascend, that are in a place of h, and returns them.
func (h *host) takeThese(refs []layout.Ref) (taken []layout.Ref) {
	taken = h.queue.remove(refs)
	a := h.aside
	if a == nil {
		return taken
	}
	take := func(places *heap.Heap, of func(heap.Entry) layout.Ref) {
		places.Keep(func(e heap.Entry) bool {
			_, yes := slices.BinarySearch(refs, of(e))
			if yes {
				taken = append(taken, of(e))
			}
			return !yes
		})
	}
	take(&a.early, h.ranked)
	take(&a.suspects, h.ranked)
	take(&a.tried, h.ranked)
	take(&a.later, timed)
	take(&a.again, timed)
	h.clearAside()
	return taken
}

// ranked returns the reference of an entry that is ordered by rank, timed that of one ordered by time: see aside.
func (h *host) ranked(e heap.Entry) layout.Ref { return h.unrank(e.At) }
func timed(e heap.Entry) layout.Ref            { return layout.Ref(e.Tie) }

// remove takes those of refs, which ascend, out of q, and returns them. A run may fall into several.
func (q *queue) remove(refs []layout.Ref) (taken []layout.Ref) {
	var runs []run
	for i, r := range q.runs[q.head:] {
		first, end := layout.Ref(r>>8), layout.Ref(r>>8)+layout.Ref(r&0xff)+1
		at, _ := slices.BinarySearch(refs, first)
		refs = refs[at:]
		if len(refs) == 0 {
			if taken != nil {
				runs = append(runs, q.runs[q.head+i:]...)
			}
			break
		}
		for len(refs) > 0 && refs[0] < end {
			if taken == nil { // nothing was missing so far
				runs = slices.Clone(q.runs[q.head : q.head+i])
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
