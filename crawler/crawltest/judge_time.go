package crawltest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/plainly"
)

// gap is the time before a request in which its host was left alone.
type gap struct {
	x      *exchange
	before *exchange // whose end was the latest before; under way if its End is zero
	d      time.Duration
}

// gaps returns the gap before each request of a host but the first. It is negative when an exchange was under way.
func gaps(requests []*exchange) []gap {
	var all []gap
	var last *exchange
	for _, x := range requests {
		if last != nil {
			g := gap{x, last, x.Start.Sub(last.End)}
			if last.End.IsZero() {
				g.d = last.Start.Sub(x.Start)
			}
			all = append(all, g)
		}
		if last == nil || byEnd(last, x) < 0 {
			last = x
		}
	}
	return all
}

// describe says how a gap was too short.
func (t *trial) describe(g gap, need string) Finding {
	if g.before.End.IsZero() {
		return t.find(g.x, "while GET %s (%s) was not answered; %s", quote(g.before.Target), t.when(g.before.Start), need)
	}
	how := seconds(g.d) + " after"
	if g.d < 0 {
		how = seconds(-g.d) + " before"
	}
	return t.find(g.x, "began %s the end of %s (%s); %s", how, clip(g.before.Target, 40), t.when(g.before.End), need)
}

func (t *trial) pace() Row {
	var found []Finding
	var least gap
	checked := 0
	if t.rules.Pace <= 0 {
		return Row{Rule: Pace, Verdict: Unshown, Evidence: "none was asked for"}
	}
	for _, h := range t.web.order {
		for _, g := range gaps(t.hosts[h.name]) {
			if checked++; checked == 1 || g.d < least.d {
				least = g
			}
			if g.d < t.rules.Pace {
				found = append(found, t.describe(g, fmt.Sprintf("pace %v", t.rules.Pace)))
			}
		}
	}
	evidence := ""
	if checked > 0 {
		evidence = fmt.Sprintf("smallest of %s %s (%s), asked %v", plainly.Count(checked, "gap"), precise(least.d), least.x.Host, t.rules.Pace)
	}
	return row(Pace, checked, evidence, inOrder(found))
}

func (t *trial) crawlDelay() Row {
	var found []Finding
	var evidence []string
	checked := 0
	for _, h := range t.web.order {
		least, asked, n := time.Duration(0), time.Duration(0), 0
		for _, g := range gaps(t.hosts[h.name]) {
			d := at(t.held[h.name], g.x).delay(t.tokens)
			if d <= 0 {
				continue
			}
			if n++; n == 1 || g.d < least {
				least, asked = g.d, d
			}
			if g.d < d {
				found = append(found, t.describe(g, fmt.Sprintf("Crawl-delay %v", d)))
			}
		}
		if checked += n; n > 0 {
			evidence = append(evidence, fmt.Sprintf("smallest of %s %s (%s), asked %v", plainly.Count(n, "gap"), precise(least), h.name, asked))
		}
	}
	return row(CrawlDelay, checked, strings.Join(evidence, "; "), inOrder(found))
}

func (t *trial) inFlight() Row {
	var found []Finding
	most := 0
	for _, h := range t.web.order {
		flying(t.hosts[h.name], func(x *exchange, others []*exchange) {
			most = max(most, len(others)+1)
			if len(others)+1 > t.rules.Width {
				found = append(found, t.find(x, "while %d of the host under way, %s since %s; allowed are %d",
					len(others), clip(others[0].Target, 40), t.when(others[0].Start), t.rules.Width))
			}
		})
	}
	return row(InFlight, len(t.all), fmt.Sprintf("never more than %d at one host", most), inOrder(found))
}

// flying calls f for each request of a host with those that were under way when it arrived.
func flying(requests []*exchange, f func(x *exchange, others []*exchange)) {
	var others []*exchange
	for _, x := range requests {
		others = slices.DeleteFunc(others, func(o *exchange) bool { return o.before(x) })
		f(x, others)
		others = append(others, x)
	}
}

func (t *trial) retryAfter() Row {
	var found []Finding
	checked := 0
	for _, h := range t.web.order {
		for _, asking := range t.hosts[h.name] {
			until, ok := asking.rest()
			if !ok {
				continue
			}
			checked++
			for _, x := range t.hosts[h.name] {
				if asking.before(x) && x.Start.Before(until) {
					found = append(found, t.find(x, "though %d for %s asked for rest from %s to %s",
						asking.Status, clip(asking.Target, 40), t.when(asking.End), t.when(until)))
				}
			}
		}
	}
	return row(RetryAfter, checked, "obeyed "+plainly.Count(checked, "time"), inOrder(found))
}

// rest returns until when the answer asks for rest by Retry-After; ok is false when it does not.
func (x *exchange) rest() (until time.Time, ok bool) {
	value := strings.TrimSpace(x.Answer.Get("Retry-After"))
	transient := x.Status == http.StatusTooManyRequests || x.Status == http.StatusServiceUnavailable ||
		x.Status >= 300 && x.Status < 400 || x.robots && policyOf(x.Status, nil, x.Cut).kind == down
	if value == "" || !transient || x.End.IsZero() {
		return time.Time{}, false
	}
	const unreadable = 24 * time.Hour // RFC 9110 leaves it open: read it the polite way
	const year = 365 * 24 * time.Hour
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		if n > uint64(year/time.Second) {
			return x.End.Add(unreadable), true
		}
		return x.End.Add(time.Duration(n) * time.Second), true
	}
	until, err := http.ParseTime(value)
	if err != nil || until.Sub(x.End) > year {
		return x.End.Add(unreadable), true
	}
	return until, true
}

// inOrder sorts findings by time.
func inOrder(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Host+a.Target, b.Host+b.Target)
	})
	return found
}

// precise writes a gap so that a shortfall of microseconds can be seen.
func precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + "s" }
