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

// Gap is the time before a request in which its host was left alone.
type Gap struct {
	Next   *Exchange
	Last   *Exchange // whose end was the latest before; under way if its End is zero
	Length time.Duration
}

// Gaps returns the gap before each request of a host but the first. It is negative when an exchange was under way.
func Gaps(requests []*Exchange) []Gap {
	var all []Gap
	var last *Exchange
	for _, x := range requests {
		if last != nil {
			g := Gap{x, last, x.Start.Sub(last.End)}
			if last.End.IsZero() {
				g.Length = last.Start.Sub(x.Start)
			}
			all = append(all, g)
		}
		if last == nil || byEnd(last, x) < 0 {
			last = x
		}
	}
	return all
}

// TooShort says how a gap was too short.
func (t *Trial) TooShort(g Gap, need string) Finding {
	if g.Last.End.IsZero() {
		return t.Find(g.Next, "while GET %s (%s) was not answered; %s", Quote(g.Last.Target), t.When(g.Last.Start), need)
	}
	how := Seconds(g.Length) + " after"
	if g.Length < 0 {
		how = Seconds(-g.Length) + " before"
	}
	return t.Find(g.Next, "began %s the end of %s (%s); %s", how, clip(g.Last.Target, 40), t.When(g.Last.End), need)
}

func (t *Trial) pace() Row {
	var found []Finding
	var least Gap
	checked := 0
	if t.Rules.Pace <= 0 {
		return Row{Rule: Pace, Verdict: Unshown, Evidence: "none was requested"}
	}
	for _, h := range t.web.order {
		for _, g := range Gaps(t.hosts[h.name]) {
			if checked++; checked == 1 || g.Length < least.Length {
				least = g
			}
			if g.Length < t.Rules.Pace {
				found = append(found, t.TooShort(g, fmt.Sprintf("pace %v", t.Rules.Pace)))
			}
		}
	}
	evidence := ""
	if checked > 0 {
		evidence = fmt.Sprintf("smallest of %s %s (%s), asked %v", plainly.Count(checked, "gap"), Precise(least.Length),
			least.Next.Host, t.Rules.Pace)
	}
	return Sum(Pace, checked, evidence, InOrder(found))
}

func (t *Trial) crawlDelay() Row {
	var found []Finding
	var evidence []string
	checked := 0
	for _, h := range t.web.order {
		least, asked, n := time.Duration(0), time.Duration(0), 0
		for _, g := range Gaps(t.hosts[h.name]) {
			d := at(t.held[h.name], g.Next).delay(t.tokens)
			if d <= 0 {
				continue
			}
			if n++; n == 1 || g.Length < least {
				least, asked = g.Length, d
			}
			if g.Length < d {
				found = append(found, t.TooShort(g, fmt.Sprintf("Crawl-delay %v", d)))
			}
		}
		if checked += n; n > 0 {
			evidence = append(evidence,
				fmt.Sprintf("smallest of %s %s (%s), asked %v", plainly.Count(n, "gap"), Precise(least), h.name, asked))
		}
	}
	return Sum(CrawlDelay, checked, strings.Join(evidence, "; "), InOrder(found))
}

func (t *Trial) inFlight() Row {
	var found []Finding
	most := 0
	for _, h := range t.web.order {
		flying(t.hosts[h.name], func(x *Exchange, others []*Exchange) {
			most = max(most, len(others)+1)
			if len(others)+1 > t.Rules.Width {
				found = append(found, t.Find(x, "while %d of the host under way, %s since %s; allowed are %d",
					len(others), clip(others[0].Target, 40), t.When(others[0].Start), t.Rules.Width))
			}
		})
	}
	return Sum(InFlight, len(t.all), fmt.Sprintf("never more than %d at one host", most), InOrder(found))
}

// flying calls f for each request of a host with those that were under way when it arrived.
func flying(requests []*Exchange, f func(x *Exchange, others []*Exchange)) {
	var others []*Exchange
	for _, x := range requests {
		others = slices.DeleteFunc(others, func(o *Exchange) bool { return o.Before(x) })
		f(x, others)
		others = append(others, x)
	}
}

func (t *Trial) retryAfter() Row {
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
				if asking.Before(x) && x.Start.Before(until) {
					found = append(found, t.Find(x, "though %d for %s required a delay from %s to %s",
						asking.Status, clip(asking.Target, 40), t.When(asking.End), t.When(until)))
				}
			}
		}
	}
	return Sum(RetryAfter, checked, "obeyed "+plainly.Count(checked, "time"), InOrder(found))
}

// rest returns until when the answer asks for rest by Retry-After; ok is false when it does not.
func (x *Exchange) rest() (until time.Time, ok bool) {
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

// InOrder sorts findings by time.
func InOrder(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int {
		if d := a.At.Compare(b.At); d != 0 {
			return d
		}
		return strings.Compare(a.Host+a.Target, b.Host+b.Target)
	})
	return found
}
