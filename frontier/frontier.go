package frontier

import (
	"context"
	"errors"
	"iter"
	"time"

	"curtsy/frontier/canon"
)

// Frontier is the contract of an engine, in three parts; functions take the part that they need.
//
// All methods are safe for concurrent use. After an internal error (a failed barrier, write or read) the engine
// is poisoned: every later call returns that error. ErrStale, ErrNotDue, ErrNoBlob, ErrClosed, ErrReadOnly,
// ErrNoSnapshot, the error of a context and a refused argument do not poison it; a refused argument (such as an
// oversized value, with the authority in the error) changes nothing.
type Frontier interface {
	Engine
	Reader
	Operator
}

// Engine is the part for the turns of a crawl.
type Engine interface {
	// Add accepts new candidates, in order, and returns when they are durable. A candidate of KindSeed is also added to
	// the list of seeds, new or not.
	Add(ctx context.Context, cs []Candidate) (Added, error)

	// Claim blocks until at least one authority is due and leases up to w.Hosts of them, each with up to w.Tasks
	// tasks. It returns no turn when the frontier is Drained, or Waiting for longer than w.MaxWait. While any lease is
	// out the frontier is Busy, and Claim waits regardless of MaxWait.
	Claim(ctx context.Context, w Want) (Claimed, error)

	// ClaimAuthority leases one authority, known or not, without tasks, for an exchange to which the robots.txt of
	// another authority redirects. It never blocks, and is never called while holding another lease. It returns
	// ErrNotDue when the authority is leased, retired, refused, held by an operator or not due, or the frontier is
	// Full; a parked authority whose wait is over is due.
	ClaimAuthority(ctx context.Context, a canon.Authority) (Turn, error)

	// Finish ends turns (or, with Result.Keep, extends them). It returns one Finished per Result, in order.
	Finish(ctx context.Context, rs []Result) ([]Finished, error)

	// Sync returns when everything applied before the call is durable.
	Sync(ctx context.Context) error

	// Quarantined returns the URLs that this opening has quarantined, as they were accepted.
	Quarantined(ctx context.Context) ([]Candidate, error)

	// Close makes everything applied durable, marks the stop as clean and releases the engine. Leases that are out end:
	// their tasks are pending at the next open. The engine is released even after an error; the stop is then
	// unclean.
	Close() error
}

// Reader is the part for questions. It changes nothing, and each result is the state at one instant.
type Reader interface {
	// Seen reports for each URL whether it has been accepted. It may err towards false.
	Seen(ctx context.Context, us []canon.URL) ([]bool, error)

	// Entry returns the URL that became a task under the key of u, with its state; ok is false when none did. It may
	// read all URLs: it is for people, not for a crawl. During a crawl it returns the durable state.
	Entry(ctx context.Context, u canon.URL) (e Entry, ok bool, err error)

	// AllSeeds yields the seeds and the extensions of scope one by one, in the order they were added. The frontier can
	// be used meanwhile, and may yield seeds that are added. An error is yielded last.
	AllSeeds(ctx context.Context) iter.Seq2[Seed, error]

	// Blob returns the bytes that a Result stored under a SHA-256, or ErrNoBlob.
	Blob(ctx context.Context, sum [32]byte) ([]byte, error)

	// Host returns the state of one authority; ok is false when it is unknown.
	Host(ctx context.Context, a canon.Authority) (h Host, ok bool, err error)

	// Hosts returns up to limit hosts after the given one, in the order of their authorities.
	Hosts(ctx context.Context, after canon.Authority, limit int) ([]Host, error)

	// Survey returns notable hosts of one instant, at most n in each list.
	Survey(ctx context.Context, n int) (Survey, error)

	Stats(ctx context.Context) (Stats, error)
}

// Operator is the part for operators, of a running or a stopped crawl.
type Operator interface {
	// Add adds seeds, as Engine.Add does.
	Add(ctx context.Context, cs []Candidate) (Added, error)

	// Retry makes closed URLs pending again, and opens hosts, and returns when that is durable. A URL is as it was when
	// it was accepted, at its old place in the queue, without a counted attempt. Condition and robots state of a leased
	// host stay: its holder is about to set them. Refused candidates never were tasks and cannot be retried. After an
	// error a part may be done; a repeat does the rest.
	Retry(ctx context.Context, r Retrial) (Retried, error)

	// Steer carries out an operator's command about a host or about URLs, and returns when that is durable. A lease
	// that is out continues, without more tasks by Keep, and the command applies from its end. A command replaces the
	// one before. A Drop of a host that a crash cuts short is either complete at the next opening, or has not begun.
	Steer(ctx context.Context, s Steering) (Steered, error)

	// Snapshot writes a copy of the frontier to the file at path, which must not exist, while the crawl continues. It
	// includes everything applied before the call. An engine whose frontier others can read meanwhile returns
	// ErrNoSnapshot.
	Snapshot(ctx context.Context, path string) error
}

// Stored is a frontier that is open for reading while no crawl uses it.
type Stored interface {
	Reader

	// Export gives yield the whole frontier, piece by piece, independent of the engine: see Item.
	Export(ctx context.Context, yield func(Item) error) error

	// List is Export for people: each URL has the state that Stats counts, also where the next opening will change it.
	List(ctx context.Context, yield func(Item) error) error

	// Close releases the frontier.
	Close() error
}

// Errors of the contract.
var (
	ErrStale  = errors.New("frontier: the lease is stale: it has ended or expired")
	ErrNotDue = errors.New("frontier: the authority is leased or not due yet")
	ErrNoBlob = errors.New("frontier: no blob with that digest")
	ErrClosed = errors.New("frontier: closed")

	ErrNoSnapshot = errors.New("frontier: this engine writes no snapshots")
)

// Errors of an opening, for errors.Is. They come with the place and with advice.
var (
	ErrInUse   = errors.New("another process has the frontier open")             // one crawl, or several readers
	ErrNewer   = errors.New("the frontier was written by a newer version")       // its format number is higher
	ErrOlder   = errors.New("the frontier was written before the first release") // its format number is lower
	ErrDamaged = errors.New("the frontier is damaged")                           // cut off, spoilt, or not a frontier

	// ErrReadOnly is returned by an engine that is open for reading.
	ErrReadOnly = errors.New("the frontier is open for reading only")
)

// Bounds that every engine keeps.
const (
	GroupDelay = 200 * time.Millisecond // longest time from Finish to its commit
	GroupPages = 1000                   // most results in one commit
	MaxMemory  = 4 << 10                // octets of HostUpdate.Memory
	MaxRobots  = 8 << 10                // octets of HostUpdate.Robots
)

// Options are the options of an opening.
type Options struct {
	// Barrier is called before each commit and must make durable everything that the results of the commit rely on. Its
	// error fails the commit. Nil does nothing.
	Barrier func(ctx context.Context) error

	// Tell is called before the Barrier of a commit that closes URLs that an operator drops. Its error fails the
	// commit. So each closing is reported before it is durable; after a crash in between it is reported again. Nil
	// reports nothing.
	Tell func(ctx context.Context, c Closings) error

	// Shared is called, one call at a time, with changes in a frontier that several processes share: before a slot is
	// used that was taken, and before one is given that was used. It returns false when it cannot record them yet, and
	// is called again. Nil ignores them.
	Shared func(Share) bool

	// Say reports when a frontier waits for its server, and when it continues. Nil reports nothing.
	Say func(format string, args ...any)

	// Operator marks an opening by an operator. Its clean Close leaves an earlier unclean stop to the next run, which
	// may know the lost results from another source.
	Operator bool

	// LeaseLength is how long a turn may last. Zero means 40 minutes.
	LeaseLength time.Duration

	// Pace is the least wait of an authority, known or not, after an unclean stop, counted from the opening: its last
	// request may be lost. A clean stop before it is over leaves the rest to the next opening. Zero means no wait.
	Pace time.Duration

	// PaceOf is Pace for one authority. More than Pace counts as Pace, less than zero as zero. Nil means Pace for all.
	// Engines call it while they hold locks: it only computes.
	PaceOf func(a canon.Authority) time.Duration

	// MaxURLs, MaxURLsPerDomain and MaxURLsPerAuthority cap the URLs that became tasks: of the crawl, of each
	// registrable domain (an address or a name without one counts as its own), of each authority. Zero means no cap.
	// Seeds are not capped, and refused candidates neither count nor are capped. A link over several caps counts for
	// the first in the order of the reasons below.
	MaxURLs, MaxURLsPerDomain, MaxURLsPerAuthority int64

	// MaxSize bounds the bytes of the engine's file (or their equivalent). When only a reserve is left, the engine
	// gives no turn, nor further tasks with Keep: Claim returns Full at once, and the turns that are out finish, with
	// their links, in the reserve. Links beyond MaxSize itself are dropped with ReasonCapSize. Zero means no bound.
	MaxSize int64

	// Order is the order of the tasks within a host. It is not stored: each opening sets it.
	Order Order
}

// RestartPace returns the least wait of a after an unclean stop.
func (o Options) RestartPace(a canon.Authority) time.Duration {
	if o.PaceOf == nil {
		return o.Pace
	}
	return max(min(o.PaceOf(a), o.Pace), 0)
}

// Order is an order of the tasks within a host.
type Order uint8

// The orders.
const (
	BreadthFirst Order = iota // in the order of acceptance
	DepthFirst                // last accepted first, also before tasks that a turn has returned
)

// Reasons that the frontier itself gives.
const (
	// Of a link that a cap dropped, in the order in which caps apply: Stats.Capped.
	ReasonCapSize   = "cap: database size"
	ReasonCapCrawl  = "cap: crawl"
	ReasonCapDomain = "cap: domain"
	ReasonCapHost   = "cap: host"

	ReasonOperator    = "operator"    // of a URL that Drop closed
	ReasonQuarantined = "quarantined" // of a URL that is Failed because it was alone in flight at QuarantineStops unclean stops
	ReasonReleased    = "released"    // of a task that was Held until a Retry: Task.Reason

	ReasonExpired = "lease expired" // not of a URL: the total, in Stats.Counts, of leases that expired
)

// QuarantineStops is the number of unclean stops alone in flight after which a task is quarantined. See the package
// comment.
const QuarantineStops = 3

// ErrLost is the error of a Member that was silent for too long: others have its hosts.
var ErrLost = errors.New("frontier: this member expired: other members own its hosts")

// Share is a change in the slots and the known members of a member.
type Share struct {
	Crawl, Dir    string            // identify the crawl, and the crawl directory of the member
	Taken, Given  []int             // slots (canon.Authority.Slot)
	Members       map[string]string // names of new members, itself included, by Dir
	Asked, Server time.Time         // the server's clock, and the member's own when it asked
}

// Member is implemented by a Frontier that several processes share.
type Member interface {
	// Asking returns a context that ends, with ErrLost or the outage as its cause, when no request may be sent.
	Asking(ctx context.Context) (context.Context, context.CancelFunc)

	// MayAsk returns nil, or why no exchange may start now. It only reads a clock.
	MayAsk() error

	// Hurry bounds how long a call waits for the server when the process is to end: current and later calls fail after
	// within. The next run repeats their work.
	Hurry(within time.Duration)

	// OnSeed has f called with each seed and each extension of scope that any member commits and AllSeeds does not
	// yield yet, before a Claim of this member returns that began later. Call it before the first Claim.
	OnSeed(f func(canon.URL))
}

// Item is a piece of a whole frontier, independent of the engine, so that a crawl can move to another. Exactly one
// field is set. The order is: one Head, Seeds, Blobs, Hosts, URLs in the order of their acceptance (each after its
// host), Refused, one Totals, which is the end.
type Item struct {
	Head    *Head
	Seed    *Seed
	Blob    []byte
	Host    *Host // its counts of URLs are for people: they follow from the other items
	URL     *Entry
	Refused []Fingerprint // of refused candidates, or URLs without their texts: only in the seen-set
	Totals  *Totals
}

// Head begins a frontier.
type Head struct {
	Secret   []byte        // of Print
	Openings int64         // so far: tokens of an older frontier are stale in a newer one
	Unclean  bool          // the last stop was not a Close; Stops include it
	Floor    time.Duration // rest of Options.Pace after an unclean stop, at the last Close
}

// Entry is a URL that became a task, with its state.
type Entry struct {
	Candidate // as it was accepted
	Print     Fingerprint
	Outcome   Outcome // zero while it is pending
	Reason    string  // of the outcome; of a pending one, why its last attempt was deferred
	Attempts  int
	Deferred  bool
	Wait      time.Duration // of a deferred one, until it is due
	Replaced  canon.URL     // the fetch URL after a redirect to its own key; zero for none
	Stops     int           // unclean stops at which it was in flight
	Alone     int           // of these, alone
}

// Totals are the sums that do not follow from hosts and URLs.
type Totals struct {
	Refused map[canon.Authority]int64 // refused candidates of known hosts
	Strange int64                     // refused candidates of hosts that are not known
	Reasons map[string]int64          // refused candidates by reason
	Capped  map[string]int64
	Counts  map[string]int64
}
