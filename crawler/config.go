package crawler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"sync/atomic"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/optout"
)

// Floor is the shortest pause between two exchanges with a host that is not the operator's own (politeness rule 9).
const Floor = time.Second

// LeastIPDelay is the shortest Config.IPDelay (politeness rule 10).
const LeastIPDelay = 100 * time.Millisecond

// The defaults of Config. What has none here has no limit, or is off.
const (
	DefaultAgent         = "curtsy" // product token
	DefaultWorkers       = 64
	DefaultIPDelay       = 500 * time.Millisecond
	DefaultMaxCrawlDelay = 300 * time.Second
	DefaultMaxWait       = 10 * time.Minute
)

// DefaultFollowRel are the words of rel with which links are followed unless Config says otherwise.
func DefaultFollowRel() []string { return []string{"ugc", "sponsored"} }

// Config is what a crawl needs. The zero value of each setting means its default.
type Config struct {
	Frontier frontier.Frontier // its Options.Barrier must be record.Barrier(Recorder, Ledger)
	Fetcher  fetcher
	// Member says whether requests may be sent, when several processes share Frontier. Nil means that it is not shared.
	Member  frontier.Member
	Proxied bool // requests go through a proxy, all or some of them
	// SignsIn reports whether Fetcher has credentials for an authority. They go to it while it is own; the run ends
	// where it should prove that, and does not. Nil means none.
	SignsIn  func(canon.Authority) bool
	Recorder storage.Recorder
	Ledger   storage.Ledger

	// Last, if not nil, gives the last lines of the ledger that say a rest (storage.Line.Rest) or are of a page
	// (storage.Line.IsPage). The ledger may know of exchanges that the frontier does not, after a kill above all.
	Last iter.Seq2[storage.Line, error]
	// Asked, if not nil, sums up the exchanges of the ledger, for such a run to count those that the frontier did not.
	Asked func() (storage.Asked, error)

	tagged bool // pages are counted by tag: the seeds have no more than maxTags

	Identity fetch.Identity
	Scope    scope.Config
	Traps    trap.Limits // of the traps that need a host's history (politeness rule 22); Scope has the others

	// Standard is the document that robots.txt is read by. Beside RFC 9309, the zero value, an older one may only add
	// refusals: a URL needs the leave of both (politeness rule 6).
	Standard robots.Standard

	// Sitemaps are the sitemaps to read.
	Sitemaps Sitemaps

	Workers int // exchanges in flight in all; zero means 64

	// Delay is the shortest pause between two exchanges with an authority, from the end of one to the start of the
	// next. Below Floor it acts on own hosts only. Negative means zero; zero means Floor.
	Delay time.Duration
	// IPDelay is the shortest time between the starts of two exchanges at one address (IPv4, or IPv6 /64), whatever hosts
	// are there; own hosts are exempt. Zero means 500 ms; less than 100 ms is refused (politeness rule 10).
	IPDelay time.Duration
	// HostLocks keep this crawl and others of the same user from asking a host at once; own hosts are exempt. Nil means
	// that there are no others (politeness rule 17).
	HostLocks hostLocks
	// MaxCrawlDelay is the longest Crawl-delay that is waited for; a host that asks for more leaves the run and is
	// reported. Zero means 300 s.
	MaxCrawlDelay time.Duration
	// LoopbackForeign treats loopback hosts like any other. By default they are the operator's own (politeness rule 18).
	LoopbackForeign bool

	// OwnSites are names of public hosts that the operator says are their own. Each is own only while it holds the proof
	// for OwnKey: see OwnerValue.
	OwnSites []string
	OwnKey   []byte
	// PerHost is how many exchanges an own host may have in flight while its effective pace is zero. Zero means 1.
	PerHost int

	// LinkCheck is set for a run that tests links. A page of an own host that fails is a finding: the host does not back off, and
	// the URL is requested again once, after all others. A host that only links off the scope lead to, and that accepts no
	// connection, is tried twice, seconds apart.
	LinkCheck bool

	// Previews also fetches the pictures that pages name for others to show: og:image and the like. By default these are
	// no requisites.
	Previews bool

	// Follow says in which documents other than pages links are followed, too.
	Follow extract.Follow

	MaxPages   int64 // 2xx HTML answers; zero means no limit
	MaxPerHost int64 // likewise, for each authority
	// MaxPerDomain and MaxPerTag are likewise, for each registrable domain, and for all that descends from the seeds with one
	// tag. What has no tag has no such limit.
	MaxPerDomain, MaxPerTag int64
	MaxBytes                int64         // octets received, as they crossed the connection; zero means no limit
	MaxTime                 time.Duration // of this run; zero means no limit
	MaxBody                 int64         // decoded octets of one body; zero means the fetcher's
	MaxWait                 time.Duration // the run ends when nothing is due within it; zero means 10 min

	// Window is when hosts may be asked for anything. Outside of it the run begins no exchange; it ends when the next opening
	// is more than MaxWait away. The time of MaxTime goes on meanwhile. Without any spans it is always open.
	Window hostrule.Spans

	// ExternalAge is for how long a leaf (scope.Config.External) that was there is not asked for again. Zero asks each time.
	ExternalAge time.Duration

	// StopWhen are conditions, each of which ends the run.
	StopWhen []budget.Condition

	// Hosts are what the operator sets for some hosts alone. Each only asks for more consideration. Their patterns are those
	// of Scope.Hosts, and their daily budgets those of Daily.
	Hosts hostrule.Rules

	// Daily, if not nil, caps the requests to each host within 24 hours; it knows those of earlier runs. Own hosts count
	// like others, and have one exchange at a time then.
	Daily *budget.Daily

	// DryRun asks each host for its robots.txt, and for nothing else but DryMaps of its sitemaps: those of Sitemaps. What
	// these list is told to DryListed, which several goroutines may call at once, and is not pending then. Rule is the name
	// of the scope's rule that keeps the URL out; empty for a URL that is in.
	DryRun    bool
	DryMaps   int
	DryListed func(u canon.URL, rule string)

	// OptOut are the lists of those who do not want to be crawled; they win over everything (politeness rule 16). Its Addr
	// belongs into fetch.Config.Refuse, so that addresses count, too. Nil means none.
	OptOut *optout.Watch
	// KeepNoArchive keeps the bodies of pages that ask not to be archived (politeness rule 19).
	KeepNoArchive bool
	// FollowRel are the words of rel with which links are followed: of nofollow, ugc and sponsored, or none alone. Nil
	// means ugc and sponsored (politeness rule 19).
	FollowRel []string

	// Past is what was archived before this generation of the crawl. Nil means that it is the first one; else pages are
	// asked for on condition, and lines say what changed (politeness rule 21).
	Past record.Past

	// Log receives plain sentences for the operator. Nil means none.
	Log func(format string, args ...any)

	changed *atomic.Pointer[Terms] // what an operator has changed since; nil for a crawl that is not to run
}

// fetcher makes one exchange. *fetch.Fetcher is one.
type fetcher interface {
	Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error)
	// Addresses returns the addresses that an exchange with a may go to, in the order to be tried; none where a proxy looks
	// the name up. The error is a *fetch.Failure, or that of ctx.
	Addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error)
	CloseIdle(a canon.Authority)
}

// AtOnce is how many exchanges a crawl of so many workers has under way at most, those with slow hosts among them.
func AtOnce(workers int) int { return record.NewLimiter(workers).Most() }

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	switch {
	case c.Frontier == nil || c.Fetcher == nil || c.Recorder == nil || c.Ledger == nil:
		return errors.New("crawler: a frontier, a fetcher, a recorder and a ledger are required")
	case c.Workers < 0:
		return fmt.Errorf("crawler: workers: %d is less than 1", c.Workers)
	case c.MaxPages < 0 || c.MaxPerHost < 0 || c.MaxPerDomain < 0 || c.MaxPerTag < 0 || c.MaxBytes < 0 || c.MaxBody < 0 || c.MaxTime < 0:
		return errors.New("crawler: a budget is negative; leave it out for no limit")
	case c.IPDelay != 0 && c.IPDelay < LeastIPDelay:
		return fmt.Errorf("crawler: ip-delay: %v is less than %v", c.IPDelay, LeastIPDelay)
	case c.MaxWait < 0 || c.MaxCrawlDelay < 0:
		return errors.New("crawler: max-wait and max-crawl-delay cannot be negative")
	case c.PerHost < 0:
		return fmt.Errorf("crawler: per host: %d is less than 1", c.PerHost)
	case len(c.OwnSites) > 0 && len(c.OwnKey) < 16:
		return errors.New("crawler: own sites need a key for their proof")
	}
	if _, err := extract.ParseRels(c.FollowRel); err != nil {
		return fmt.Errorf("crawler: follow-rel: %w", err)
	}
	if err := c.Hosts.Check(Floor); err != nil {
		return fmt.Errorf("crawler: %w", err)
	}
	if err := c.Traps.Check(); err != nil {
		return err
	}
	return c.Identity.Validate()
}

// LeastPause is the pause that an exchange with a is followed by at least, whatever a asks for. That of a host which has
// proved that it is the operator's own may be shorter: see Delay.
func (c Config) LeastPause(a canon.Authority) time.Duration {
	c.Delay = c.delay()
	return c.floor(a)
}

// delay is Delay with zero, and what means zero, replaced.
func (c Config) delay() time.Duration {
	if c.Delay == 0 {
		return Floor
	}
	return max(c.Delay, 0)
}

// withDefaults returns c with every zero setting replaced.
func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = DefaultWorkers
	}
	c.Delay = c.delay()
	if c.IPDelay == 0 {
		c.IPDelay = DefaultIPDelay
	}
	if c.MaxCrawlDelay == 0 {
		c.MaxCrawlDelay = DefaultMaxCrawlDelay
	}
	if c.MaxWait == 0 {
		c.MaxWait = DefaultMaxWait
	}
	if c.Identity.Token == "" {
		c.Identity.Token = DefaultAgent
	}
	if c.FollowRel == nil {
		c.FollowRel = DefaultFollowRel()
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c
}

// own reports whether a is the operator's own host, where Delay may go below Floor (politeness rule 18): a loopback
// address or the name localhost.
func (c Config) own(a canon.Authority) bool {
	return !c.LoopbackForeign && a.Loopback()
}

// floor is the pause that a always gets.
func (c Config) floor(a canon.Authority) time.Duration {
	t := c.terms()
	set := t.Hosts.Of(a).Delay
	if c.own(a) {
		return max(c.Delay, set)
	}
	return max(c.Delay, set, Floor)
}

// maxPerHost is how many pages of a there may be; zero means no limit.
func (c *Config) maxPerHost(a canon.Authority) int64 {
	t := c.terms()
	most, set := t.MaxPerHost, t.Hosts.Of(a).MaxPerHost
	if most == 0 || set > 0 && set < most {
		return set
	}
	return most
}

// Gate returns the gate of a crawl with these settings, over the bodies of its frontier.
func (c Config) Gate() *gate.Gate {
	return gate.New(c.Frontier, c.withDefaults().Identity.Token, c.Standard)
}
