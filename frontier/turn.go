package frontier

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"time"

	"curtsy/frontier/canon"
)

// Token fences a lease: open epoch << 32 | counter. Zero is not a token.
type Token uint64

// Lease is the right to one turn with an authority.
type Lease struct {
	Authority canon.Authority
	Token     Token
	Length    time.Duration // until it expires, from the claim
	Width     int           // most exchanges at one time under this lease; 1 unless Keep is in use
}

// Want is the request of a Claim.
type Want struct {
	Hosts   int           // most authorities; zero means 1
	Tasks   int           // most tasks each; zero means 1
	MaxWait time.Duration // give up when nothing is due within this time; zero means give up unless something is due now
}

// Claimed is the result of a Claim: turns, or the state that ended it.
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
	Full                 // Options.MaxSize is reached: no turn is given, whatever is pending or out
)

// Never is the Due of a frontier in which nothing will be due in this run.
const Never = time.Duration(1<<63 - 1)

// Turn is a lease with its host and tasks.
type Turn struct {
	Lease
	Host  Host
	Tasks []Task
}

// Task is one URL under a lease.
type Task struct {
	Candidate             // as it was accepted, but URL is the one to fetch now
	Print     Fingerprint // identity within the authority
	Attempts  int         // exchanges spent on it that were counted
	Replaced  bool        // a redirect to its own key has replaced URL once
	Reason    string      // why the last attempt was deferred, or ReasonReleased; empty at the first
	Stops     int         // unclean stops at which it was in flight: more than zero marks a suspect
}

// Condition determines whether a host takes part in the run. The numbers are stable on disk.
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
	Pace      time.Duration // between exchanges; applies again after a restart
	Width     int           // of later leases; zero means 1
	Robots    []byte        // robots state, opaque to the frontier, ≤ MaxRobots
	Memory    []byte        // the crawler's own notes, opaque, ≤ MaxMemory
}

// Host is the state of an authority. It is data, not a goroutine, and outlives idleness and restart.
type Host struct {
	Authority canon.Authority
	HostUpdate
	Hold     Hold
	Wait     time.Duration // until it is due, without an operator's park; zero when due
	Leased   bool
	Queued   int64 // pending, neither leased nor deferred
	InFlight int64 // leased
	Deferred int64 // pending, after a failed attempt
	Outcomes Outcomes

	Moved     bool // another member had the last turn and archived it: Robots is empty
	Elsewhere bool // another member owns it: ClaimAuthority returns ErrNotDue
}

func (h Host) Pending() int64 { return h.Queued + h.InFlight + h.Deferred }

// Outcome is how a URL ended. The numbers are stable on disk; the list is closed.
type Outcome uint8

// The outcomes. frontier/bolt stores them in three bits.
const (
	Fetched    Outcome = 1 // a stored response: any 2xx, and statuses that are a response in themselves
	Redirected Outcome = 2 // its target is a separate candidate
	Disallowed Outcome = 3 // robots.txt, judged at its turn
	Failed     Outcome = 4 // attempts exhausted, or a response that no retry changes
	Gone       Outcome = 5 // 404, 410
	Dropped    Outcome = 6 // refused by scope, trap, budget, opt-out or operator
	Held       Outcome = 7 // set aside by a trap's rule, its reason; an operator may release it: Retry
)

// Outcomes counts URLs by Outcome; index 0 is unused.
type Outcomes [8]int64

// Result ends a turn. It is applied whole or not at all.
type Result struct {
	Authority canon.Authority
	Token     Token

	Done     []Done      // tasks that are closed
	Deferred []Deferral  // tasks that come again
	Found    []Candidate // links, of any authority, accepted if new
	Extend   []Seed      // extensions of the scope, added to the list of seeds

	Host *HostUpdate   // nil keeps the stored one
	Wait time.Duration // until the next turn; zero or less means due at once, and does not shorten a stored wait

	Blobs  [][]byte         // bodies to keep under their SHA-256, once each
	Counts map[string]int64 // added to the totals of those names

	// Keep extends the lease beyond this Finish and requests up to Want more tasks under it. Tasks that the Result does
	// not name stay in flight; unknown names are ignored.
	Keep bool
	Want int
}

// Check returns how r breaks a bound of the contract, or nil.
func (r *Result) Check() error {
	if h := r.Host; h != nil {
		switch {
		case len(h.Robots) > MaxRobots:
			return fmt.Errorf("robots state of %d bytes: over %d", len(h.Robots), MaxRobots)
		case len(h.Memory) > MaxMemory:
			return fmt.Errorf("memory of %d bytes: over %d", len(h.Memory), MaxMemory)
		case h.Condition > Refused:
			return fmt.Errorf("no condition %d", h.Condition)
		}
	}
	for i, d := range r.Done {
		if d.Outcome < Fetched || d.Outcome > Held {
			return fmt.Errorf("task %d is done with outcome %d, which does not exist", i, d.Outcome)
		}
	}
	for i, s := range r.Extend {
		if s.URL.IsZero() {
			return fmt.Errorf("extension %d has no URL", i)
		}
	}
	return CheckCandidates(r.Found)
}

// CheckCandidates returns an error if a candidate has no URL.
func CheckCandidates(cs []Candidate) error {
	for i := range cs {
		if cs[i].URL.IsZero() {
			return fmt.Errorf("candidate %d has no URL", i)
		}
	}
	return nil
}

// Done closes a task.
type Done struct {
	Print   Fingerprint
	Outcome Outcome
	Reason  string // counted per outcome and reason; empty for a plain one
}

// Deferral returns a task to its host for another attempt.
type Deferral struct {
	Print  Fingerprint
	After  time.Duration // earliest next attempt, from now; other tasks of the host may come first
	Reason string

	// URL, if not zero, replaces the task's fetch URL: a redirect led to the task's own key. No attempt is counted.
	URL canon.URL
}

// Finished is the answer to a Result.
type Finished struct {
	Err   error  // nil (applied now or before), or ErrStale
	Added Added  // of Result.Found
	Tasks []Task // with Keep: more tasks

	// Dropped are the tasks of the turn that an operator's Drop closed at this Finish: deferred ones, and at the end of
	// the lease open ones. Their order is arbitrary.
	Dropped []Fingerprint
}

// Stats are the totals of a frontier. Discovered = the sum of Outcomes + Queued + InFlight + Deferred.
type Stats struct {
	Discovered int64
	Outcomes   Outcomes
	Queued     int64
	InFlight   int64
	Deferred   int64

	Reasons map[Outcome]map[string]int64 // closed URLs by outcome and reason, empty reasons left out
	Capped  map[string]int64             // links dropped by a cap, by reason (ReasonCapSize, …); not part of Discovered
	Counts  map[string]int64             // the sums of Result.Counts

	Hosts    int64 // authorities known
	Pending  int64 // of these, with something pending
	Parked   int64 // of these, Parked, Retired, Refused
	Retired  int64
	Refused  int64
	Stopped  int64         // of these, parked or dropped by an operator
	Suspects int64         // pending tasks that were in flight at an unclean stop
	Size     int64         // bytes, as Options.MaxSize counts them
	Leases   int64         // out
	State    State         // of the frontier as a whole
	Due      time.Duration // with Waiting, as in Claimed
	Unclean  bool          // the last stop before this open was not a Close
	Restarts int64         // opens before this one
}

// Kind is how a URL was discovered. The numbers are stable on disk.
type Kind uint8

// The kinds.
const (
	KindSeed     Kind = 1 // given by the user
	KindLink     Kind = 2 // a navigational link of a page
	KindRedirect Kind = 3 // the target of a redirect
	KindEmbed    Kind = 4 // a requisite of a page: image, style, script, font, media, frame
	KindSitemap  Kind = 5 // listed in a sitemap
	KindMap      Kind = 6 // a sitemap or an index of them
	KindScript   Kind = 7 // a string in a script that looks like a file
)

// Candidate is a discovered URL.
type Candidate struct {
	URL    canon.URL
	Kind   Kind
	Via    string // fetch URL of the page or redirect that named it; empty for a seed
	Depth  int    // links from the seed, redirects and requisites not counted
	Hops   int    // redirects in a row that led here
	Embeds int    // requisite steps in a row that led here
	Away   int    // of these, steps out of the scope
	Seed   string // fetch URL of its seed; a seed's own
	Tag    string // the seed's tag

	// Refused, if not empty, is the reason of a timeless refusal (out of scope by scheme or pattern, a trap's shape).
	// The candidate enters the seen-set and is counted as Dropped with this reason; it never becomes a task.
	Refused string
}

// Seed is a URL that the crawl began with, or (From not empty) one that a seed redirected to, which extends the scope.
type Seed struct {
	URL  canon.URL
	Tag  string
	From string // fetch URL of the seed that led here; empty for a seed
}

// Added counts the fates of candidates.
type Added struct {
	New     int // accepted as pending
	Refused int // entered as Dropped: Candidate.Refused was set, or an operator has dropped the host
	Known   int // seen before
	Capped  int // over a cap; not marked seen

	// Barred are the indices of refused candidates of hosts that an operator has dropped, in order.
	Barred []int
}

// Fingerprint identifies a canonical key within one crawl: 64 bits of a keyed digest, so that nobody can prepare two
// URLs that collide. See Print.
type Fingerprint uint64

// Print returns the fingerprint of a key: the first eight bytes, big-endian, of HMAC-SHA-256(secret, key). Zero is
// mapped to 1, so that a table may use it for "empty". With n URLs the chance that any two collide is about n²/2⁶⁵: 3
// in a million at ten million URLs.
func Print(secret []byte, u canon.URL) Fingerprint {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(u.Key()))
	var sum [sha256.Size]byte
	p := Fingerprint(binary.BigEndian.Uint64(m.Sum(sum[:0])))
	return max(p, 1)
}

// SeedsOf returns all seeds of AllSeeds.
func SeedsOf(ctx context.Context, f interface {
	AllSeeds(ctx context.Context) iter.Seq2[Seed, error]
}) (seeds []Seed, err error) {
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}

// The words of the closed lists, by number, as in ledger, exports, reports and metrics.
var (
	kindWords      = []string{"", "seed", "link", "redirect", "embed", "sitemap", "map", "script"}
	outcomeWords   = []string{"", "fetched", "redirected", "disallowed", "failed", "gone", "dropped", "held"}
	conditionWords = []string{"open", "parked", "retired", "refused"}
	actWords       = []string{"", "park", "drop", "resume", "rest"}
)

// OutcomeWords returns the words of all outcomes.
func OutcomeWords() []string { return slices.Clone(outcomeWords[1:]) }

// String returns the word of k, or nothing for zero.
func (k Kind) String() string { return word(kindWords, k, "kind") }

// String returns the word of o.
func (o Outcome) String() string {
	if o == 0 {
		return "unknown outcome"
	}
	return word(outcomeWords, o, "outcome")
}

// String returns the word of c.
func (c Condition) String() string { return word(conditionWords, c, "condition") }

// String returns the word of a, or nothing for zero.
func (a Act) String() string { return word(actWords, a, "act") }

// MarshalText returns the word of k. Zero and unknown numbers are errors.
func (k Kind) MarshalText() ([]byte, error) { return marshal(kindWords, k, "kind") }

// MarshalText returns the word of o. Zero and unknown numbers are errors.
func (o Outcome) MarshalText() ([]byte, error) { return marshal(outcomeWords, o, "outcome") }

// MarshalText returns the word of c. Unknown numbers are errors.
func (c Condition) MarshalText() ([]byte, error) { return marshal(conditionWords, c, "condition") }

// MarshalText returns the word of a. Zero and unknown numbers are errors.
func (a Act) MarshalText() ([]byte, error) { return marshal(actWords, a, "act") }

// UnmarshalText reads the output of MarshalText.
func (k *Kind) UnmarshalText(b []byte) error { return unmarshal(kindWords, b, k, "kind") }

// UnmarshalText reads the output of MarshalText.
func (o *Outcome) UnmarshalText(b []byte) error { return unmarshal(outcomeWords, b, o, "outcome") }

// UnmarshalText reads the output of MarshalText.
func (c *Condition) UnmarshalText(b []byte) error {
	return unmarshal(conditionWords, b, c, "condition")
}

// UnmarshalText reads the output of MarshalText.
func (a *Act) UnmarshalText(b []byte) error { return unmarshal(actWords, b, a, "act") }

func word[T ~uint8](words []string, n T, what string) string {
	if int(n) >= len(words) {
		return "unknown " + what
	}
	return words[n]
}

func marshal[T ~uint8](words []string, n T, what string) ([]byte, error) {
	if int(n) >= len(words) || words[n] == "" {
		return nil, fmt.Errorf("frontier: no %s %d", what, uint8(n))
	}
	return []byte(words[n]), nil
}

func unmarshal[T ~uint8](words []string, b []byte, n *T, what string) error {
	i := slices.Index(words, string(b))
	if i < 0 || len(b) == 0 {
		return fmt.Errorf("no %s %.40q", what, b)
	}
	*n = T(i)
	return nil
}
