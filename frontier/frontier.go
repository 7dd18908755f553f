package frontier

import (
	"context"
	"errors"
	"iter"
	"time"

	"curtsy/frontier/canon"
)

// Frontier is what the package of an engine gives: the three parts of the contract in one. Whoever uses a frontier asks
// for the part that it needs.
//
// All methods may be called concurrently. After an error of its own state (a failed barrier, write or read) the engine is
// poisoned: every later call returns that error. ErrStale, ErrNotDue, ErrNoBlob, ErrClosed, ErrReadOnly, ErrNoSnapshot,
// the error of a context and a refused argument do not poison it; a refused argument (an octet string over its bound,
// say, with the authority's name in the error) changes nothing.
type Frontier interface {
	Engine
	Reader
	Operator
}

// Engine is what the turns of a crawl need.
type Engine interface {
	// Add accepts candidates that are new, in order, and returns when they are durable. A candidate of KindSeed
	// is also entered in the list of seeds, new or not.
	Add(ctx context.Context, cs []Candidate) (Added, error)

	// Claim blocks until at least one authority is due and leases up to w.Hosts of them, each with up to w.Tasks
	// tasks. It returns no turn when the frontier is Drained, or Waiting for longer than w.MaxWait. While any lease is
	// out the frontier is Busy, and Claim waits whatever MaxWait says.
	Claim(ctx context.Context, w Want) (Claimed, error)

	// ClaimAuthority leases one authority, known or not, with no tasks, for an exchange that another authority's
	// robots.txt redirects to. It never blocks, and is never called while holding another lease. When the authority
	// is leased, retired, refused, held by an operator or not due it returns ErrNotDue, and likewise when the frontier is
	// Full; a parked one whose time has come is due.
	ClaimAuthority(ctx context.Context, a canon.Authority) (Turn, error)

	// Finish ends turns (or, with Result.Keep, extends them). The answer has one Finished per Result, in order.
	Finish(ctx context.Context, rs []Result) ([]Finished, error)

	// Sync returns when everything applied before the call is durable.
	Sync(ctx context.Context) error

	// Quarantined returns the URLs that this opening has put in quarantine, as they were accepted.
	Quarantined(ctx context.Context) ([]Candidate, error)

	// Close makes everything applied durable, marks the stop as clean and releases the engine. Leases still out
	// are forgotten: their tasks are pending at the next open. The engine is released even when Close returns an error;
	// the stop is then unclean.
	Close() error
}

// Reader is what questions need. It changes nothing, and what it tells was true of one instant.
type Reader interface {
	// Seen reports for each URL whether it has been accepted. It may err towards false.
	Seen(ctx context.Context, us []canon.URL) ([]bool, error)

	// Entry returns the URL that became a task under the key of u, with its state; ok is false when none did. It may look
	// at all URLs: it is for people who ask about one, not for a crawl. Of a crawl that runs it tells what is durable.
	Entry(ctx context.Context, u canon.URL) (e Entry, ok bool, err error)

	// AllSeeds yields the seeds and the extensions of scope one by one, in the order they were added, for crawls that
	// have a million of them. The frontier can be used meanwhile: seeds that are added may be among those that come. An error is the last that is yielded.
	AllSeeds(ctx context.Context) iter.Seq2[Seed, error]

	// Blob returns the bytes kept under a SHA-256 by a Result, or ErrNoBlob.
	Blob(ctx context.Context, sum [32]byte) ([]byte, error)

	// Host returns what is kept of one authority; ok is false when it is unknown.
	Host(ctx context.Context, a canon.Authority) (h Host, ok bool, err error)

	// Hosts returns up to limit hosts in the order of their authorities, those after the given one.
	Hosts(ctx context.Context, after canon.Authority, limit int) ([]Host, error)

	// Survey looks at all hosts in one instant and returns what stands out, at most n hosts in each list.
	Survey(ctx context.Context, n int) (Survey, error)

	// Stats returns the totals, taken in one instant.
	Stats(ctx context.Context) (Stats, error)
}

// Operator is what people command, of a crawl that runs or of one that is stopped.
type Operator interface {
	// Add enters seeds, as Engine.Add does.
	Add(ctx context.Context, cs []Candidate) (Added, error)

	// Retry makes closed URLs pending again, and opens hosts, as an operator commands, and returns when that is durable.
	// A URL is what it was when it was accepted, at its old place in the queue, with no attempt counted. Of a host
	// under a lease, condition and robots state stay: its holder is about to say what they are. Candidates that were
	// refused never were tasks: nothing is kept of them that could be tried. After an error a part may have been done;
	// a repeat does the rest.
	Retry(ctx context.Context, r Retrial) (Retried, error)

	// Steer obeys an operator's command about a host or about URLs, and returns when that is durable. It touches no
	// lease: a turn that is out goes on, with no more tasks by Keep, and the command holds from its end. A command takes
	// the place of the one before. A Drop of a host that a death cuts short has been done when the frontier is opened
	// again, or has not begun.
	Steer(ctx context.Context, s Steering) (Steered, error)

	// Snapshot writes a copy of the frontier to the file at path, where there must be none, while the crawl goes on. All that
	// was applied before the call is in it. It is for an engine whose frontier nobody else can read meanwhile; any other
	// returns ErrNoSnapshot.
	Snapshot(ctx context.Context, path string) error
}

// Stored is a frontier that is opened to be read, while no crawl has it.
type Stored interface {
	Reader

	// Export gives yield the whole frontier, piece by piece, in the form that does not depend on an engine: see Item.
	Export(ctx context.Context, yield func(Item) error) error

	// List is Export for people: a URL is what Stats counts it as, also where the next opening will change that.
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

// Errors of an opening, to be asked for with errors.Is. They come with the place and with what to do.
var (
	ErrInUse   = errors.New("another process has the frontier open")             // one crawl, or several readers
	ErrNewer   = errors.New("the frontier was written by a newer version")       // its format number is beyond ours
	ErrOlder   = errors.New("the frontier was written before the first release") // its format number is below ours
	ErrDamaged = errors.New("the frontier is damaged")                           // cut off, spoilt, or no frontier at all

	// ErrReadOnly is the answer of an engine that is open for reading to what would change the frontier.
	ErrReadOnly = errors.New("the frontier is open for reading only")
)

// Bounds that every engine keeps.
const (
	GroupDelay = 200 * time.Millisecond // longest time from Finish to its commit
	GroupPages = 1000                   // most results in one commit
	MaxMemory  = 4 << 10                // octets of HostUpdate.Memory
	MaxRobots  = 8 << 10                // octets of HostUpdate.Robots
)

// Options are what an engine is opened with.
type Options struct {
	// Barrier is called before each commit and must make durable whatever the results about to be committed
	// rely on. Its error fails the commit. Nil means nothing to do.
	Barrier func(ctx context.Context) error

	// Tell is called before the Barrier of a commit that closes what an operator drops. Its error fails the commit. So
	// each is told before it is durable; after a death in between it is told again. Nil tells nobody.
	Tell func(ctx context.Context, c Closings) error

	// Shared is told, one call at a time, what changes in a frontier that several processes share: before a slot is used
	// that was taken, and before one is given that was used. It returns false when it cannot keep it yet, and is told again.
	// Nil tells nobody.
	Shared func(Share) bool

	// Say is told that a frontier on a server waits for it, and when it goes on. Nil means nobody.
	Say func(format string, args ...any)

	// Operator says that this opening is an operator's and no run's. An unclean stop before it stays one: a clean Close does
	// not take it from the run that follows, which may know from elsewhere what the stop made the frontier forget.
	Operator bool

	// LeaseLength is how long a turn may last. Zero means 40 minutes.
	LeaseLength time.Duration

	// Pace is what an authority, known or not, waits at least after an unclean stop, counted from the opening: what was
	// asked of it last may be lost. A clean stop before it is over leaves the rest of it to the next opening. Zero means none.
	Pace time.Duration

	// PaceOf is Pace for one authority, where some need not wait so long. More than Pace counts as Pace, less than zero as
	// zero. Nil means Pace for all. Engines call it while they hold locks: it only computes.
	PaceOf func(a canon.Authority) time.Duration

	// MaxURLs, MaxURLsPerDomain and MaxURLsPerAuthority cap the URLs that became tasks: of the crawl, of each registrable
	// domain (an address or a name without one counts as its own), of each authority. Zero means no cap. Seeds are not
	// capped, and refused candidates neither count nor are capped. A link over several caps is counted for the first of
	// them in the order of the reasons below.
	MaxURLs, MaxURLsPerDomain, MaxURLsPerAuthority int64

	// MaxSize bounds what the engine keeps, in octets of its file (or what stands for them). When it is reached but for a
	// reserve, no turn is given any more, and no more tasks with Keep: Claim answers Full at once, and the turns that are
	// out finish, with their links, in the reserve. Links that would go beyond MaxSize itself are dropped with ReasonCapSize. Zero means no bound.
	MaxSize int64

	// Order is the order of the tasks within a host. It is not kept: each opening says its own.
	Order Order
}

// RestartPace is what a waits at least after an unclean stop.
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
	DepthFirst                // the one that was accepted last comes first, also before what a turn has returned
)

// Reasons that the frontier itself gives.
const (
	// Of a link that a cap dropped, in the order in which caps are asked: Stats.Capped.
	ReasonCapSize   = "cap: database size"
	ReasonCapCrawl  = "cap: crawl"
	ReasonCapDomain = "cap: domain"
	ReasonCapHost   = "cap: host"

	ReasonOperator    = "operator"    // of a URL that Drop closed
	ReasonQuarantined = "quarantined" // of a URL that is Failed because it was alone in flight at QuarantineStops unclean stops
	ReasonReleased    = "released"    // of a task that was Held until a Retry: Task.Reason

	ReasonExpired = "lease expired" // not of a URL: the total, in Stats.Counts, of leases that expired
)

// QuarantineStops is how many unclean stops a task must have been alone in flight at to be quarantined. See the package
// comment.
const QuarantineStops = 3

// ErrLost is why a Member ends: it was silent for too long, and others have its hosts.
var ErrLost = errors.New("frontier: this member expired: other members own its hosts")

// Share is a change in what a member owns, and in the members that it knows.
type Share struct {
	Crawl, Dir    string            // identify the crawl, and the crawl directory of the member
	Taken, Given  []int             // slots (canon.Authority.Slot)
	Members       map[string]string // names of members that it did not know, itself among them, by Dir
	Asked, Server time.Time         // the server's clock, and when it was asked by the own
}

// Member is implemented by a Frontier that several processes share.
type Member interface {
	// Asking returns a context that ends, with ErrLost or the outage as its cause, when no request may be sent.
	Asking(ctx context.Context) (context.Context, context.CancelFunc)

	// MayAsk returns nil, or why no exchange may start now. It only reads a clock.
	MayAsk() error

	// Hurry bounds how long a call waits for the others, when the process is to end: those under way and those that follow
	// fail after within. What they were to commit is a matter of the next run.
	Hurry(within time.Duration)

	// OnSeed has f called with each seed and each extension of scope that any member commits, from those that AllSeeds does
	// not yield yet: before the first Claim of this member returns that began later. It is called before the first Claim.
	OnSeed(f func(canon.URL))
}

// Item is a piece of a whole frontier in the form that does not depend on an engine, so that a crawl can move from one
// to another. Exactly one field is set. The order is: one Head, Seeds, Blobs, Hosts, URLs in the order of their
// acceptance (each after its host), Refused, one Totals, which is the end.
type Item struct {
	Head    *Head
	Seed    *Seed
	Blob    []byte
	Host    *Host // its counts of URLs are for people: they follow from the URLs and from Strange
	URL     *Entry
	Refused []Fingerprint // of refused candidates, or URLs whose texts were let go: in the seen-set, nothing else is kept
	Totals  *Totals
}

// Head begins a frontier.
type Head struct {
	Secret   []byte        // of Print
	Openings int64         // so far: tokens of an older frontier must be stale in a newer one
	Unclean  bool          // the last stop was not a Close; what was in flight at it has that in its Stops already
	Floor    time.Duration // what the last Close left of the Options.Pace of an unclean stop before
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
	Replaced  canon.URL     // the fetch URL that a redirect to its own key put in its place; zero for none
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
