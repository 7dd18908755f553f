package simulation

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// seenHost is what the referee notes of a host. Times are since the start, in nanoseconds.
type seenHost struct {
	due      int64 // before this no exchange may begin
	ready    int64 // since when it has waited for a turn; -1 while it has nothing that is certain to be claimable
	began    int64 // the last exchange
	ended    int64
	fresh    int32 // pages that are known and have not been asked for
	n        uint32
	asked    uint16 // for robots.txt
	failures uint16 // in a row
	throttle uint16 // likewise
	unruled  uint16 // failures of robots.txt in a row
	medians  [5]int32
	heard    uint8
	busy     bool
	ruled    bool // robots.txt has given an answer
	slow     bool // the Crawl-delay is known
	exact    bool // due is when the next exchange may begin, and not only a bound
	after    bool // due comes from Retry-After
	met      bool
}

// bits is a set of pages.
type bits []uint64

func newBits(n int64) bits { return make(bits, n/64+1) }

func (b bits) has(i int64) bool { return b[i/64]>>(i%64)&1 != 0 }

// add reports whether i is new.
func (b bits) add(i int64) bool {
	was := b.has(i)
	b[i/64] |= 1 << (i % 64)
	return !was
}

// referee judges exchanges as they begin.
type referee struct {
	w     *world
	start time.Time

	mu                    sync.Mutex
	known, tried, closed  bits // pages, then their other addresses
	tally                 tally
	waits                 []int64 // by milliseconds, the last is for all beyond
	under                 int     // exchanges under way
	permitted, taken      int64   // time of turns, as due and as it was
	said                  []string
	firstStart, lastStart int64
}

// tally counts.
type tally struct {
	Exchanges, Robots, Pages, Retries            int64
	Fetched, Missing, Moved, Faults              int64
	Gaps, Short, Undercut, Overlapping, Repeated int64
	BeforeRules, Forbidden, RetryAfter, HostsMet int64
	MostAtOnce                                   int
	LongestWait                                  time.Duration
}

const waitBuckets = 120_000

func newReferee(w *world) *referee {
	last := &w.hosts[len(w.hosts)-1]
	n := 2 * (last.first + int64(last.pages))
	r := &referee{w: w, start: time.Now(), known: newBits(n), tried: newBits(n), closed: newBits(n), waits: make([]int64, waitBuckets+1), firstStart: -1}
	for i := range w.hosts {
		w.hosts[i].seenHost = seenHost{ready: -1, exact: true}
	}
	for i := range w.roots {
		r.learn(i, r.place(i, forPage, 0), 0)
	}
	return r
}

func (r *referee) now() int64 { return int64(time.Since(r.start)) }

// place is that of a page in the sets.
func (r *referee) place(id, what, page int) int64 {
	p := 2 * (r.w.hosts[id].first + int64(page))
	if what == forMoved {
		p++
	}
	return p
}

// learn notes that a link to a page is known. The caller holds mu, or is alone.
func (r *referee) learn(id int, place, now int64) {
	h := &r.w.hosts[id]
	if !r.known.add(place) {
		return
	}
	h.fresh++
	if h.ready < 0 && !h.busy {
		h.ready = max(h.due, now)
	}
}

// foul notes a breach of a rule; the first ones in words.
func (r *referee) foul(count *int64, format string, args ...any) {
	*count++
	if len(r.said) < 20 {
		r.said = append(r.said, fmt.Sprintf(format, args...))
	}
}

// begin judges the start of an exchange and returns its number with the host, and how often robots.txt was asked for.
func (r *referee) begin(a address) (n uint64, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, h, t := r.now(), &r.w.hosts[a.id], &r.tally
	t.Exchanges++
	r.under++
	t.MostAtOnce = max(t.MostAtOnce, r.under)
	if r.firstStart < 0 {
		r.firstStart = now
	}
	r.lastStart = now
	if h.busy {
		r.foul(&t.Overlapping, "host %d: two exchanges at once, at %v", a.id, time.Duration(now))
	}
	r.judgeGap(a, h, now)
	r.judgeTarget(a, h, now)
	h.met, h.busy, h.began = true, true, now
	h.n++
	return uint64(h.n), int(h.asked)
}

// judgeGap looks at the time since the exchange before (politeness rules 7, 9, 11, 12).
func (r *referee) judgeGap(a address, h *host, now int64) {
	t := &r.tally
	switch {
	case !h.met:
		t.HostsMet++
	case now < h.due && h.after:
		r.foul(&t.Undercut, "host %d: %v before Retry-After is over, at %v", a.id, time.Duration(h.due-now), time.Duration(now))
		fallthrough
	case now < h.due:
		r.foul(&t.Short, "host %d: %v too early, at %v", a.id, time.Duration(h.due-now), time.Duration(now))
	}
	if h.met {
		t.Gaps++
	}
	if !h.exact || h.ready < 0 || a.what == forRobotsOf {
		return
	}
	wait := max(now-h.ready, 0)
	if time.Duration(wait) > t.LongestWait {
		t.LongestWait = time.Duration(wait)
	}
	r.waits[min(wait/int64(time.Millisecond), waitBuckets)]++
	if h.met && h.ready == h.due {
		r.permitted += h.due - h.began
		r.taken += now - h.began
	}
}

// judgeTarget looks at what is asked for.
func (r *referee) judgeTarget(a address, h *host, now int64) {
	t := &r.tally
	switch a.what {
	case forRobots, forRobotsOf:
		t.Robots++
		if a.what == forRobots {
			h.asked++
		}
		return
	case forPrivate:
		r.foul(&t.Forbidden, "host %d: page %d, which robots.txt forbids, at %v", a.id, a.n, time.Duration(now))
		return
	}
	t.Pages++
	if !h.ruled {
		r.foul(&t.BeforeRules, "host %d: page %d before robots.txt, at %v", a.id, a.n, time.Duration(now))
	}
	p := r.place(a.id, a.what, a.n)
	switch {
	case r.closed.has(p):
		r.foul(&t.Repeated, "host %d: page %d once more, at %v", a.id, a.n, time.Duration(now))
	case !r.tried.add(p):
		t.Retries++
	case r.known.has(p):
		h.fresh--
	default:
		r.foul(&t.Repeated, "host %d: page %d, to which nothing has led, at %v", a.id, a.n, time.Duration(now))
	}
}

// end notes what an exchange was answered with, and from it when the next may begin.
func (r *referee) end(a address, x *answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, h := r.now(), &r.w.hosts[a.id]
	r.under--
	h.busy = false
	if x.response > 0 {
		h.medians[h.heard%5] = int32(x.response / time.Millisecond)
		if h.heard++; h.heard == 250 {
			h.heard = 5 // counts by fives
		}
	}
	h.ended = now
	if x.rules { // perhaps those of another host
		of := &r.w.hosts[a.n]
		of.ruled, of.slow = true, x.slow
		of.due = max(of.due, of.ended+int64(of.pace()))
	}
	r.settle(a, x, now)
	pause, exact := r.pause(h, x)
	pause = max(pause, h.unreachable(a, x))
	h.due, h.after = now+int64(pause), x.asked
	h.exact = exact && !(a.what == forRobots && !h.ruled)
	h.ready = -1
	if h.fresh > 0 {
		h.ready = h.due
	}
}

// settle notes what became of the page, and the links it brought.
func (r *referee) settle(a address, x *answer, now int64) {
	t := &r.tally
	if x.fault() {
		t.Faults++
		return
	}
	if a.what != forPage && a.what != forMoved {
		return
	}
	p := r.place(a.id, a.what, a.n)
	r.closed.add(p)
	switch {
	case x.status == 404:
		t.Missing++
	case x.status == 301:
		t.Moved++
		r.learn(a.id, r.place(a.id, forMoved, a.n), now)
	default:
		t.Fetched++
		if a.what == forMoved {
			return
		}
		for _, k := range r.w.links(a.id, a.n) {
			if r.w.kind(a.id, k) != private {
				r.learn(a.id, r.place(a.id, forPage, k), now)
			}
		}
		for _, id := range r.w.introduced(a.id, a.n) {
			r.learn(int(id), r.place(int(id), forPage, 0), now)
		}
		if id, ok := r.w.elsewhere(a.id, a.n); ok {
			r.learn(id, r.place(id, forPage, 0), now)
		}
	}
}

// pace is the largest of floor, Crawl-delay and five times the median of the last five response times; of an even
// number the larger of the middle two.
func (h *host) pace() time.Duration {
	pace := floor
	if h.slow {
		pace = max(pace, h.delay)
	}
	if k := min(int(h.heard), 5); k > 0 {
		s := h.medians
		slices.Sort(s[:k])
		pace = max(pace, min(5*time.Duration(s[k/2])*time.Millisecond, 30*time.Second))
	}
	return pace
}

// pause is what is due after an exchange; exact says that it is all.
func (r *referee) pause(h *host, x *answer) (pause time.Duration, exact bool) {
	pace := h.pace()
	blame := x.failure != "" || x.status >= 500 && x.status != 503
	throttled := x.status == 429 || x.status == 503
	switch {
	case throttled:
		h.throttle++
		pause = double(time.Minute, h.throttle-1)
	case blame:
		h.throttle = 0
		h.failures++
		first := time.Minute
		if x.failure == "" {
			first = 30 * time.Second
		}
		switch n := h.failures; { // one failure is no pattern: the schedule of the host begins with the second
		case n%5 == 0:
			pause = time.Hour
		case n > 1:
			pause = double(first, n-2)
		default:
			pause = 2 * pace
		}
	default:
		h.throttle, h.failures = 0, 0
		exact = true
	}
	if x.asked {
		r.tally.RetryAfter++
		pause, exact = x.retryAfter, false
	}
	return max(pause, pace), exact
}

// unreachable is how long robots.txt that cannot be had is left alone, unless the site says how long: a minute, doubled
// up to an hour (politeness rule 6).
func (h *host) unreachable(a address, x *answer) time.Duration {
	switch {
	case a.what != forRobots:
		return 0
	case !x.fault():
		h.unruled = 0
		return 0
	case x.asked:
		h.unruled++
		return 0
	}
	h.unruled++
	return double(time.Minute, h.unruled-1)
}

func double(d time.Duration, times uint16) time.Duration {
	for ; times > 0 && d < time.Hour; times-- {
		d *= 2
	}
	return min(d, time.Hour)
}

// percentile of the waits, to the millisecond.
func (r *referee) percentile(p float64) time.Duration {
	var all, sum int64
	for _, n := range r.waits {
		all += n
	}
	for ms, n := range r.waits {
		if sum += n; float64(sum) >= p/100*float64(all) {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 0
}
