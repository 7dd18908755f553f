package bolt

import "curtsy/frontier/bolt/layout"

// queue holds the references of a host that have not been claimed yet, in ascending order, as runs of neighbours:
// eight octets for a run of up to 128 URLs, and none for what is not there. It is taken from at either end.
type queue struct {
	runs []run
	head int // runs before it are used up
}

// run is a reference << 8 | number of its successors.
type run uint64

// push appends r, which is beyond all others.
func (q *queue) push(r layout.Ref) {
	if n := len(q.runs); n > q.head {
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
func (q *queue) grow() {
	live := q.runs[q.head:]
	q.runs = append(make([]run, 0, len(live)+len(live)/4+1), live...)
	q.head = 0
}

// front returns the first reference; ok is false when there is none.
func (q *queue) front() (r layout.Ref, ok bool) {
	if q.head == len(q.runs) {
		return 0, false
	}
	return layout.Ref(q.runs[q.head] >> 8), true
}

// back returns the last reference; ok is false when there is none.
func (q *queue) back() (r layout.Ref, ok bool) {
	if q.head == len(q.runs) {
		return 0, false
	}
	last := q.runs[len(q.runs)-1]
	return layout.Ref(last>>8) + layout.Ref(last&0xff), true
}

// popBack removes the last reference. There must be one.
func (q *queue) popBack() {
	n := len(q.runs) - 1
	if q.runs[n]&0xff > 0 {
		q.runs[n]--
		return
	}
	q.runs = q.runs[:n]
	switch {
	case q.head == n:
		q.runs, q.head = nil, 0
	case cap(q.runs) >= 64 && n-q.head < cap(q.runs)/2:
		q.grow()
	}
}

// pop removes the first reference. There must be one.
func (q *queue) pop() {
	r := q.runs[q.head]
	if r&0xff > 0 {
		q.runs[q.head] = (r>>8+1)<<8 | (r&0xff - 1)
		return
	}
	q.head++
	switch {
	case q.head == len(q.runs):
		q.runs, q.head = nil, 0
	case q.head >= 64 && q.head > len(q.runs)/2:
		q.grow()
	}
}
