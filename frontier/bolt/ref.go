package bolt

// ref says where the text of a URL is: the record, and the place in it. References grow in the order of acceptance,
// so that a host's URLs are in breadth-first order when they are in the order of their references. Zero is none,
// since records are numbered from 1.
type ref uint64

const (
	placeBits = 7
	maxPlaces = 1 << placeBits // entries of a record at most
	refBits   = 52             // of a packed ending
)

func makeRef(record uint64, place int) ref { return ref(record<<placeBits | uint64(place)) }

func (r ref) record() uint64 { return uint64(r) >> placeBits }
func (r ref) place() int     { return int(r & (maxPlaces - 1)) }

// queue holds the references of a host that have not been claimed yet, in ascending order, as runs of neighbours:
// eight octets for a run of up to 128 URLs, and none for what is not there. It is taken from at either end.
type queue struct {
	runs []run
	head int // runs before it are used up
}

// run is a reference << 8 | number of its successors.
type run uint64

// push appends r, which is beyond all others.
func (q *queue) push(r ref) {
	if n := len(q.runs); n > q.head {
		last := q.runs[n-1]
		first, more := ref(last>>8), last&0xff
		if first+ref(more)+1 == r && first.record() == r.record() {
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
func (q *queue) front() (r ref, ok bool) {
	if q.head == len(q.runs) {
		return 0, false
	}
	return ref(q.runs[q.head] >> 8), true
}

// back returns the last reference; ok is false when there is none.
func (q *queue) back() (r ref, ok bool) {
	if q.head == len(q.runs) {
		return 0, false
	}
	last := q.runs[len(q.runs)-1]
	return ref(last>>8) + ref(last&0xff), true
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
