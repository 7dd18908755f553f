package host

import (
	"time"

	"curtsy/robots"
	"curtsy/storage"
)

// The response-time term of the pace: a host that takes long to answer is asked less often (politeness rule 9).
const (
	ResponseFactor   = 5
	MaxResponseDelay = 30 * time.Second
)

// Pace is the pause that is kept between the end of one exchange and the start of the next.
type Pace struct {
	Pause time.Duration
	By    storage.PaceBy // its source; empty without one
}

// AtLeast raises p to d.
func (p Pace) AtLeast(d time.Duration, by storage.PaceBy) Pace {
	if d > p.Pause {
		return Pace{d, by}
	}
	return p
}

// Asked is the pace that the policies of a site ask for; zero when they ask for none.
func Asked(book *robots.Rulebook) Pace {
	var p Pace
	if book == nil {
		return p
	}
	if d, ok := book.CrawlDelay(); ok {
		p = p.AtLeast(d, storage.ByCrawlDelay)
	}
	if d, ok := book.RequestRate(); ok {
		p = p.AtLeast(d, storage.ByRequestRate)
	}
	return p
}

// Terms are what holds for a host beside what it answers.
type Terms struct {
	Floor  time.Duration    // the least pace
	Set    time.Duration    // set by the operator for this host and perhaps others
	Raised time.Duration    // the same, since an operator raised it while the run went on
	Own    bool             // the operator's own host (politeness rule 18): its response times add nothing
	Rules  *robots.Rulebook // what robots.txt asks for; nil for nothing
}

// Pace is the largest of floor, host setting, Crawl-delay, Request-rate, what RateLimit asks for now and, for hosts that are not the
// operator's own, five times the usual response time. Crawl-delay and Request-rate count though they were read for another
// host (Hearsay).
func (t Terms) Pace(s *State, now int64) Pace {
	site := Asked(t.Rules).AtLeast(s.Hearsay.Pause, s.Hearsay.By)
	p := Pace{t.Floor, storage.ByFloor}.AtLeast(t.Set, storage.ByHostSetting).AtLeast(t.Raised, storage.ByOperator).AtLeast(site.Pause, site.By).AtLeast(s.Spacing(now), storage.ByRateLimit)
	if !t.Own {
		p = p.AtLeast(ResponsePace(s.Response()), storage.ByResponseTime)
	}
	return p
}

// ResponsePace is the pause that a host gets which takes so long to answer.
func ResponsePace(response time.Duration) time.Duration {
	return min(ResponseFactor*response, MaxResponseDelay)
}
