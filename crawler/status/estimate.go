package status

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// Estimate is the remaining time of a crawl, and its cause: the known minimum, and the likely time.
type Estimate struct {
	Known  int64         // URLs discovered so far
	Left   time.Duration // for pending URLs, or until a budget ends the crawl
	Pace   time.Duration // delay of the host that takes longest
	PaceBy string        // the source of that delay
	Host   string        // that host

	// Likely also counts URLs that will probably be found, by the growth of hosts. Open means that the growth shows no end.
	Likely   time.Duration
	Expected int64 // URLs in total by then
	Open     bool
	Until    string // the budget that ends the crawl early; empty without one
	AtMost   bool   // the budget may not be reached before all is done
	Within   string // the window for requests, which the times include; empty for any time
}

// Estimate estimates the time for pending URLs from the delays of their hosts. The longest host queue determines it, or the
// queues of hosts that share an address, or all queues over the workers. In a large crawl it examines the first hosts, and
// the longest one that Note reported.
func (l *Live) Estimate(ctx context.Context) (Estimate, error) {
	return l.estimate.get(ctx, l.findEstimate)
}

func (l *Live) findEstimate(ctx context.Context) (Estimate, error) {
	st, err := l.frontier.Stats(ctx)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Known: st.Discovered}
	var total time.Duration
	var f forecast
	err = EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		n, _ := host.Read(h.Memory) // damaged memory is empty
		pace := l.settings.Pacing(h, &n)
		total += e.take(h, &n, pace)
		if h.Pending() > 0 {
			f.take(h, &n, pace, l.curve(h.Authority), &l.settings)
		}
		return true
	})
	if err != nil {
		return Estimate{}, err
	}
	e.Left = max(e.Left, total/time.Duration(l.settings.Workers))
	l.mu.Lock()
	a := l.longest.authority
	l.mu.Unlock()
	if h, ok, err := l.frontier.Host(ctx, a); err != nil {
		return Estimate{}, err
	} else if ok {
		n, _ := host.Read(h.Memory)
		e.take(h, &n, l.settings.Pacing(h, &n))
	}
	all, err := l.Sharing(ctx)
	if err != nil {
		return Estimate{}, err
	}
	if addr, need := all.longest(); need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, all.every, string(storage.ByAddress), all.word(addr)
	}
	w := l.budget().Window
	e.Left, e.Within = w.Takes(time.Now(), e.Left), w.String()
	l.foretell(&f, st, &e)
	return e, nil
}

// take makes h the longest host if it is, and returns the duration of its requests. A resting host does not count.
func (e *Estimate) take(h frontier.Host, n *host.State, p Pacing) (exchanges time.Duration) {
	// A turn costs its pace and the exchange itself, which the response times measure.
	exchange := n.Response()
	if h.Width > 1 {
		exchange /= time.Duration(h.Width)
	}
	left := time.Duration(h.Pending())
	if isResting(h, p.Pace) {
		return 0 // its end is unknown; the status names it
	}
	if need := left*(p.Pace+exchange) + h.Wait; need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, p.Pace, p.By, h.Authority.Origin()
	}
	return left * exchange
}

// isResting reports whether a host is left alone for longer than its delay.
func isResting(h frontier.Host, pace time.Duration) bool {
	return h.Hold.Act != 0 || h.Condition != frontier.Open && h.Wait > pace
}

// Rest is the likely remaining time.
func (e Estimate) Rest() time.Duration { return max(e.Likely, e.Left) }

// RestText describes Rest, with a qualification.
func (e Estimate) RestText() (left, more string) {
	left = e.about() + " " + plainly.RoughDuration(e.Rest()) + " left"
	switch {
	case e.Open:
		more = ", more may be found"
	case e.Until != "":
		more = ", by --" + e.Until
	}
	return left, more
}

func (e Estimate) about() string {
	switch {
	case e.Open:
		return "at least"
	case e.AtMost:
		return "at most"
	}
	return "about"
}

// String describes the likely time, or the minimum if growth has no end, in one line.
func (e Estimate) String() string {
	if e.Host == "" {
		return "nothing is pending"
	}
	urls := plainly.Count(e.Known, "known URL")
	if e.Within != "" {
		urls += ", within " + e.Within
	}
	switch {
	case e.Until != "":
		urls += ", until --" + e.Until
	case e.Open:
		urls += ", more may be found"
	case e.Expected > e.Known:
		urls += fmt.Sprintf(" and %d expected ones", e.Expected-e.Known)
	}
	return fmt.Sprintf("%s %s for %s; pace %v (%s) at %s", e.about(), plainly.RoughDuration(e.Rest()), urls, e.Pace, e.PaceBy, e.Host)
}

// NotDue is the reason of an open host that waits longer than its delay: an earlier back-off, a quota, or a shared address.
const NotDue = "its next request is not due yet"

// Left lists the hosts with pending URLs, with the reasons for waiting.
func Left(ctx context.Context, f frontier.Reader) ([]Resting, error) {
	var out []Resting
	err := EachHost(ctx, f, 0, func(h frontier.Host) bool {
		r := restingOf(h)
		switch {
		case r.Pending == 0:
			return true
		case h.Condition != frontier.Open || h.Hold.Act != 0:
		case h.Deferred == r.Pending:
			r.Reason = "its URLs wait to be tried again"
		case h.Wait > h.Pace:
			r.Reason = NotDue
		default:
			r.Reason = "its pace"
		}
		out = append(out, r)
		return true
	})
	return out, err
}

// Budget ends a crawl before all is done. Zero fields are unlimited.
type Budget struct {
	MaxPages, MaxPerHost, MaxBytes int64
	MaxTime                        time.Duration
	Window                         hostrule.Spans // of requests
}

// Values of Estimate.Until.
const (
	UntilPages = "max-pages"
	UntilBytes = "max-bytes"
	UntilTime  = "max-time"
)

// forecast extrapolates the growth of hosts.
type forecast struct {
	parts []part
	more  int64 // expected URLs beyond the known ones
}

// part is the forecast of one host.
type part struct {
	turn, exchange float64      // seconds of one turn, with the delay and without
	at             netip.Prefix // its address, if it shares a delay
	wait           float64
	known          float64 // exchanges for known URLs
	more           float64 // for further expected ones
	likely         float64 // both
	open           bool    // it grows without an end in sight
}

func (p part) need() float64 { return p.likely*p.turn + p.wait }

// take adds a host, unless it rests.
func (f *forecast) take(h frontier.Host, n *host.State, p Pacing, c *growthCurve, s *Settings) {
	if isResting(h, p.Pace) {
		return
	}
	done, known := tally(h)
	total, open := known, false
	if c != nil {
		total, open = c.Expect(done, known)
	}
	x := part{wait: h.Wait.Seconds(), known: float64(h.Pending()) * costing(h), more: float64(total-known) * costing(h), open: open}
	x.likely = x.known + x.more
	if s.MaxPerHost > 0 {
		if left := max(float64(s.MaxPerHost-h.Outcomes[frontier.Fetched]), 0); x.likely >= left || x.open {
			x.known, x.more, x.likely, x.open = left, 0, left, false
		}
	}
	exchange := n.Response().Seconds() / float64(max(h.Width, 1))
	x.turn = p.Pace.Seconds() + exchange
	x.exchange = exchange
	if !p.Own {
		x.at = n.Spot
	}
	f.parts = append(f.parts, x)
	f.more += total - known
}

// sober lowers the expectations of many hosts: the maximum of many estimates overestimates the maximum.
func (f *forecast) sober() {
	growing := 0.0
	for _, p := range f.parts {
		if p.more > 0 {
			growing++
		}
	}
	if growing < 2 {
		return
	}
	for i := range f.parts {
		p := &f.parts[i]
		p.likely = p.known + p.more/(1+0.1*math.Log(growing))
	}
}

// tally counts the done and the known URLs of a host.
func tally(h frontier.Host) (done, known int64) {
	for _, n := range h.Outcomes {
		done += n
	}
	return done, done + h.Pending()
}

// costing is the share of a host's URLs that cost an exchange: disallowed and dropped URLs do not.
func costing(h frontier.Host) float64 {
	const enough = 10
	done, _ := tally(h)
	if done < enough {
		return 1
	}
	free := h.Outcomes[frontier.Disallowed] + h.Outcomes[frontier.Dropped]
	return float64(done-free) / float64(done)
}

// longest returns the seconds that everything takes, and whether an open host determines that, or may.
func (f *forecast) longest(s *Settings) (takes float64, open bool) {
	var unsure, work float64
	starts := map[netip.Prefix]float64{}
	for _, p := range f.parts {
		takes = max(takes, p.need())
		if p.open {
			unsure = max(unsure, p.need())
		}
		work += p.likely * p.exchange
		if p.at.IsValid() {
			starts[p.at] += p.likely // a single host's own delay is longer
		}
	}
	takes = max(takes, work/float64(max(s.Workers, 1)))
	for _, n := range starts {
		takes = max(takes, n*s.IPDelay.Seconds())
	}
	return takes, unsure*2 >= takes && unsure > 0
}

// until returns the seconds until that many further exchanges; false if never.
func (f *forecast) until(exchanges float64) (takes float64, ok bool) {
	by := func(t float64) (sum float64) {
		for _, p := range f.parts {
			n := max(t-p.wait, 0)
			if p.turn > 0 {
				n /= p.turn
			}
			if !p.open {
				n = min(n, p.likely)
			}
			sum += n
		}
		return sum
	}
	low, high := 0.0, float64(time.Hour/time.Second)
	for by(high) < exchanges {
		if high *= 2; high > 1e9 {
			return 0, false
		}
	}
	for range 50 {
		if middle := (low + high) / 2; by(middle) < exchanges {
			low = middle
		} else {
			high = middle
		}
	}
	return high, true
}

const maxSeconds = float64(math.MaxInt64 / int64(2*time.Second)) // fits a time.Duration

// foretell adds the forecast, and the budget that ends the crawl early, to an estimate.
func (l *Live) foretell(f *forecast, st frontier.Stats, e *Estimate) {
	f.sober()
	takes, open := f.longest(&l.settings)
	least, unsure := takes, open
	e.Expected = e.Known + f.more
	end := func(by string, seconds float64) {
		if seconds = max(seconds, 0); open || seconds < takes {
			takes, open, e.Until = seconds, false, by
		}
	}
	b := l.budget()
	closed, fetched, asked := st.Discovered-st.Queued-st.InFlight-st.Deferred, st.Counts[budget.Pages], st.Counts[budget.Exchanges]
	closed -= st.Outcomes[frontier.Disallowed] + st.Outcomes[frontier.Dropped]
	if b.MaxPages > 0 && fetched > 0 {
		if t, ok := f.until(float64(b.MaxPages-fetched) * float64(max(closed, fetched)) / float64(fetched)); ok {
			end(UntilPages, t)
		}
	}
	if received := st.Counts[budget.Bytes]; b.MaxBytes > 0 && received > 0 {
		if t, ok := f.until(float64(b.MaxBytes-received) * float64(asked) / float64(received)); ok {
			end(UntilBytes, t)
		}
	}
	takes = b.Window.Takes(time.Now(), time.Duration(min(takes, maxSeconds)*float64(time.Second))).Seconds()
	if b.MaxTime > 0 {
		end(UntilTime, (b.MaxTime - time.Since(l.began)).Seconds())
	}
	e.Likely, e.Open = time.Duration(takes*float64(time.Second)), open
	e.AtMost = unsure && e.Until != "" && least < takes
	if e.Until != "" {
		e.Left = min(e.Left, e.Likely)
	}
	e.Likely = max(e.Likely, e.Left)
}

// curve returns a copy of a host's growth; nil if it is not tracked.
func (l *Live) curve(a canon.Authority) *growthCurve {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.curves[a]; c != nil {
		now := *c
		return &now
	}
	return nil
}

// Grown records a host's done and known URLs after a turn.
func (l *Live) Grown(h frontier.Host) {
	done, known := tally(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.curves[h.Authority]
	if c == nil {
		if len(l.curves) >= mostLooked {
			return
		}
		c = new(growthCurve)
		l.curves[h.Authority] = c
	}
	c.Note(done, known)
}

const points = 16 // of a curve

// growthCurve is how a host's known URLs grow with its done ones. The zero value is empty.
type growthCurve struct {
	n    int
	step int32 // least distance of points
	at   [points]point
}

type point struct{ done, known int32 }

// Note adds a point. A point that goes back restarts the curve: an operator reopened URLs, or an update began.
func (c *growthCurve) Note(done, known int64) {
	p := point{clip(done), clip(known)}
	if c.n > 0 {
		last := c.at[c.n-1]
		if p.done < last.done || p.known < last.known {
			*c = growthCurve{}
		} else if p.done < last.done+c.step {
			return
		}
	}
	if c.n == points {
		for i := range points / 2 {
			c.at[i] = c.at[2*i+1]
		}
		c.n, c.step = points/2, 2*c.step
	}
	c.step = max(c.step, 1)
	c.at[c.n] = p
	c.n++
}

func clip(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// Thresholds for trusting a curve.
const (
	leastDone   = 7    // pages since the first point
	leastPoints = 5    // of the curve
	leastBarren = 20   // pages without new URLs that end the growth
	nearer      = 0.97 // of the squared error of a straight line
	mostEach    = 0.6  // URLs found by a page in constant growth
	mostOfKnown = 4.0  // largest expected multiple of the known URLs
)

// Expect returns the expected number of URLs, given the current numbers: known itself if growth has ended or too little was
// seen. open means that no end is in sight: growth is constant or faster, or only a few pages were seen.
func (c *growthCurve) Expect(done, known int64) (total int64, open bool) {
	var xs, ys []float64
	first := c.at[0]
	for _, p := range c.at[:c.n] {
		if 4*(int64(p.done)-int64(first.done)) >= done-int64(first.done) { // the start is not representative
			xs, ys = append(xs, float64(p.done)), append(ys, float64(p.known))
		}
	}
	if len(xs) == 0 || done > int64(xs[len(xs)-1]) {
		xs, ys = append(xs, float64(done)), append(ys, float64(known))
	}
	grown := ys[len(ys)-1] - ys[0]
	if done-int64(first.done) < leastDone || len(xs) < leastPoints {
		return known, c.n > 0 && (known > int64(first.known) || done > 0 && known > done)
	}
	if grown <= 0.01*ys[len(ys)-1] {
		return known, done-int64(first.done) < leastBarren
	}
	if sawn(xs, ys) {
		return known, true
	}
	more, ok := fit(xs, ys)
	if each := grown / (xs[len(xs)-1] - xs[0]); !ok && each <= mostEach {
		more, ok = float64(known-done)*each/(1-each), true // constant growth, less than one URL a page
	}
	if !ok || more > (mostOfKnown-1)*float64(known) {
		return known, true
	}
	return known + int64(math.Round(more)), false
}

// bends are the curvatures to try: how often a curve's distance from its end falls to 1/e within the observed range.
var bends = [...]float64{0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 13, 16}

// sharp weights curves: the power of the ratio of their errors.
const sharp = 3

// fit fits curves y = end - b·exp(-kx) to the points, and returns their distance from the end at the last point, averaged by
// fit: with few points several curves fit, the flattest of them without an end. It returns false if a straight line fits as
// well.
func fit(xs, ys []float64) (more float64, ok bool) {
	x0 := xs[0]
	span := xs[len(xs)-1] - x0
	us := make([]float64, len(xs))
	for i, x := range xs {
		us[i] = x - x0
	}
	_, straight := line(us, ys)
	var sum, weights float64
	for _, bend := range bends {
		for i, x := range xs {
			us[i] = -math.Exp(-bend * (x - x0) / span)
		}
		b, off := line(us, ys)
		if b <= 0 {
			continue
		}
		ok = ok || off < nearer*straight
		weight := math.Pow(straight/max(off, 1e-9), sharp)
		sum, weights = sum+weight*math.Log(b*math.Exp(-bend)), weights+weight
	}
	return math.Exp(sum / weights), ok
}

// sawn reports whether the pending URLs fell by half and rose again, as with lists of pages. Other curves fall only once.
func sawn(xs, ys []float64) bool {
	peak, trough := 0.0, math.Inf(1)
	for i := range xs {
		pending := ys[i] - xs[i]
		if peak = max(peak, pending); pending <= peak/2 {
			trough = min(trough, pending)
		}
		if pending >= trough+peak/2 {
			return true
		}
	}
	return false
}

// line returns the slope of the regression line through the points (u, y), and its squared error.
func line(us, ys []float64) (slope, off float64) {
	n := float64(len(us))
	var su, sy, suu, suy float64
	for i, u := range us {
		su, sy, suu, suy = su+u, sy+ys[i], suu+u*u, suy+u*ys[i]
	}
	if d := n*suu - su*su; d > 0 {
		slope = (n*suy - su*sy) / d
	}
	at := (sy - slope*su) / n
	for i, u := range us {
		off += (ys[i] - at - slope*u) * (ys[i] - at - slope*u)
	}
	return slope, off
}
