package frontier

import (
	"time"

	"curtsy/frontier/canon"
)

// Token fences a lease: open epoch << 32 | counter. Zero is no token.
type Token uint64

// Lease is the right to one turn with an authority.
type Lease struct {
	Authority canon.Authority
	Token     Token
	Length    time.Duration // until it expires, from the claim
	Width     int           // most exchanges at one time under this lease; 1 unless Keep is in use
}

// Want says what a Claim asks for.
type Want struct {
	Hosts   int           // most authorities; zero means 1
	Tasks   int           // most tasks each; zero means 1
	MaxWait time.Duration // give up when nothing is due within this time; zero means give up unless something is due now
}

// Claimed is the answer to a Claim: turns, or the state that ended it.
type Claimed struct {
	Turns []Turn
	State State
	Due   time.Duration // with Waiting: until the earliest authority is due; Never when all are retired or refused
}

// State is the state of a frontier as a whole.
type State uint8

// The states.
const (
	Busy    State = iota // a lease is out, or something is due, or soon
	Drained              // nothing is pending and no lease is out
	Waiting              // no lease is out and everything pending is waiting
	Full                 // Options.MaxSize is reached: no turn is given any more, whatever is pending or out
)

// Never is the Due of a frontier in which nothing will become due in this run.
const Never = time.Duration(1<<63 - 1)

// Turn is a lease with what its holder needs.
type Turn struct {
	Lease
	Host  Host
	Tasks []Task
}

// Task is one URL under a lease.
type Task struct {
	Candidate             // as it was accepted; URL is what to fetch now
	Print     Fingerprint // identity within the authority
	Attempts  int         // exchanges spent on it that were counted
	Replaced  bool        // a redirect to its own key has replaced URL once
	Reason    string      // why the last attempt was deferred, or ReasonReleased; empty at the first
	Stops     int         // unclean stops at which it was in flight: more than zero marks a suspect
}

// Condition says whether a host takes part in the run. The numbers are stable on disk.
type Condition uint8

// The conditions.
const (
	Open    Condition = 0 // claimed when due
	Parked  Condition = 1 // claimed when due; the wait is longer than the pace, for Reason
	Retired Condition = 2 // not claimed in this run; open again at the next
	Refused Condition = 3 // not claimed until an operator opens it: Retry
)

// HostUpdate is the part of a host that its turns write.
type HostUpdate struct {
	Condition Condition     // of the host itself; an operator's command is in Host.Hold
	Reason    string        // why it is not Open
	Pace      time.Duration // what is kept between exchanges now; obeyed anew after a restart
	Width     int           // of later leases; zero means 1
	Robots    []byte        // robots state, opaque to the frontier, ≤ MaxRobots
	Memory    []byte        // the crawler's own notes, opaque, ≤ MaxMemory
}

// Host is what a frontier keeps of an authority. It is data, not a goroutine, and outlives idleness and restart.
type Host struct {
	Authority canon.Authority
	HostUpdate
	Hold     Hold
	Wait     time.Duration // until it is due, as of the answer, an operator's park apart; zero when due
	Leased   bool
	Queued   int64 // pending, neither leased nor deferred
	InFlight int64 // leased
	Deferred int64 // pending, after a failed attempt
	Outcomes Outcomes

	Moved     bool // another member had the last turn and archived it: Robots is empty
	Elsewhere bool // another member owns it: ClaimAuthority returns ErrNotDue
}

// Pending returns how many URLs of the host are not closed.
func (h Host) Pending() int64 { return h.Queued + h.InFlight + h.Deferred }
