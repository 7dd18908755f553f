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
)

// Estimate is how long the rest of a crawl takes, and why: at least, as far as it is known now, and what is likely.
type Estimate struct {
	Known  int64         // URLs discovered so far
	Left   time.Duration // for what is pending now, or until a budget ends the crawl
	Pace   time.Duration // of the host that takes longest
	PaceBy string        // who asked for that pace
	Host   string        // that host

	// Likely is Left with what will still be found, where the growth of the hosts shows how much that is. Open says that it
	// does not: there will be more, and nobody knows how much.
	Likely   time.Duration
	Expected int64 // URLs in all by then
	Open     bool
	Until    string // the budget that ends the crawl before all is done; empty for none
	AtMost   bool   // nobody knows whether it does: all may be done before
	Within   string // the window in which alone hosts are asked, which all of that takes in; empty for any time
}

// Estimate says how long what is pending takes at the pace of the hosts it belongs to. The longest host queue decides, or
// those of an address that several hosts share, or all of them over the workers. Of a crawl with many hosts it looks at
// the first ones, and at the one that Note showed to take longest.
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
		n, _ := host.Read(h.Memory) // damaged ones are none
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

// take makes h the host that takes longest, if it is, and returns how long the exchanges with it take. A host that rests
// does not count.
func (e *Estimate) take(h frontier.Host, n *host.State, p Pacing) (exchanges time.Duration) {
	// A turn costs its pace and the exchange itself, which the response times measure.
	exchange := n.Response()
	if h.Width > 1 {
		exchange /= time.Duration(h.Width)
	}
	left := time.Duration(h.Pending())
	if isResting(h, p.Pace) {
		return 0 // for how long in the end nobody knows: the status names it
	}
	if need := left*(p.Pace+exchange) + h.Wait; need > e.Left {
		e.Left, e.Pace, e.PaceBy, e.Host = need, p.Pace, p.By, h.Authority.Origin()
	}
	return left * exchange
}

// isResting reports whether a host is left alone for more than its pace.
func isResting(h frontier.Host, pace time.Duration) bool {
	return h.Hold.Act != 0 || h.Condition != frontier.Open && h.Wait > pace
}

// Rest is how long the rest of the crawl takes, as people are told beside it: what is likely.
func (e Estimate) Rest() time.Duration { return max(e.Likely, e.Left) }

// RestText is Rest in words, and what is to be said with it.
func (e Estimate) RestText() (left, more string) {
	left = e.about() + " " + Roughly(e.Rest()) + " left"
	switch {
	case e.Open:
		more = ", more may be found"
	case e.Until != "":
		more = ", by --" + e.Until
	}
	return left, more
}

// about says which bound of the rest is known.
func (e Estimate) about() string {
	switch {
	case e.Open:
		return "at least"
	case e.AtMost:
		return "at most"
	}
	return "about"
}

// String says it in one line: what is likely, or the least where nobody knows how much will be found.
func (e Estimate) String() string {
	if e.Host == "" {
		return "nothing is pending"
	}
	urls := "1 known URL"
	if e.Known != 1 {
		urls = fmt.Sprintf("%d known URLs", e.Known)
	}
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
	return fmt.Sprintf("%s %s for %s; pace %v (%s) at %s", e.about(), Roughly(e.Rest()), urls, e.Pace, e.PaceBy, e.Host)
}

// Roughly rounds a duration to what a person wants to know of it.
func Roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24+0.5))
}

// NotDue is why an open host waits for longer than its delay: a back-off of an earlier run, a quota, an address it shares.
const NotDue = "its next request is not due yet"

// Left lists all hosts that have something left to do, with why nothing is done of it now.
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

// Budget is what ends a crawl before all is done. Zero fields do not.
type Budget struct {
	MaxPages, MaxPerHost, MaxBytes int64
	MaxTime                        time.Duration
	Window                         hostrule.Spans // in which alone hosts are asked
}

// What an Estimate is Until.
const (
	UntilPages = "max-pages"
	UntilBytes = "max-bytes"
	UntilTime  = "max-time"
)

// forecast is how long a crawl takes if its hosts go on to grow as they do.
type forecast struct {
	parts []part
	more  int64 // URLs that are expected and not known
}

// part is what is left of a host.
type part struct {
	turn, exchange float64      // seconds that one takes, with its pace and without
	at             netip.Prefix // its address, if it shares its pace
	wait           float64
	known          float64 // exchanges for what is known
	more           float64 // for what is expected beside
	likely         float64 // both
	open           bool    // there will be more, nobody knows how many
}

func (p part) need() float64 { return p.likely*p.turn + p.wait }

// take takes in a host; one that rests does not count.
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

// sober makes less of what is expected where it is of many hosts: the longest of many estimates is longer than the longest of
// what they estimate.
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

// tally is how many URLs of a host are done, and how many are known.
func tally(h frontier.Host) (done, known int64) {
	for _, n := range h.Outcomes {
		done += n
	}
	return done, done + h.Pending()
}

// costing is the share of a host's URLs that cost an exchange: what robots.txt forbids costs none, and neither does what is
// dropped.
func costing(h frontier.Host) float64 {
	const enough = 10
	done, _ := tally(h)
	if done < enough {
		return 1
	}
	free := h.Outcomes[frontier.Disallowed] + h.Outcomes[frontier.Dropped]
	return float64(done-free) / float64(done)
}

// longest is how many seconds all takes, and whether a host that is open decides that, or may.
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
			starts[p.at] += p.likely // of one host alone its own pace is longer
		}
	}
	takes = max(takes, work/float64(max(s.Workers, 1)))
	for _, n := range starts {
		takes = max(takes, n*s.IPDelay.Seconds())
	}
	return takes, unsure*2 >= takes && unsure > 0
}

// until is how many seconds it takes until there have been so many more exchanges; false if there are never so many.
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

// maxSeconds is what fits into a time.Duration.
const maxSeconds = float64(math.MaxInt64 / int64(2*time.Second))

// foretell adds to an estimate what is likely by a forecast of all hosts, and what ends the crawl before all is done.
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

// mostCurves is of how many hosts the growth is followed.
const mostCurves = mostLooked

// curve is a copy of how a host grew; nil for one that is not followed.
func (l *Live) curve(a canon.Authority) *growthCurve {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.curves[a]
	if c == nil {
		return nil
	}
	now := *c
	return &now
}

// Grown takes in how many URLs of a host are done and known after a turn.
func (l *Live) Grown(h frontier.Host) {
	done, known := tally(h)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.curves[h.Authority]
	if c == nil {
		if len(l.curves) >= mostCurves {
			return
		}
		c = new(growthCurve)
		l.curves[h.Authority] = c
	}
	c.Note(done, known)
}

// points is how many points of itself a Curve keeps.
const points = 16

// growthCurve is how the known URLs of a host grew with those that are done. The zero value knows nothing.
type growthCurve struct {
	n    int
	step int32 // least distance of two points
	at   [points]point
}

type point struct{ done, known int32 }

// Note takes in how many URLs are done and known. One that goes back begins the curve anew: an operator has opened what was
// closed, or an update has begun.
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

// What a curve must have before it is believed.
const (
	leastDone   = 7    // pages since its first point
	leastPoints = 5    // of it
	leastBarren = 20   // pages that find nothing more, where that is all
	nearer      = 0.97 // of the squares that a straight line is off
	mostEach    = 0.6  // URLs that a page finds, where they grow no fewer
	mostOfKnown = 4.0  // more than this many times the known ones are never expected
)

// Expect says how many URLs there will be when done and known are those of now. It is known itself where nothing more is
// found, or too little was seen. open says that there is no end in sight: more are found, and no fewer than before, or only a
// few pages were seen.
func (c *growthCurve) Expect(done, known int64) (total int64, open bool) {
	var xs, ys []float64
	first := c.at[0]
	for _, p := range c.at[:c.n] {
		if 4*(int64(p.done)-int64(first.done)) >= done-int64(first.done) { // what the home page brought says little
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
		more, ok = float64(known-done)*each/(1-each), true // as many as before, of pages that grow fewer
	}
	if !ok || more > (mostOfKnown-1)*float64(known) {
		return known, true
	}
	return known + int64(math.Round(more)), false
}

// bends are the curvatures that are tried: how many times a curve falls to 1/e of its distance to the end within what was
// seen of it.
var bends = [...]float64{0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 13, 16}

// sharp is how much more a curve counts that lies closer: the power of the ratio of what two are off.
const sharp = 3

// fit finds the curves y = end - b·exp(-kx) that lie close to the points, and returns how far they are from their end at the
// last of them, each by how close it lies: with few points several do, and the flattest of them would have no end. It is
// false when a straight line lies as close as any.
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

// sawn reports whether what was pending fell by half and rose again, as where pages are found list by list. Where a curve
// levels off it rises once and falls once.
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

// line returns the slope of the straight line that lies closest to the points (u, y), and the sum of squares it is off.
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
