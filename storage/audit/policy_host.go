package audit

import (
	"hash/maphash"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// policyHost is what the archive shows of an authority's robots.txt, and of those before it. The zero Host was not asked
// for any.
type policyHost struct {
	Asker string // the User-Agent that asked for robots.txt

	policy     policy
	learnedFor int           // exchanges since its text was learned, the first included, at most evidence.AtKill+2
	forgot     bool          // a kill may have made the crawl forget it
	before     evidence.Text // the text that held before this one

	records  []uint64 // hashes of the records that it was learned from, the last of them
	learned  int      // policies that it got in this run
	replaces []said   // the last of those that they took the place of
	back     []said   // those that a kill may have brought back before this run
	aside    *said    // the one before its robots.txt was read for another host, and not for its own since; nil for none

	firstRobots time.Time // the earliest date of an exchange for its robots.txt; zero when it has none
	payload     string    // the payload digest of the last answer with a text
}

// Kind says in a word how the last robots.txt binds.
func (h *policyHost) Kind() string { return h.policy.kind.String() }

// Heard counts an exchange with the host of a crawl that keeps this crawler's promises.
func (h *policyHost) Heard(robots bool) {
	h.learnedFor, h.forgot = min(h.learnedFor+1, evidence.AtKill+2), h.forgot && robots
	for i := range h.replaces {
		h.replaces[i].heard++
	}
}

// Killed notes that the crawl may have been killed before it knew of its last exchanges with the host.
func (h *policyHost) Killed() {
	h.forgot = h.learnedFor <= evidence.AtKill
	if h.learnedFor <= evidence.AtKill+1 { // so may be what its text was used for since
		h.policy.used = false
	}
	h.mayBeBack()
}

// SetBack notes that the clock was set back to an instant: robots.txt is as old, at least, as that.
func (h *policyHost) SetBack(to time.Time) {
	h.policy.setBack(to)
	for i := range h.replaces {
		h.replaces[i].policy.setBack(to)
	}
	for i := range h.back {
		h.back[i].policy.setBack(to)
	}
	if h.aside != nil {
		h.aside.policy.setBack(to)
	}
}

// A kill may take back what the last exchanges with a host said of its robots.txt: then the next run goes by the one
// before, and says so. As a rule that is as old as it was; but where the clock was set back before those exchanges and
// forward behind them, its dates are young again.

// said is a policy that another one took the place of.
type said struct {
	policy  policy
	payload string
	heard   int // exchanges with the host since then, the one that brought the other included
}

// maxBack bounds the policies that a host may be back at.
const maxBack = 2 * (evidence.AtKill + 1)

// replaced notes that an exchange said something of robots.txt, in the place of a policy.
func (h *policyHost) replaced(was policy, payload string) {
	if was.kind == h.policy.kind && was.since.Equal(h.policy.since) {
		return
	}
	h.learned++
	h.replaces = append(h.replaces[max(0, len(h.replaces)-evidence.AtKill):], said{was, payload, 0})
}

// mayBeBack notes which policies a kill may have brought back.
func (h *policyHost) mayBeBack() {
	if h.learned == 0 {
		return // the run that was killed began with what it may have had back itself
	}
	kept := slices.DeleteFunc(h.replaces, func(s said) bool { return s.heard > evidence.AtKill })
	if len(kept) < h.learned {
		h.back = nil
	}
	h.back = append(h.back, kept...)
	h.back = h.back[max(0, len(h.back)-maxBack):]
	h.replaces, h.learned = nil, 0
}

// read notes for whom robots.txt was read. What is read for another host, whose own one redirects there, is no policy of
// the host that it is of (RFC 9309 2.3.1.2), whose own one may go on to hold.
func (h *policyHost) read(forAnother bool, was said) {
	switch {
	case !forAnother:
		h.aside = nil
	case h.aside == nil:
		h.aside = &was
	}
}

// Told takes what the crawl says of the robots.txt that it goes by, before the exchange is judged: it may be the one
// before one that was read for another host, or one that a kill brought back, as long as none was had since.
func (h *policyHost) Told(l *storage.Line) {
	if l == nil || l.Decision != storage.DecisionAllow || l.RobotsRecord == "" || l.RobotsRecord == h.policy.record {
		return
	}
	if h.aside != nil && h.aside.policy.record == l.RobotsRecord {
		h.policy, h.payload = h.aside.policy, h.aside.payload
		return
	}
	if h.learned > 0 {
		return
	}
	i := slices.IndexFunc(h.back, func(s said) bool { return s.policy.record == l.RobotsRecord })
	if i < 0 {
		return
	}
	h.policy, h.payload, h.learnedFor, h.forgot, h.back = h.back[i].policy, h.back[i].payload, evidence.AtKill+2, false, nil
}

// maxRecords bounds the records of a host's robots.txt that are remembered, 8 bytes each.
const maxRecords = 64

// remember notes that the host's robots.txt was learned from a record.
func (h *policyHost) remember(record string) {
	id := maphash.String(recordSeed, record)
	if n := len(h.records); record == "" || n > 0 && h.records[n-1] == id {
		return
	}
	h.records = append(h.records[max(0, len(h.records)-maxRecords+1):], id)
}

var recordSeed = maphash.MakeSeed()

// learnedFrom reports whether the host's robots.txt was learned from a record, now or before: whether the one before may
// still be used is for others to judge. An empty id names none.
func (h *policyHost) learnedFrom(record string) bool {
	return record == "" || slices.Contains(h.records, maphash.String(recordSeed, record))
}

// setBack makes p hold by a clock that was set back to an instant: it is as old, at least, as that.
func (p *policy) setBack(to time.Time) {
	if by := p.since.Sub(to); by > 0 {
		p.since, p.expires, p.ahead = to, p.expires.Add(-by), p.ahead+by
	}
}

// forth reports whether p holds until limit by the dates that it had before the clock was set back, and the clock was set
// forward again to such a date. Whoever asked for something by an earlier date had to ask for robots.txt anew.
func (p *policy) forth(at, limit time.Time) bool {
	return p.ahead > 0 && !at.Before(p.since.Add(p.ahead)) && !at.After(limit.Add(p.ahead))
}
