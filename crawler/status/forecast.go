package status

import (
	"math"
	"net/netip"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Budget is what ends a crawl before all is done. Zero fields do not.
type Budget struct {
	MaxPages, MaxPerHost, MaxBytes int64
	MaxTime                        time.Duration
	Window                         host.Spans // in which alone hosts are asked
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
