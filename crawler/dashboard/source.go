package dashboard

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/control"
	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// Source is a crawl to look at. Its methods may be called concurrently, but for Decisions.
type Source interface {
	// Name is what people call the crawl: its directory.
	Name() string
	Look(ctx context.Context) (Look, error)
	Hosts(ctx context.Context, q status.Query) (status.Page, error)
	Host(ctx context.Context, a canon.Authority) (status.One, error)
	Explain(ctx context.Context, u canon.URL) (explain.Explanation, error)
	// Decisions returns those that came since the call before, the last ones of more than most, and how many were passed
	// over. It is called by one goroutine.
	Decisions(most int) (lines []storage.Line, passed int64, err error)
	// Gaps returns the pauses that were kept between exchanges with a host, the last ones of more than most.
	Gaps(ctx context.Context, a canon.Authority, most int) ([]Gap, error)
	// Settings are those that an operator may change.
	Settings(ctx context.Context) (Settings, error)
	// Acts are what operators did, the last first. It may be called beside Decisions, which reads them.
	Acts() []ledger.Mark
	// Try says what would come of a change, and changes nothing. It is ErrReadOnly as Do is.
	Try(ctx context.Context, c control.Change) (control.Changed, error)
	// Do obeys an operator and says what came of it. It is ErrReadOnly for a crawl that takes no orders now.
	Do(ctx context.Context, a Act) (said string, err error)
}

// Look is a crawl at a glance.
type Look struct {
	status.Look
	Disk    Disk
	Running bool // it takes orders
}

// Disk is what a crawl takes, in octets.
type Disk struct {
	Archive  int64 `json:"archive_bytes"`
	Ledger   int64 `json:"ledger_bytes"`
	Frontier int64 `json:"frontier_bytes"`
	Free     int64 `json:"free_bytes,omitempty"` // for whoever crawls; zero where the system does not say
}

// Gap is a pause between two exchanges with a host.
type Gap struct {
	Kept, Due time.Duration
	By        storage.PaceBy // who asked for it
}

// ErrReadOnly says that a crawl does not run, and takes no orders.
var ErrReadOnly = errors.New("the crawl is not running; see curtsy frontier")

// The verbs of an Act. None of them lowers politeness: what a host is owed it gets.
const (
	ActPause   = "pause"   // begin no exchange
	ActGoOn    = "unpause" // end a pause
	ActDrain   = "drain"   // end the crawl
	ActPark    = "park"    // give a host no turn
	ActRelease = "release" // end that, or open a host that is retired or refused
	ActDrop    = "drop"    // close what is pending of a host, and refuse more
	ActRetry   = "retry"   // try again what failed at a host
	ActSeed    = "seed"    // add a seed
	ActChange  = "change"  // change a setting
)

// Act is what an operator wants.
type Act struct {
	Verb   string
	Host   canon.Authority  // of park, release, drop and retry
	For    time.Duration    // of park; zero for without an end
	Reason string           // why, for people: the ledger has it
	What   frontier.Outcome // of retry
	Seed   canon.URL
	Change control.Change
}

// Settings are those that an operator may change, as crawl.toml writes them.
type Settings struct {
	Budgets          map[string]string // by their names, stop-when and window among them
	Include, Exclude []string
	Delay            string // of all hosts
	Hosts            []HostDelay
	OptOuts          []string // files of lists
}

// HostDelay is a longer pause of some hosts.
type HostDelay struct{ Match, Delay string }
