package status

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

// Row is a host in the table of all hosts.
type Row struct {
	Host       string  `json:"host"`
	State      string  `json:"state"`            // one of States
	Reason     string  `json:"reason,omitempty"` // if it is left alone
	Pending    int64   `json:"pending"`
	Fetched    int64   `json:"fetched"`
	Failed     int64   `json:"failed"`
	Disallowed int64   `json:"disallowed"`
	Known      int64   `json:"known"` // all known URLs
	Pace       float64 `json:"pace_s"`
	PaceBy     string  `json:"pace_by,omitempty"`
	Wait       float64 `json:"wait_s"`              // until its next turn
	Never      bool    `json:"never_due,omitempty"` // until it is reopened
	Last       float64 `json:"last_exchange_s_ago"` // negative: none yet
}

// The states of a Row.
const (
	StateInTurn   = "in turn"
	StateDue      = "due"
	StatePace     = "keeps its pace"
	StateRetry    = "tries again later"
	StateRest     = "rests"
	StateRobots   = "robots.txt unavailable"
	StateParked   = "parked by operator"
	StateDropped  = "dropped by operator"
	StateRetired  = "retired"
	StateRefused  = "refused"
	StateFinished = "finished"
)

// States returns the states of a Row.
func States() []string {
	return []string{
		StateInTurn, StateDue, StatePace, StateRetry, StateRest, StateRobots, StateParked, StateDropped, StateRetired, StateRefused,
		StateFinished,
	}
}

// Query selects a part of the table of hosts.
type Query struct {
	Search string `json:"search,omitempty"` // part of the origin; empty for all
	State  string `json:"state,omitempty"`  // one of States; empty for all
	Sort   string `json:"sort,omitempty"`   // a key for Sortable; empty for pending
	Up     bool   `json:"up,omitempty"`     // smallest first
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"` // at most MaxRows; zero = MaxRows
}

// Page is the result of a Query.
type Page struct {
	Rows     []Row `json:"rows"`
	Matching int   `json:"matching"` // in total
	Looked   int   `json:"looked"`   // examined hosts
	Hosts    int64 `json:"hosts"`    // of the crawl
}

// Bounds of a Page.
const (
	MaxRows    = 200
	mostTabled = 250_000 // examined hosts
)

// orders compare rows by the keys of Query.Sort.
var orders = map[string]func(a, b *Row) int{
	"pending":    func(a, b *Row) int { return cmp.Compare(a.Pending, b.Pending) },
	"fetched":    func(a, b *Row) int { return cmp.Compare(a.Fetched, b.Fetched) },
	"failed":     func(a, b *Row) int { return cmp.Compare(a.Failed, b.Failed) },
	"disallowed": func(a, b *Row) int { return cmp.Compare(a.Disallowed, b.Disallowed) },
	"pace":       func(a, b *Row) int { return cmp.Compare(a.Pace, b.Pace) },
	"wait":       func(a, b *Row) int { return cmp.Or(order(a.Never, b.Never), cmp.Compare(a.Wait, b.Wait)) },
	"last":       func(a, b *Row) int { return cmp.Compare(a.Last, b.Last) },
	"state":      func(a, b *Row) int { return strings.Compare(a.State, b.State) },
	"host":       func(a, b *Row) int { return strings.Compare(a.Host, b.Host) },
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Sortable reports whether key is a sort key.
func Sortable(key string) bool { return orders[key] != nil }

// Hosts returns a page of the table of all hosts. The table is cached in proportion to its cost, so that paging is cheap.
func (l *Live) Hosts(ctx context.Context, q Query) (Page, error) {
	all, err := l.table.get(ctx, l.findTable)
	if err != nil {
		return Page{}, err
	}
	st, err := l.frontier.Stats(ctx)
	if err != nil {
		return Page{}, err
	}
	p := Page{Rows: []Row{}, Looked: len(all), Hosts: st.Hosts}
	search := strings.ToLower(q.Search)
	limit := q.Limit
	if limit <= 0 || limit > MaxRows {
		limit = MaxRows
	}
	var found []*Row
	for i := range all {
		if r := &all[i]; strings.Contains(r.Host, search) && (q.State == "" || r.State == q.State) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, q.order())
	p.Matching = len(found)
	from := min(max(q.Offset, 0), len(found))
	for _, r := range found[from:min(from+limit, len(found))] {
		p.Rows = append(p.Rows, *r)
	}
	return p, nil
}

// order compares rows by the query, and equal ones by host.
func (q Query) order() func(a, b *Row) int {
	by := orders[q.Sort]
	if by == nil {
		by = orders["pending"]
	}
	return func(a, b *Row) int {
		c := by(a, b)
		if !q.Up {
			c = -c
		}
		return cmp.Or(c, strings.Compare(a.Host, b.Host))
	}
}

func (l *Live) findTable(ctx context.Context) (rows []Row, err error) {
	now := time.Now()
	err = EachHost(ctx, l.frontier, mostTabled, func(h frontier.Host) bool {
		rows = append(rows, l.settings.Row(h, now))
		return true
	})
	return rows, err
}

// Row returns the row of a host.
func (s Settings) Row(h frontier.Host, now time.Time) Row {
	n, err := host.Read(h.Memory)
	p := s.pacing(h, &n)
	r := Row{
		Host: h.Authority.Origin(), State: stateOf(h), Reason: h.Reason, Pending: h.Pending(),
		Fetched: h.Outcomes[frontier.Fetched], Failed: h.Outcomes[frontier.Failed], Disallowed: h.Outcomes[frontier.Disallowed],
		Known: h.Pending(), Pace: p.Pace.Seconds(), PaceBy: p.By, Last: -1,
	}
	for _, n := range h.Outcomes {
		r.Known += n
	}
	if err == nil && n.LastEnd != 0 {
		r.Last = max(now.Sub(time.UnixMicro(n.LastEnd)), 0).Seconds()
	}
	wait := h.Wait
	if h.Hold.Act != 0 {
		r.Reason, wait = h.Hold.Reason, max(wait, h.Hold.Wait)
	}
	if r.Never = wait == frontier.Never || h.Condition >= frontier.Retired || h.Hold.Act == frontier.Drop; !r.Never {
		r.Wait = wait.Seconds()
	}
	return r
}

func stateOf(h frontier.Host) string {
	var w Waits
	switch count := w.of(h); {
	case h.Hold.Act == frontier.Drop:
		return StateDropped
	case h.Hold.Act != 0:
		return StateParked
	case h.Condition == frontier.Refused:
		return StateRefused
	case h.Condition == frontier.Retired:
		return StateRetired
	case h.Pending() == 0 && !h.Leased:
		return StateFinished
	case count == &w.InTurn:
		return StateInTurn
	case count == &w.Due:
		return StateDue
	case count == &w.Robots:
		return StateRobots
	case count == &w.Rest:
		return StateRest
	case count == &w.Retry:
		return StateRetry
	}
	return StatePace
}
