package crawler

import (
	"time"

	"curtsy/robots"
)

// Who asked for a pace; the words stand in the ledger.
const (
	byFloor        = "floor"
	byCrawlDelay   = "crawl-delay"
	byRequestRate  = "request-rate"
	byResponseTime = "response time"
	byAddress      = "address"
	byRateLimit    = "ratelimit"
	byRetryAfter   = "retry-after"
	byErrors       = "errors"     // the rest after failures, or after a 429 or 503 without Retry-After
	byRobots       = "robots.txt" // that could not be had, and is asked for again later
)

// The response-time term of the pace: a host that takes long to answer is asked less often (politeness rule 9).
const (
	responseFactor = 5
	responseMost   = 30 * time.Second
)

// pace is the pause that is kept between the end of one exchange and the start of the next.
type pace struct {
	d  time.Duration
	by string
}

// atLeast raises p to d.
func (p pace) atLeast(d time.Duration, by string) pace {
	if d > p.d {
		return pace{d, by}
	}
	return p
}

// asked is the pace that the policies of a site ask for; zero when they ask for none.
func asked(book *robots.Rulebook) pace {
	var p pace
	if book == nil {
		return p
	}
	if d, ok := book.CrawlDelay(); ok {
		p = p.atLeast(d, byCrawlDelay)
	}
	if d, ok := book.RequestRate(); ok {
		p = p.atLeast(d, byRequestRate)
	}
	return p
}

// paceOf is the largest of floor, Crawl-delay, Request-rate, what RateLimit asks for now and, for hosts that are not the
// operator's own, five times the usual response time.
func paceOf(floor time.Duration, own bool, book *robots.Rulebook, n *notes, now int64) pace {
	site := asked(book)
	p := pace{floor, byFloor}.atLeast(site.d, site.by).atLeast(n.space(now), byRateLimit)
	if !own {
		p = p.atLeast(ResponsePace(n.response()), byResponseTime)
	}
	return p
}

// ResponsePace is the pause that a host gets which takes so long to answer.
func ResponsePace(response time.Duration) time.Duration {
	return min(responseFactor*response, responseMost)
}
