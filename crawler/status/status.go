package status

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// Status is the state of a crawl. Discovered = Fetched + Redirected + Gone + Failed + Disallowed + Dropped + Held +
// Queued + InFlight + Deferred.
type Status struct {
	State      string `json:"state"` // "running", OutsideWindow, "paused", "draining", "stopped" or "finished"
	Discovered int64  `json:"discovered"`
	Fetched    int64  `json:"fetched"`
	Redirected int64  `json:"redirected"`
	Gone       int64  `json:"gone"`
	Failed     int64  `json:"failed"`
	Disallowed int64  `json:"disallowed"`
	Dropped    int64  `json:"dropped"`
	Held       int64  `json:"held"`
	Queued     int64  `json:"queued"`
	InFlight   int64  `json:"in_flight"`
	Deferred   int64  `json:"deferred"`

	Hosts   int64 `json:"hosts"`
	Parked  int64 `json:"hosts_parked"`
	Retired int64 `json:"hosts_retired"`
	Refused int64 `json:"hosts_refused"`
	Stopped int64 `json:"hosts_stopped"` // held or dropped by an operator

	LimitedByIP int64 `json:"hosts_limited_by_ip,omitempty"` // waiting for their address, in a running crawl

	Pages     int64 `json:"pages"`
	Bytes     int64 `json:"bytes"`
	Exchanges int64 `json:"exchanges"`
	Robots    int64 `json:"robots_exchanges"`
	Sitemaps  int64 `json:"sitemaps,omitempty"` // read
	Listed    int64 `json:"listed,omitempty"`   // entries of sitemaps, accepted or not

	Reasons map[string]map[string]int64 `json:"reasons,omitempty"` // closed URLs by outcome and reason
	Links   map[string]int64            `json:"links_not_followed,omitempty"`
	// NotRead counts fetched documents whose links are not all known, by reason ("content coding", "over 10 MiB").
	NotRead map[string]int64 `json:"not_read,omitempty"`
	// Scripts counts URLs that only scripts name, by outcome ("found", "not there", or an outcome).
	Scripts map[string]int64 `json:"named_by_scripts,omitempty"`
	// Failures counts failed exchanges by class ("dns", "timeout", "5xx", "429"), even if a retry succeeded.
	Failures map[string]int64            `json:"failures,omitempty"`
	Answers  map[string]int64            `json:"answers,omitempty"` // by class of status code ("2xx"), robots.txt included
	Types    map[string]int64            `json:"types,omitempty"`   // 2xx responses by media type, rare ones together ("image/*")
	Tags     map[string]int64            `json:"tags,omitempty"`    // HTML pages by the tag of their seed
	Capped   map[string]int64            `json:"capped,omitempty"`  // links that a cap dropped, by cap
	Longest  []Queue                     `json:"longest,omitempty"` // hosts with the most pending, at most MaxLongest
	Resting  []Resting                   `json:"resting,omitempty"` // hosts left alone, the longest queues first, at most MaxResting
	Why      map[string]map[string]int64 `json:"why,omitempty"`     // hosts left alone, by condition and reason

	// Generation is 1 before the first update. Changes counts the changes since the previous generation by word.
	Generation int64            `json:"generation"`
	Changes    map[string]int64 `json:"changes,omitempty"`

	Suspects    int64   `json:"suspects,omitempty"`    // pending URLs that were in flight when the process died
	Quarantined int64   `json:"quarantined,omitempty"` // URLs that repeatedly killed the process on their own
	Killed      bool    `json:"killed,omitempty"`      // the last stop was unclean
	Size        int64   `json:"frontier_bytes,omitempty"`
	Elapsed     float64 `json:"elapsed_s,omitempty"` // of this run
	Runs        int64   `json:"runs"`

	Opens *time.Time `json:"opens,omitempty"` // when the closed window opens

	Watch *Watch `json:"watch,omitempty"` // the directory's active watch, set by the caller

	// From the whole ledger, set by callers that have the directory.
	Began *time.Time `json:"began,omitempty"`
	Last  *time.Time `json:"last_line,omitempty"`
}

// OutsideWindow is the state of a crawl that waits for its window.
const OutsideWindow = "waiting"

// Watching is the state of a crawl between two rounds of a watch.
const Watching = "watching"

// Watch is the state of a watch.
type Watch struct {
	Next time.Time `json:"next,omitzero"` // next look for a round; zero while a round runs, and with Ends
	Ends time.Time `json:"ends,omitzero"` // when the watch ends unless a round starts before
	Why  string    `json:"why"`           // the reason for that time
	URL  string    `json:"url,omitempty"` // the first URL due then
	URLs int       `json:"urls"`          // watched URLs
}

// Queue is a host with pending URLs.
type Queue struct {
	Host    string   `json:"host"`
	Pending int64    `json:"pending"`
	Fetched int64    `json:"fetched"`
	Pace    float64  `json:"pace_s,omitempty"`    // in a running crawl at least its share of the address's
	Wait    float64  `json:"wait_s,omitempty"`    // until it is due
	Last    *float64 `json:"last_exchange_s_ago"` // null: none yet
	State   string   `json:"state,omitempty"`     // empty for an open host
	Never   bool     `json:"never_due,omitempty"` // until it is reopened, whatever Wait is

	Addr netip.Prefix `json:"-"` // its address, if it shares the address's delay
}

// Resting is a host with pending URLs that is parked, retired, refused, or held by the operator.
type Resting struct {
	Host      string  `json:"host"`
	Condition string  `json:"condition"`
	Reason    string  `json:"reason"`
	Wait      float64 `json:"wait_s,omitempty"` // until its next turn; omitted if unlimited
	Pending   int64   `json:"pending"`
}

// Bounds of the lists of a Status.
const (
	MaxResting = 100
	MaxLongest = 10
)

// Of reads the status of a stopped crawl from its frontier.
func Of(ctx context.Context, f frontier.Reader) (Status, error) {
	s, err := withoutHosts(ctx, f)
	if err != nil {
		return s, err
	}
	o, err := standingOut(ctx, f)
	if err != nil {
		return s, err
	}
	o.into(&s)
	return s, nil
}

func withoutHosts(ctx context.Context, f frontier.Reader) (Status, error) {
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
		Held:       st.Outcomes[frontier.Held],
		Queued:     st.Queued, InFlight: st.InFlight, Deferred: st.Deferred,
		Hosts: st.Hosts, Parked: st.Parked, Retired: st.Retired, Refused: st.Refused, Stopped: st.Stopped,
		Sitemaps: st.Counts[budget.Sitemaps], Listed: st.Counts[budget.Listed],
		Reasons: map[string]map[string]int64{}, Links: map[string]int64{},
		Failures: map[string]int64{}, Capped: map[string]int64{}, NotRead: map[string]int64{}, Scripts: map[string]int64{},
		Answers: map[string]int64{}, Types: map[string]int64{}, Tags: map[string]int64{},
		Suspects: st.Suspects, Quarantined: st.Reasons[frontier.Failed][frontier.ReasonQuarantined],
		Killed: st.Unclean, Size: st.Size, Runs: st.Counts[budget.Runs],
		Generation: budget.GenerationOf(st.Counts).Number, Changes: map[string]int64{},
	}
	if st.Queued+st.InFlight+st.Deferred == 0 {
		s.State = "finished"
	}
	for outcome, reasons := range st.Reasons {
		s.Reasons[outcome.String()] = reasons
	}
	prefixes := map[string]map[string]int64{
		budget.PrefixLinks: s.Links, budget.PrefixChanges: s.Changes, budget.PrefixUnparsed: s.NotRead, budget.PrefixScripts: s.Scripts,
	}
	for name, n := range st.Counts {
		for prefix, counts := range prefixes {
			if word, ok := strings.CutPrefix(name, prefix); ok {
				counts[word] = n
			}
		}
	}
	s.Add(st.Counts)
	for reason, n := range st.Capped {
		if n > 0 {
			s.Capped[reason] = n
		}
	}
	return s, nil
}

// Add adds counts of exchanges and pages.
func (s *Status) Add(counts map[string]int64) {
	s.Pages += counts[budget.Pages]
	s.Exchanges += counts[budget.Exchanges]
	s.Robots += counts[budget.Robots]
	s.Bytes += counts[budget.Bytes]
	for name, n := range counts {
		if class, ok := strings.CutPrefix(name, budget.PrefixFailures); ok {
			s.Failures[class] += n
		}
		if class, ok := strings.CutPrefix(name, storage.PrefixStatus); ok {
			s.Answers[class] += n
		}
		if word, ok := strings.CutPrefix(name, storage.PrefixType); ok {
			s.Types[word] += n
		}
		if tag, ok := budget.Tag(name); ok {
			s.Tags[tag] += n
		}
	}
}

// Tell corrects the status of a killed crawl by its ledger, which has exchanges that the frontier lost.
func (s *Status) Tell(a storage.Asked) {
	for name, n := range a.Kinds {
		if class, ok := strings.CutPrefix(name, storage.PrefixStatus); ok {
			s.Answers[class] = max(s.Answers[class], n)
		}
		if word, ok := strings.CutPrefix(name, storage.PrefixType); ok {
			s.Types[word] = max(s.Types[word], n)
		}
	}
	s.Exchanges, s.Robots, s.Bytes = max(s.Exchanges, a.Exchanges), max(s.Robots, a.Robots), max(s.Bytes, a.Octets)
}

// Sample is the progress of a crawl at one instant.
type Sample struct {
	At                      time.Time
	Pages, Bytes, Exchanges int64
	Permitted               float64 // exchanges per second
	Archive                 int64   // bytes
}

// Samples are the last samples, in order.
type Samples struct {
	every time.Duration
	most  int
	all   []Sample
}

// Keep returns Samples that keep up to most samples, at least every apart.
func Keep(most int, every time.Duration) Samples { return Samples{every: every, most: most} }

// Add adds a sample, unless it follows the last one too soon.
func (s *Samples) Add(x Sample) {
	if n := len(s.all); n > 0 && x.At.Sub(s.all[n-1].At) < s.every {
		return
	}
	if len(s.all) == s.most {
		s.all = append(s.all[:0], s.all[1:]...)
	}
	s.all = append(s.all, x)
}

// Rates are averages per second over a period.
type Rates struct {
	Pages, Bytes, Exchanges, Permitted float64
	Archive                            float64 // bytes
}

// Over returns the rates over the last d, or over less if there are too few samples.
func (s *Samples) Over(d time.Duration) (r Rates) {
	n := len(s.all)
	if n < 2 {
		return r
	}
	last, i := s.all[n-1], n-2
	for i > 0 && last.At.Sub(s.all[i].At) < d {
		i--
	}
	return between(s.all[i:n])
}

func between(part []Sample) (r Rates) {
	first, last := part[0], part[len(part)-1]
	t := last.At.Sub(first.At).Seconds()
	if t <= 0 {
		return r
	}
	per := func(a, b int64) float64 { return max(float64(b-a)/t, 0) } // a new generation restarts at zero
	r = Rates{
		Pages: per(first.Pages, last.Pages), Bytes: per(first.Bytes, last.Bytes), Exchanges: per(first.Exchanges, last.Exchanges),
		Archive: per(first.Archive, last.Archive),
	}
	for _, x := range part[1:] {
		r.Permitted += x.Permitted / float64(len(part)-1)
	}
	return r
}

// Course returns the rates over up to n equal parts of the sampled time, oldest first.
func (s *Samples) Course(n int) (parts []Rates) {
	step := max((len(s.all)-1+n-1)/n, 1)
	for i := 0; i+step < len(s.all); i += step {
		parts = append(parts, between(s.all[i:i+step+1]))
	}
	return parts
}

// Span returns the sampled time.
func (s *Samples) Span() time.Duration {
	if len(s.all) < 2 {
		return 0
	}
	return s.all[len(s.all)-1].At.Sub(s.all[0].At)
}

// standing is the part of a status about single hosts.
type standing struct {
	longest []Queue
	resting []Resting
	why     map[string]map[string]int64
}

func (o standing) into(s *Status) { s.Longest, s.Resting, s.Why = o.longest, o.resting, o.why }

// standingOut surveys the frontier's hosts.
func standingOut(ctx context.Context, f frontier.Reader) (o standing, err error) {
	survey, err := f.Survey(ctx, MaxResting)
	if err != nil {
		return o, err
	}
	now := time.Now()
	for _, h := range survey.Longest[:min(len(survey.Longest), MaxLongest)] {
		whole, ok, err := f.Host(ctx, h.Authority) // a survey has no memory
		if err != nil {
			return o, err
		}
		if ok {
			o.longest = append(o.longest, queueOf(whole, now))
		}
	}
	for _, h := range survey.Shut {
		o.resting = append(o.resting, restingOf(h))
	}
	o.why = map[string]map[string]int64{}
	for c, reasons := range survey.Why {
		o.why[c.String()] = reasons
	}
	for act, n := range survey.Holds {
		if n > 0 {
			o.why[HoldName(act)] = map[string]int64{frontier.ReasonOperator: n}
		}
	}
	return o, nil
}

func queueOf(h frontier.Host, now time.Time) Queue {
	q := Queue{
		Host: h.Authority.Origin(), Pending: h.Pending(), Fetched: h.Outcomes[frontier.Fetched],
		Pace: h.Pace.Seconds(),
	}
	n, err := host.Read(h.Memory)
	if err == nil && n.LastEnd != 0 {
		ago := max(now.Sub(time.UnixMicro(n.LastEnd)), 0).Seconds()
		q.Last = &ago
	}
	q.Addr = n.Spot
	wait := h.Wait
	switch {
	case h.Hold.Act != 0:
		q.State = HoldName(h.Hold.Act)
		wait = max(wait, h.Hold.Wait)
	case h.Condition != frontier.Open:
		q.State = h.Condition.String()
	}
	if q.Never = wait == frontier.Never; !q.Never {
		q.Wait = wait.Seconds()
	}
	return q
}

// restingOf returns why a host rests. A hold by the operator comes first: it outlasts the host's own condition.
func restingOf(h frontier.Host) Resting {
	r := Resting{Host: h.Authority.Origin(), Condition: h.Condition.String(), Reason: h.Reason, Pending: h.Pending()}
	wait := h.Wait
	if h.Hold.Act != 0 {
		r.Condition, r.Reason, wait = HoldName(h.Hold.Act), h.Hold.Reason, h.Hold.Wait
	}
	if wait != frontier.Never {
		r.Wait = wait.Seconds()
	}
	return r
}

// HoldName describes an operator's hold of a host.
func HoldName(a frontier.Act) string {
	if a == frontier.Drop {
		return "dropped by operator"
	}
	return "parked by operator"
}

// One is all data of one host.
type One struct {
	Known bool `json:"known"`
	Row
	Queued   int64            `json:"queued"`
	Deferred int64            `json:"deferred"`
	InFlight int64            `json:"in_flight"`
	Outcomes map[string]int64 `json:"outcomes"`
	Robots   string           `json:"robots,omitempty"` // its robots.txt, at most MaxRobotsText bytes
	Cut      bool             `json:"robots_cut,omitempty"`
}

const MaxRobotsText = 128 << 10 // bytes of One.Robots

// One returns all data of one host.
func (l *Live) One(ctx context.Context, a canon.Authority) (One, error) {
	h, ok, err := l.Host(ctx, a)
	if err != nil || !ok {
		return One{Row: Row{Host: a.Origin()}}, err
	}
	o := One{
		Known: true, Row: l.settings.Row(h, time.Now()), Queued: h.Queued, Deferred: h.Deferred, InFlight: h.InFlight,
		Outcomes: map[string]int64{},
	}
	for outcome, n := range h.Outcomes {
		if n > 0 {
			o.Outcomes[frontier.Outcome(outcome).String()] = n
		}
	}
	if len(h.Robots) == 0 {
		return o, nil
	}
	var s robots.State
	if err := s.UnmarshalBinary(h.Robots); err != nil {
		return o, fmt.Errorf("status: %s: robots state: %w", a, err)
	}
	digest, has := s.Body()
	if !has || digest == sha256.Sum256(nil) {
		return o, nil
	}
	body, err := l.frontier.Blob(ctx, digest)
	if err != nil {
		return o, fmt.Errorf("status: %s: robots.txt: %w", a, err)
	}
	o.Cut = len(body) > MaxRobotsText
	o.Robots = string(body[:min(len(body), MaxRobotsText)])
	return o, nil
}

// Look is the summary of a running crawl.
type Look struct {
	Status   Status   `json:"status"`
	Estimate Estimate `json:"estimate"`
	Waits    Waits    `json:"waits"`
	Memory   int64    `json:"memory_bytes,omitempty"` // that the process obtained from the system
	Workers  int      `json:"workers,omitempty"`      // maximum concurrent exchanges
}

// Waits counts hosts with pending URLs by the reason of their wait, and has the rate that their delays permit.
type Waits struct {
	Looked int64 `json:"looked"` // examined hosts, the first of the crawl
	Hosts  int64 `json:"hosts"`  // of these, hosts with pending URLs: the sum of all below

	InTurn   int64 `json:"in_turn"`  // active
	Due      int64 `json:"due"`      // waits for a worker
	Pace     int64 `json:"pace"`     // waits for its delay
	Address  int64 `json:"address"`  // waits for its shared address
	Retry    int64 `json:"retry"`    // has only failed URLs to retry
	Rest     int64 `json:"rest"`     // backs off: Retry-After, failures in a row
	Robots   int64 `json:"robots"`   // robots.txt is unavailable
	Operator int64 `json:"operator"` // held by the operator
	Shut     int64 `json:"shut"`     // retired or refused

	// Permitted is the permitted rate per second: the sum over all hosts in their turns, with one rate for each address.
	Permitted float64 `json:"permitted_per_s"`
}

// Waits examines the first hosts of the crawl, of which limited wait for their address.
func (l *Live) Waits(ctx context.Context, limited int64) (Waits, error) {
	w, err := l.waits.get(ctx, l.findWaits)
	if err != nil {
		return w, err
	}
	w.Address = min(limited, w.Pace)
	w.Pace -= w.Address
	return w, nil
}

func (l *Live) findWaits(ctx context.Context) (Waits, error) {
	var w Waits
	rates := map[netip.Prefix]float64{} // by shared address; the zero one is for hosts without
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		w.Looked++
		if h.Pending() == 0 {
			return true
		}
		w.Hosts++
		n, _ := host.Read(h.Memory) // damaged memory is empty
		p := l.settings.pacing(h, &n)
		*w.of(h)++
		each := p.Pace + n.Response() // 0 = unknown
		if each > 0 && h.Hold.Act == 0 && (h.Condition == frontier.Open && h.Deferred < h.Pending() || h.Leased) {
			at := n.Spot
			if p.Own {
				at = netip.Prefix{}
			}
			rates[at] += float64(max(h.Width, 1)) / each.Seconds()
		}
		return true
	})
	for at, rate := range rates {
		if at.IsValid() && l.settings.IPDelay > 0 {
			rate = min(rate, 1/l.settings.IPDelay.Seconds())
		}
		w.Permitted += rate
	}
	return w, err
}

// of returns the count that includes a host.
func (w *Waits) of(h frontier.Host) *int64 {
	switch {
	case h.Hold.Act != 0:
		return &w.Operator
	case h.Condition == frontier.Retired || h.Condition == frontier.Refused:
		return &w.Shut
	case h.Leased:
		return &w.InTurn
	case h.Wait <= 0:
		return &w.Due
	case h.Condition == frontier.Parked && strings.HasPrefix(h.Reason, "robots"):
		return &w.Robots
	case h.Condition == frontier.Parked:
		return &w.Rest
	case h.Deferred == h.Pending():
		return &w.Retry
	}
	return &w.Pace
}

// Why explains in a sentence the limit of a crawl in this state, with its recent and its permitted rate.
func (w Waits) Why(state string, exchanges, permitted float64) string {
	switch {
	case state == "paused":
		return "The crawl is paused: no request starts until you unpause it."
	case state == OutsideWindow:
		return "The crawl is outside its window (--window): no request starts until the window opens."
	case state == "draining":
		return "The crawl is ending: it finishes the requests in flight and starts no others."
	case w.Hosts == 0:
		return "No host has URLs left."
	case w.Due > w.InTurn && w.Due*4 > w.Hosts:
		return "Hosts are due and wait for a worker: the machine or --workers limits, not politeness."
	case permitted > 0 && exchanges >= 0.9*permitted:
		return "The crawl is as fast as politeness permits: only more hosts would make it faster."
	case w.Address*2 > w.Hosts:
		return "Most hosts share addresses, and each address has its own delay (--ip-delay)."
	case w.Robots*2 > w.Hosts:
		return "The robots.txt of most hosts is unavailable, and without it nothing may be fetched."
	case (w.Rest+w.Retry)*2 > w.Hosts:
		return "Most hosts back off after failures, or because they required it."
	case (w.Operator+w.Shut)*2 > w.Hosts:
		return "Most hosts with URLs left are paused by you, retired or refused."
	}
	return "Hosts wait for their delays: see the reason for each."
}
