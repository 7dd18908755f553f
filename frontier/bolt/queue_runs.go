package bolt

import (
	"slices"

	"curtsy/frontier/bolt/layout"
)

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
