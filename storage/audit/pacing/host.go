package pacing

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pauses"
)

// Host has the delays of an authority while its exchanges go by. The zero Host is ready to use.
type Host struct {
	// The last exchange, and until when the server asked for rest.
	seen        bool
	began       time.Time // the latest start
	end         time.Time // the latest end, or the latest that is known of it
	ended       bool      // end is known
	res         time.Duration
	ahead       time.Duration // how far the clock had jumped ahead, as recorded with the last exchange
	hasMetadata bool          // which has metadata
	file        string        // of the exchange that ended last
	lost        bool          // a step of the clock made it unknown when its last exchange ended
	rest        time.Time
	restWhy     string
	restFor     int       // exchanges since, at most evidence.AtKill
	restAt      time.Time // when the response arrived: earlier exchanges could not know it

	answers     answers
	spaced      time.Duration // the space between requests that RateLimit requires
	spacedUntil time.Time
	emptied     time.Duration // how long the quota was exhausted by the last RateLimit
	spacedFor   int           // exchanges since that field, at most evidence.AtKill
	was         terms         // that were due before the last exchange
	row         pauses.Row    // its exchanges, one after the other
	lastSeen    sighting
	latest      sighting // the exchange that began last
	starts      starts   // of answered exchanges of another crawler

	// Required by a response that the crawl could not read, or that a kill may have made it forget.
	mayRest  time.Time
	mayLimit [2]time.Duration

	backoff    time.Time // the end of the back-off after an error without Retry-After
	backoffWhy string

	daily     []time.Time // requests of the last day, where the archive declares how many there may be
	dailyLost int         // those of them that kills may have made the crawl forget

	Reduced bool // a response that the packer left out may have required a rest

	// An exchange was taken down since a RateLimit was archived, or a robots.txt: it may have had another.
	lostLimit, lostRobots bool

	Required     time.Duration // the longest delay that floor or robots.txt required
	RequiredBy   string
	Lowest       time.Duration // the shortest
	Gaps         pauses.Sample
	StartToStart bool // some of the gaps are measured from start to start
}

// Site has the delays between two requests that a host's robots.txt requires.
type Site struct {
	Delay, Rate time.Duration // Crawl-delay and Request-rate

	Unasked   bool // the archive has no exchange for it
	Forgotten bool // a kill may have made the crawl forget it
	Hearsay   bool // it was read for another host since: its delays are also kept

	Taken Taken
}

func (h *Host) Met() bool { return h.seen }

// Crosses reports whether an exchange in a file is the host's first after another file.
func (h *Host) Crosses(file string) bool { return h.seen && h.file != file }

// SetBack notes that the clock was set back: neither the delay before the next exchange nor the end of a rest is known.
func (h *Host) SetBack() {
	h.lost = h.lost || h.seen
	h.seen, h.began, h.end, h.ended, h.res = false, time.Time{}, time.Time{}, false, 0
	h.rest, h.restAt, h.backoff, h.spaced, h.emptied = time.Time{}, time.Time{}, time.Time{}, 0, 0
	h.was, h.row = terms{}, pauses.Row{}
	h.daily, h.dailyLost = nil, 0
}

const (
	maxDates    = 1024    // starts kept of a host
	maxAllDates = 1 << 20 // starts kept of all hosts: 8 MiB
	beside      = 32      // starts compared on either side
)

// starts are the dates of a host's last exchanges, in ascending Unix microseconds: another crawler's records may be in any
// order.
type starts []int64

func (j *Judge) starts(e *evidence.Exchange, to *Host) {
	if j.m.Ours() || e.Own || !e.HasAnswer { // a request far from its answer is judged separately, and so is the answer
		return
	}
	if len(to.starts) >= maxDates || j.kept >= maxAllDates && len(to.starts) > 0 {
		to.starts = slices.Delete(to.starts, 0, 1)
		j.kept--
	}
	at := e.Began.UnixMicro()
	i, _ := slices.BinarySearch(to.starts, at)
	to.starts = slices.Insert(to.starts, i, at)
	j.kept++
}

// crowded returns how many exchanges near a date, its own among them, are the nearest to breaking a pause, and the
// time in which they began. It reports whether they do: fewer would have had room in that time.
func (s starts) crowded(at time.Time, due, res time.Duration) (n int, in time.Duration, ok bool) {
	t := at.UnixMicro()
	k, _ := slices.BinarySearch(s, t)
	for i := max(k-beside, 0); i <= k; i++ {
		for j := k; j <= min(k+beside, len(s)); j++ { // t itself is between those before k and those from k
			first, last := t, t
			if i < k {
				first = s[i]
			}
			if j > k {
				last = s[j-1]
			}
			span := time.Duration(last-first)*time.Microsecond + res
			if least := time.Duration(j-i) * due; j > i && span+slack(least) < least {
				return j - i + 1, span, true
			}
		}
	}
	return 0, 0, false
}

// row adds e to its authority's row. It reports a row too short in sum, even if each of its delays may be long enough.
func (j *Judge) row(e *evidence.Exchange, to *Host, required time.Duration) (pauses.Short, bool) {
	again := sighting{e.URL, e.Began}
	if (!e.HasRequest || !e.HasAnswer) && again == to.lastSeen { // the other half of an exchange whose records lie far apart
		return pauses.Short{}, false
	}
	to.lastSeen = again
	x := pauses.Exchange{Began: e.Began, Resolution: e.Resolution, Pace: max(required-slack(required), 0)}
	if e.Ended {
		x.Took = max(e.Took-time.Microsecond, 0)
	}
	return to.row.Add(x)
}

// sighting has the values that records of an exchange share.
type sighting struct {
	url   string
	began time.Time
}

func (j *Judge) tooFastInSum(e *evidence.Exchange, s pauses.Short, by string) {
	j.found.Add(e.Finding(finding.Gap,
		fmt.Sprintf("at least %s from the start of the first to the start of the last, for %d delays in a row: %s",
			finding.Round(s.Due), s.Pauses, by),
		fmt.Sprintf("at most %s, since %s", finding.Round(s.Most), finding.Clock(s.Since))))
}

// Whole judges the exchanges of a host as a whole, where their records are in no order.
func (h *Host) Whole(authority string) (f finding.Finding, short bool) {
	s, short := h.row.Whole()
	if !short {
		return f, false
	}
	return finding.Finding{Code: finding.Gap, Authority: authority, Time: s.Since,
		Required: fmt.Sprintf("at least %s for %d delays", finding.Round(s.Due), s.Pauses),
		Observed: fmt.Sprintf("at most %s for all requests to the host, whose records are not in the order of "+
			"their dates", finding.Round(s.Most))}, true
}

// Taken counts the redacted exchanges of a host (docs/trust/opt-out.md), by marks, stubs and the map of hosts. Their
// response times and RateLimit are unknown. All else binds, also the last remaining response times.
type Taken struct {
	Before int // exchanges with the host since the last one in the archive, at most
	InAll  int // redacted exchanges with the host in all, at most
}

// mostTaken bounds those between two exchanges: three unknown of five response times make any median possible.
const mostTaken = (usualOf + 1) / 2

func (h *Host) taken(e *evidence.Exchange, t Taken) {
	h.answers.mostOut = t.InAll
	if t.Before == 0 || e.Own { // response times and RateLimit do not affect the pace of an operator's own host
		return
	}
	h.lostLimit, h.lostRobots = true, true
	for range min(t.Before, t.InAll, mostTaken) {
		h.answers.add(answerTime{most: answerMost / answerFactor, taken: true})
	}
}

// answers are the last response times of a host, the newest last.
type answers struct {
	last    []answerTime
	mostOut int // how many of those that were taken down there can have been
}

// answerTime is a response time: from the request to the first byte of the answer.
type answerTime struct {
	least, most time.Duration // the same, if the archive has it
	unsure      bool          // a kill may have made the crawl forget it
	taken       bool          // it was redacted, or never existed: no record remains
}

// usualOf is how many response times make the usual one. As many more are kept as may be forgotten or redacted. If more
// than maxUnsure are unsure, nothing is required.
const (
	usualOf   = 5
	maxUnsure = 2*evidence.AtKill + mostTaken
)

func (s *answers) add(t answerTime) {
	if len(s.last) == usualOf+maxUnsure {
		s.last = slices.Delete(s.last, 0, 1)
	}
	s.last = append(s.last, t)
}

// answerPace is the delay that response times require: at least, and at most where the archive lacks the starts of
// responses. The crawl may have forgotten any unsure ones, so only the least of all choices can be required; the largest is
// the most that it may have kept. unlessTaken leaves redacted ones out.
type answerPace struct{ least, most, largest, unlessTaken time.Duration }

func (s *answers) pace() (p answerPace) {
	var unsure []int
	for i := range s.last {
		if s.last[i].unsure || s.last[i].taken {
			unsure = append(unsure, i)
		}
	}
	switch {
	case len(s.last) == 0:
		return p
	case len(unsure) > maxUnsure:
		return answerPace{largest: answerMost}
	}
	p.least, p.most, p.unlessTaken = answerMost, answerMost, answerMost
	var low, high []time.Duration
	for forgotten := range 1 << len(unsure) {
		out := 0
		for at, i := range unsure {
			if s.last[i].taken && forgotten>>at&1 == 0 {
				out++
			}
		}
		if out > s.mostOut {
			continue
		}
		low, high = low[:0], high[:0]
		for i := len(s.last) - 1; i >= 0 && len(low) < usualOf; i-- {
			if at := slices.Index(unsure, i); at >= 0 && forgotten>>at&1 == 1 {
				continue
			}
			low, high = append(low, s.last[i].least), append(high, s.last[i].most)
		}
		fast, slow := answerFactor*usual(low), answerFactor*usual(high)
		p.least, p.most, p.largest = min(p.least, fast), min(p.most, slow), max(p.largest, slow)
		if out == 0 {
			p.unlessTaken = min(p.unlessTaken, fast)
		}
	}
	return p
}

// usual is the middle one; of an even number the larger of the two in the middle (docs/trust/politeness.md, rule 9).
func usual(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// address has the starts of requests to an address. Exchanges come by their ends, so its last starts are kept back to be ordered.
type address struct {
	starts []start   // that are kept back, the earliest first
	last   time.Time // the latest that was counted
	due    time.Time // when the next one may begin, if none came early before
}

const (
	maxStarts = 32
	keptBack  = 2 * time.Minute
)

// connecting is how long it may take from the moment that a slot at an address is taken to the first byte of the
// request: resolver, connection and TLS. That moment is not in the archive, so two starts prove little, and many do.
const connecting = 20 * time.Second

// addressed counts a start at an address (docs/trust/politeness.md, rule 10).
func (j *Judge) addressed(e *evidence.Exchange) {
	if !j.m.Promises() || e.Own || !e.Addr.IsValid() {
		return
	}
	name := block(e.Addr)
	at := j.addrs[name]
	if at == nil {
		at = &address{}
		j.addrs[name] = at
	}
	delay := leastDelay
	if j.m.Ours() {
		delay = max(j.m.Info.IPDelay, delay)
	}
	i, _ := slices.BinarySearchFunc(at.starts, e.Began, func(s start, t time.Time) int { return s.t.Compare(t) })
	at.starts = slices.Insert(at.starts, i, start{e.Began, e.Authority, e.Place, delay})
	for len(at.starts) > maxStarts || e.Began.Sub(at.starts[0].t) > keptBack {
		j.start(at)
	}
}

// leastDelay is the least that the pace of an address can be set to (docs/trust/politeness.md, rule 10).
const leastDelay = 100 * time.Millisecond

func (j *Judge) start(at *address) {
	s := at.starts[0]
	at.starts = slices.Delete(at.starts, 0, 1)
	if s.t.Before(at.last) {
		return // it took longer than the window: no conclusion
	}
	delay := s.delay
	if !at.last.IsZero() && s.t.Sub(at.last)+slack(delay) < delay {
		j.found.Doubt(s.authority, finding.AddressPace,
			"two requests to one address started closer than its delay, and the archive does not record when their "+
				"connections were made", s.t.Sub(at.last), s.t.Sub(at.last))
	}
	if !at.due.IsZero() && s.t.Add(connecting).Before(at.due) {
		j.found.Add(finding.Finding{Code: finding.AddressPace, Authority: s.authority, Place: s.at, Time: s.t,
			Required: "starts " + delay.String() + " apart at one address (politeness rule 10)",
			Observed: "so many before it that it began " + finding.Round(at.due.Sub(s.t)) + " too early"})
		at.due = s.t
	}
	at.last = s.t
	if s.t.After(at.due) {
		at.due = s.t
	}
	at.due = at.due.Add(delay)
}

// block returns the addresses that share a pace: an IPv4 address, also behind a translator, or 64 bits of an IPv6 one.
func block(addr netip.Addr) string {
	addr = translated(addr.Unmap())
	if addr.Is6() {
		if p, err := addr.Prefix(64); err == nil {
			return p.String()
		}
	}
	return addr.String()
}

// Behind these prefixes IPv6 addresses hold the IPv4 address that they lead to: NAT64 (RFC 6052) and 6to4 (RFC 3056).
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// translated returns the IPv4 address that addr leads to, else addr.
func translated(addr netip.Addr) netip.Addr {
	octets := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(octets[12:]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(octets[2:6]))
	}
	return addr
}

type start struct {
	t         time.Time
	authority string
	at        finding.Place
	delay     time.Duration // as the settings were then
}
