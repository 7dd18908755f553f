package crawler

import (
	"context"
	"strings"
	"time"

	"curtsy/frontier"
)

// The names of the totals that a crawl keeps in its frontier.
const (
	CountPages           = "pages"     // 2xx HTML answers
	CountBytes           = "bytes"     // octets received, as they crossed the connection
	CountExchanges       = "exchanges" // requests, robots.txt and redirects included
	CountAnswers         = "answers"   // exchanges that brought a response head
	CountRobots          = "robots"    // exchanges for robots.txt
	CountTruncated       = "truncated" // bodies cut by our own limits
	CountSeedsUnanswered = "seeds unanswered"

	countPrefixLinks    = "links: "    // links of pages that are no candidates, by reason
	countPrefixUnparsed = "unparsed: " // pages without links, by reason
)

// Status is the state of a crawl. Discovered = Fetched + Redirected + Gone + Failed + Disallowed + Dropped + Queued +
// InFlight + Deferred.
type Status struct {
	State      string `json:"state"` // "running", "draining", "stopped" or "finished"
	Discovered int64  `json:"discovered"`
	Fetched    int64  `json:"fetched"`
	Redirected int64  `json:"redirected"`
	Gone       int64  `json:"gone"`
	Failed     int64  `json:"failed"`
	Disallowed int64  `json:"disallowed"`
	Dropped    int64  `json:"dropped"`
	Queued     int64  `json:"queued"`
	InFlight   int64  `json:"in_flight"`
	Deferred   int64  `json:"deferred"`

	Hosts   int64 `json:"hosts"`
	Parked  int64 `json:"hosts_parked"`
	Retired int64 `json:"hosts_retired"`
	Refused int64 `json:"hosts_refused"`

	Pages     int64 `json:"pages"`
	Bytes     int64 `json:"bytes"`
	Exchanges int64 `json:"exchanges"`
	Robots    int64 `json:"robots_exchanges"`

	Reasons map[string]map[string]int64 `json:"reasons,omitempty"` // closed URLs by outcome and reason
	Links   map[string]int64            `json:"links_not_followed,omitempty"`
	Resting []Resting                   `json:"resting,omitempty"` // hosts left alone, at most MaxResting
	Elapsed float64                     `json:"elapsed_s,omitempty"`
	Runs    int64                       `json:"runs"`
}

// Resting is a host that is parked, retired or refused and has something pending.
type Resting struct {
	Host      string  `json:"host"`
	Condition string  `json:"condition"`
	Reason    string  `json:"reason"`
	Wait      float64 `json:"wait_s,omitempty"` // until it is asked again
	Pending   int64   `json:"pending"`
}

// MaxResting bounds Status.Resting.
const MaxResting = 100

// StatusOf reads the status of a crawl from its frontier. It looks at all hosts if some are left alone: it is for a
// crawl that does not run.
func StatusOf(ctx context.Context, f frontier.Frontier) (Status, error) {
	s, err := totals(ctx, f)
	if err == nil && s.Parked+s.Retired+s.Refused > 0 {
		s.Resting, err = resting(ctx, f, 0)
	}
	return s, err
}

// Status is the state of this run. It may be asked for often: Resting then is some seconds old, and of a crawl with
// many hosts it knows those among the first ones only.
func (c *Crawl) Status(ctx context.Context) (Status, error) {
	s, err := totals(ctx, c.cfg.Frontier)
	if err == nil && s.Parked+s.Retired+s.Refused > 0 {
		s.Resting, err = c.resting.ask(ctx, func(ctx context.Context) ([]Resting, error) {
			return resting(ctx, c.cfg.Frontier, mostLooked)
		})
	}
	s.Elapsed = time.Since(c.clock.start).Seconds()
	s.State = "running"
	if c.draining.Err() != nil {
		s.State = "draining"
	}
	return s, err
}

// totals are a status without the hosts that rest.
func totals(ctx context.Context, f frontier.Frontier) (Status, error) {
	st, err := f.Stats(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{
		State:      "stopped",
		Discovered: st.Discovered,
		Fetched:    st.Outcomes[frontier.Fetched],
		Redirected: st.Outcomes[frontier.Redirected],
		Gone:       st.Outcomes[frontier.Gone],
		Failed:     st.Outcomes[frontier.Failed],
		Disallowed: st.Outcomes[frontier.Disallowed],
		Dropped:    st.Outcomes[frontier.Dropped],
		Queued:     st.Queued, InFlight: st.InFlight, Deferred: st.Deferred,
		Hosts: st.Hosts, Parked: st.Parked, Retired: st.Retired, Refused: st.Refused,
		Pages: st.Counts[CountPages], Bytes: st.Counts[CountBytes],
		Exchanges: st.Counts[CountExchanges], Robots: st.Counts[CountRobots],
		Reasons: map[string]map[string]int64{}, Links: map[string]int64{},
		Runs: st.Restarts + 1,
	}
	if st.Queued+st.InFlight+st.Deferred == 0 {
		s.State = "finished"
	}
	for outcome, reasons := range st.Reasons {
		s.Reasons[outcome.String()] = reasons
	}
	for name, n := range st.Counts {
		if reason, ok := strings.CutPrefix(name, countPrefixLinks); ok {
			s.Links[reason] = n
		}
	}
	if st.Capped > 0 {
		s.Links[frontier.ReasonCap] = st.Capped
	}
	return s, nil
}

// resting lists the hosts that are left alone, of the first most or, when that is zero, of all.
func resting(ctx context.Context, f frontier.Frontier, most int) ([]Resting, error) {
	var out []Resting
	err := eachHost(ctx, f, most, func(h frontier.Host) bool {
		if h.Condition != frontier.Open && pending(h) > 0 {
			out = append(out, Resting{
				Host: origin(h.Authority), Condition: conditionName(h.Condition), Reason: h.Reason,
				Wait: h.Wait.Seconds(), Pending: pending(h),
			})
		}
		return len(out) < MaxResting
	})
	return out, err
}

func conditionName(c frontier.Condition) string {
	switch c {
	case frontier.Parked:
		return "parked"
	case frontier.Retired:
		return "retired"
	case frontier.Refused:
		return "refused"
	}
	return "open"
}
