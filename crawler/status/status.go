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
	Stopped int64 `json:"hosts_stopped"` // parked or dropped by an operator

	LimitedByIP int64 `json:"hosts_limited_by_ip,omitempty"` // that wait for their address, in a running crawl

	Pages     int64 `json:"pages"`
	Bytes     int64 `json:"bytes"`
	Exchanges int64 `json:"exchanges"`
	Robots    int64 `json:"robots_exchanges"`
	Sitemaps  int64 `json:"sitemaps,omitempty"` // read
	Listed    int64 `json:"listed,omitempty"`   // entries of sitemaps, taken or not

	Reasons map[string]map[string]int64 `json:"reasons,omitempty"` // closed URLs by outcome and reason
	Links   map[string]int64            `json:"links_not_followed,omitempty"`
	// NotRead are documents that were fetched and whose links are not all known, by reason ("content coding", "over 10 MiB").
	NotRead map[string]int64 `json:"not_read,omitempty"`
	// Scripts are URLs that scripts alone name, by what became of them ("found", "not there", or an outcome).
	Scripts map[string]int64 `json:"named_by_scripts,omitempty"`
	// Failures are exchanges that a host failed, by class ("dns", "timeout", "5xx", "429"), mended by a retry or not.
	Failures map[string]int64            `json:"failures,omitempty"`
	Answers  map[string]int64            `json:"answers,omitempty"` // by class of status code ("2xx"), robots.txt included
	Types    map[string]int64            `json:"types,omitempty"`   // 2xx answers by media type, the rarer ones together ("image/*")
	Tags     map[string]int64            `json:"tags,omitempty"`    // HTML pages by the tag of their seed
	Capped   map[string]int64            `json:"capped,omitempty"`  // links that a cap dropped, by cap
	Longest  []Queue                     `json:"longest,omitempty"` // hosts with the most pending, at most MaxLongest
	Resting  []Resting                   `json:"resting,omitempty"` // hosts left alone, the longest queues first, at most MaxResting
	Why      map[string]map[string]int64 `json:"why,omitempty"`     // hosts left alone, by condition and reason

	// Generation counts updates, from 1 for none; Changes says by word what became of URLs since the one before.
	Generation int64            `json:"generation"`
	Changes    map[string]int64 `json:"changes,omitempty"`

	Suspects    int64   `json:"suspects,omitempty"`    // pending URLs that were in flight when the process died
	Quarantined int64   `json:"quarantined,omitempty"` // URLs that brought it down again and again, alone
	Killed      bool    `json:"killed,omitempty"`      // the last stop was not a clean one
	Size        int64   `json:"frontier_bytes,omitempty"`
	Elapsed     float64 `json:"elapsed_s,omitempty"` // of this run
	Runs        int64   `json:"runs"`

	Opens *time.Time `json:"opens,omitempty"` // when the window of the crawl is open again, while it is not

	Watch *Watch `json:"watch,omitempty"` // of the directory, if one is alive; whoever asks for the status asks it as well

	// Of the whole crawl, as its ledger has them; whoever has the directory fills them in.
	Began *time.Time `json:"began,omitempty"`
	Last  *time.Time `json:"last_line,omitempty"`
}

// OutsideWindow is the state of a running crawl that waits for its window to open.
const OutsideWindow = "waiting"

// Watching is the state of a crawl between two rounds of a watch.
const Watching = "watching"

// Watch is what a watch does.
type Watch struct {
	Next time.Time `json:"next,omitzero"` // when it looks for the next round; zero while a round runs, and with Ends
	Ends time.Time `json:"ends,omitzero"` // when the watch ends, if no further round starts before
	Why  string    `json:"why"`           // what decides that
	URL  string    `json:"url,omitempty"` // the first that is due then
	URLs int       `json:"urls"`          // that are watched
}

// Queue is a host with something pending.
type Queue struct {
	Host    string   `json:"host"`
	Pending int64    `json:"pending"`
	Fetched int64    `json:"fetched"`
	Pace    float64  `json:"pace_s,omitempty"`    // in a running crawl no less than its address leaves to it
	Wait    float64  `json:"wait_s,omitempty"`    // until it is due
	Last    *float64 `json:"last_exchange_s_ago"` // null: none yet
	State   string   `json:"state,omitempty"`     // empty when nothing keeps it from its turns
	Never   bool     `json:"never_due,omitempty"` // it has no turn until somebody opens it, whatever Wait says

	Addr netip.Prefix `json:"-"` // where it is, if it shares its address's pace
}

// Resting is a host that is parked, retired or refused, or held by the operator, and has something pending.
type Resting struct {
	Host      string  `json:"host"`
	Condition string  `json:"condition"`
	Reason    string  `json:"reason"`
	Wait      float64 `json:"wait_s,omitempty"` // until it is asked again; left out without an end
	Pending   int64   `json:"pending"`
}

// Bounds of the lists of a Status.
const (
	MaxResting = 100
	MaxLongest = 10
)

// Of reads the status of a crawl from its frontier.
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

// withoutHosts is a status without single hosts.
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

// Add adds totals of exchanges and pages.
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

// Tell adds to the status of a crawl that was killed what its ledger tells of exchanges and its frontier does not. The next
// run counts that.
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

// Sample is how far a crawl was at one instant.
type Sample struct {
	At                      time.Time
	Pages, Bytes, Exchanges int64
	Permitted               float64 // exchanges a second
	Archive                 int64   // octets
}

// Samples are the last ones, in their order.
type Samples struct {
	every time.Duration
	most  int
	all   []Sample
}

// Keep returns Samples that keep so many, one in every so long.
func Keep(most int, every time.Duration) Samples { return Samples{every: every, most: most} }

// Add takes in a sample, unless the last one is too young.
func (s *Samples) Add(x Sample) {
	if n := len(s.all); n > 0 && x.At.Sub(s.all[n-1].At) < s.every {
		return
	}
	if len(s.all) == s.most {
		s.all = append(s.all[:0], s.all[1:]...)
	}
	s.all = append(s.all, x)
}

// Rates are what happened in a second, over a time.
type Rates struct {
	Pages, Bytes, Exchanges, Permitted float64
	Archive                            float64 // octets a second
}

// Over returns the rates of the last time of that length, as far as it was seen.
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
	per := func(a, b int64) float64 { return max(float64(b-a)/t, 0) } // a new generation counts from zero
	r = Rates{
		Pages: per(first.Pages, last.Pages), Bytes: per(first.Bytes, last.Bytes), Exchanges: per(first.Exchanges, last.Exchanges),
		Archive: per(first.Archive, last.Archive),
	}
	for _, x := range part[1:] {
		r.Permitted += x.Permitted / float64(len(part)-1)
	}
	return r
}

// Course returns the rates of n equal parts of the time that was seen, the oldest first; fewer where less was seen.
func (s *Samples) Course(n int) (parts []Rates) {
	step := max((len(s.all)-1+n-1)/n, 1)
	for i := 0; i+step < len(s.all); i += step {
		parts = append(parts, between(s.all[i:i+step+1]))
	}
	return parts
}

// Span is the time that was seen.
func (s *Samples) Span() time.Duration {
	if len(s.all) < 2 {
		return 0
	}
	return s.all[len(s.all)-1].At.Sub(s.all[0].At)
}

// standing is what a status says of single hosts.
type standing struct {
	longest []Queue
	resting []Resting
	why     map[string]map[string]int64
}

func (o standing) into(s *Status) { s.Longest, s.Resting, s.Why = o.longest, o.resting, o.why }

// standingOut asks the frontier what stands out among its hosts, and what is remembered of the few that do.
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

// restingOf says why a host rests. What the operator commanded comes first: it outlasts what turns say.
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

// HoldName is what an operator's command makes of a host.
func HoldName(a frontier.Act) string {
	if a == frontier.Drop {
		return "dropped by operator"
	}
	return "parked by operator"
}

// One is one host in full.
type One struct {
	Known bool `json:"known"`
	Row
	Queued   int64            `json:"queued"`
	Deferred int64            `json:"deferred"`
	InFlight int64            `json:"in_flight"`
	Outcomes map[string]int64 `json:"outcomes"`
	Robots   string           `json:"robots,omitempty"` // its robots.txt, at most MaxRobotsText octets of it
	Cut      bool             `json:"robots_cut,omitempty"`
}

// MaxRobotsText is how much of a robots.txt is shown.
const MaxRobotsText = 128 << 10

// One returns what there is to say of one host.
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

// Look is a running crawl at a glance.
type Look struct {
	Status   Status   `json:"status"`
	Estimate Estimate `json:"estimate"`
	Waits    Waits    `json:"waits"`
	Memory   int64    `json:"memory_bytes,omitempty"` // that the process has of the system
	Workers  int      `json:"workers,omitempty"`      // exchanges at a time, at most
}

// Waits says what keeps the hosts of a crawl that have something pending from their next turn, and which rate their paces
// permit. Each such host is counted once.
type Waits struct {
	Looked int64 `json:"looked"` // hosts that were looked at, the first of the crawl
	Hosts  int64 `json:"hosts"`  // of these, those with something pending: the sum of all below

	InTurn   int64 `json:"in_turn"`  // has its turn now
	Due      int64 `json:"due"`      // may have a turn: it waits for a worker
	Pace     int64 `json:"pace"`     // keeps its pace
	Address  int64 `json:"address"`  // waits for its address, which other hosts share
	Retry    int64 `json:"retry"`    // all that is left of it failed, and is tried again later
	Rest     int64 `json:"rest"`     // rests: Retry-After, failures in a row
	Robots   int64 `json:"robots"`   // its robots.txt cannot be had
	Operator int64 `json:"operator"` // held by the operator
	Shut     int64 `json:"shut"`     // retired or refused

	// Permitted is how many exchanges a second politeness permits now: what the paces of all hosts that are not left alone
	// come to, where hosts at one address share one rate.
	Permitted float64 `json:"permitted_per_s"`
}

// Waits looks at the first hosts of the crawl, of which limited wait for their address.
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
	rates := map[netip.Prefix]float64{} // by address; those of hosts that share none are under the zero one
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		w.Looked++
		if h.Pending() == 0 {
			return true
		}
		w.Hosts++
		n, _ := host.Read(h.Memory) // damaged ones are none
		p := l.settings.pacing(h, &n)
		*w.of(h)++
		if takesTurns(h) {
			at := n.Spot
			if p.Own {
				at = netip.Prefix{}
			}
			rates[at] += perSecond(p.Pace, n.Response(), h.Width)
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

// of is the count that a host belongs to.
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

// takesTurns reports whether a host has its turns at its pace, as far as is known.
func takesTurns(h frontier.Host) bool {
	return h.Hold.Act == 0 && (h.Condition == frontier.Open && h.Deferred < h.Pending() || h.Leased)
}

// perSecond is how many exchanges a second a pace permits. The exchange itself takes its time, which counts from its end.
func perSecond(pace, response time.Duration, width int) float64 {
	each := pace + response
	if each <= 0 {
		return 0 // as fast as it answers: nothing limits it, and nothing is known
	}
	return float64(max(width, 1)) / each.Seconds()
}

// Why says in a sentence why a crawl in that state is no faster, which of late made so many exchanges a second of those that
// were permitted.
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
