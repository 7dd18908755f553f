package audit

import (
	"time"

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

// Unasked reports whether the archive has no exchange for its robots.txt.
func (h *policyHost) Unasked() bool { return h.policy.kind == unasked }

// Forgotten reports whether a kill may have made the crawl forget its robots.txt.
func (h *policyHost) Forgotten() bool { return h.forgot }

// Hearsay reports whether its robots.txt was read for another host alone since the crawl asked for it.
func (h *policyHost) Hearsay() bool { return h.aside != nil }

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
