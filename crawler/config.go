package crawler

import (
	"cmp"
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

// Floor is the shortest delay between two exchanges with a third-party host (politeness rule 9).
const Floor = time.Second

// LeastIPDelay is the shortest Config.IPDelay (politeness rule 10).
const LeastIPDelay = 100 * time.Millisecond

// The defaults of Config. Other settings have no limit, or are off.
const (
	DefaultAgent         = "curtsy" // product token
	DefaultWorkers       = 64
	DefaultIPDelay       = 500 * time.Millisecond
	DefaultMaxCrawlDelay = 300 * time.Second
	DefaultMaxWait       = 10 * time.Minute
)

// DefaultFollowRel returns the default of Config.FollowRel.
func DefaultFollowRel() []string { return []string{"ugc", "sponsored"} }

// Config has the settings and parts of a crawl. The zero value of each setting means its default.
type Config struct {
	Frontier frontier.Frontier // its Options.Barrier must be record.Barrier(Recorder, Ledger)
	Fetcher  fetcher
	// Member reports whether this process may send requests, if several share Frontier. Nil means that it is not shared.
	Member  frontier.Member
	Proxied bool // some or all requests go through a proxy
	// SignsIn reports whether Fetcher has credentials for an authority. They are sent while it is own; the run ends if it
	// does not prove that. Nil means none.
	SignsIn  func(canon.Authority) bool
	Recorder storage.Recorder
	Ledger   storage.Ledger

	// Last, if not nil, yields the last lines of the ledger with a back-off (storage.Line.Rest) or a page
	// (storage.Line.IsPage). After a kill the ledger has exchanges that the frontier lacks.
	Last iter.Seq2[storage.Line, error]
	// Asked, if not nil, sums up the exchanges of the ledger, to count those that the frontier lacks.
	Asked func() (storage.Asked, error)

	tagged bool // pages are counted by tag: the seeds have at most maxTags

	Identity fetch.Identity
	Scope    scope.Config
	Traps    trap.Limits // of the traps that need a host's history (politeness rule 22); Scope has the others

	// Standard is the document that robots.txt is read by. An older one than RFC 9309, the zero value, can only add
	// refusals: both must allow a URL (politeness rule 6).
	Standard robots.Standard

	Sitemaps Sitemaps

	Workers int // exchanges in flight in all; zero means 64

	// Delay is the shortest time from the end of one exchange with an authority to the start of the next. Values below
	// Floor apply to own hosts only. Negative means zero; zero means Floor.
	Delay time.Duration
	// IPDelay is the shortest time between the starts of two exchanges at one address (IPv4, or IPv6 /64); own hosts are
	// exempt. Zero means 500 ms; the minimum is 100 ms (politeness rule 10).
	IPDelay time.Duration
	// HostLocks keep the crawls of one user from sending requests to a host at once; own hosts are exempt. Nil means that
	// there are no others (politeness rule 17).
	HostLocks hostLocks
	// MaxCrawlDelay is the longest Crawl-delay to wait for; a host that asks for more leaves the run. Zero means 300 s.
	MaxCrawlDelay time.Duration
	// LoopbackForeign treats loopback hosts as third-party. By default they are the operator's own (politeness rule 18).
	LoopbackForeign bool

	// OwnSites are public hosts that the operator claims. Each is own only while it has the proof for OwnKey: see OwnerValue.
	OwnSites []string
	OwnKey   []byte
	// PerHost is how many exchanges an own host may have in flight while its effective delay is zero. Zero means 1.
	PerHost int

	// LinkCheck is set for a run that tests links. A failing page of an own host is a finding: the host does not back off, and
	// the URL is requested once more, after all others. A host that only links off the scope lead to, and that accepts no
	// connection, is tried twice, seconds apart.
	LinkCheck bool

	Previews bool           // also fetch og:image and the like
	Follow   extract.Follow // documents other than pages whose links are followed

	MaxPages   int64 // 2xx HTML responses; zero means no limit
	MaxPerHost int64 // of each authority
	// MaxPerDomain limits a registrable domain, MaxPerTag all URLs found from the seeds with one tag.
	MaxPerDomain, MaxPerTag int64
	MaxBytes                int64         // received, as they crossed the connection; zero means no limit
	MaxTime                 time.Duration // of this run; zero means no limit
	MaxBody                 int64         // decoded bytes of one body; zero means the fetcher's
	MaxWait                 time.Duration // the run ends when nothing is due within it; zero means 10 min

	// Window is when requests may be sent. The run ends when the next opening is more than MaxWait away; MaxTime includes
	// the time outside. Without spans it is always open.
	Window hostrule.Spans

	// ExternalAge is how long a leaf (scope.Config.External) that was there is not requested again. Zero requests it each time.
	ExternalAge time.Duration

	StopWhen []budget.Condition // each ends the run

	// Hosts are settings for some hosts, which can only restrict. Their patterns are in Scope.Hosts, their daily budgets in Daily.
	Hosts hostrule.Rules

	// Daily, if not nil, caps the requests to each host within 24 hours, over all runs. Own hosts count like others, and then
	// have one exchange at a time.
	Daily *budget.Daily

	// DryRun requests only robots.txt of each host, and up to DryMaps of its sitemaps. DryListed gets their entries, with the
	// scope rule that keeps one out, or "" for one in scope. It may be called concurrently.
	DryRun    bool
	DryMaps   int
	DryListed func(u canon.URL, rule string)

	// OptOut are the opt-out lists, which override everything (politeness rule 16). Set fetch.Config.Refuse to its Addr, so
	// that networks count. Nil means none.
	OptOut *optout.Watch
	// KeepNoArchive keeps the bodies of pages that ask not to be archived (politeness rule 19).
	KeepNoArchive bool
	// FollowRel are the rel values whose links are followed: of nofollow, ugc and sponsored, or only none. Nil means ugc and
	// sponsored (politeness rule 19).
	FollowRel []string

	// Past has the archive before this generation. With it, requests are conditional, and lines name changes (politeness
	// rule 21). Nil means the first generation.
	Past record.Past

	// Log receives sentences for the operator. Nil means none.
	Log func(format string, args ...any)

	changed *atomic.Pointer[Terms] // by the operator; nil for a crawl that does not run
}

// fetcher makes one exchange. *fetch.Fetcher is one.
type fetcher interface {
	Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error)
	// Addresses returns the addresses of a in the order to try; none if a proxy looks up the name. The error is a
	// *fetch.Failure, or that of ctx.
	Addresses(ctx context.Context, a canon.Authority) ([]netip.AddrPort, error)
	CloseIdle(a canon.Authority)
}

// AtOnce returns the most exchanges that so many workers have under way, including those with slow hosts.
func AtOnce(workers int) int { return record.NewLimiter(workers).Most() }

// Validate returns the first invalid setting as an error.
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

// LeastPause returns the shortest delay of a host that is not proved own.
func (c Config) LeastPause(a canon.Authority) time.Duration {
	c.Delay = c.delay()
	return c.floor(a)
}

func (c Config) delay() time.Duration {
	if c.Delay == 0 {
		return Floor
	}
	return max(c.Delay, 0)
}

func (c Config) withDefaults() Config {
	c.Workers, c.Delay = cmp.Or(c.Workers, DefaultWorkers), c.delay()
	c.IPDelay, c.MaxWait = cmp.Or(c.IPDelay, DefaultIPDelay), cmp.Or(c.MaxWait, DefaultMaxWait)
	c.MaxCrawlDelay = cmp.Or(c.MaxCrawlDelay, DefaultMaxCrawlDelay)
	c.Identity.Token = cmp.Or(c.Identity.Token, DefaultAgent)
	if c.FollowRel == nil {
		c.FollowRel = DefaultFollowRel()
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c
}

// own reports whether a is own without a proof (politeness rule 18).
func (c Config) own(a canon.Authority) bool { return !c.LoopbackForeign && a.Loopback() }

func (c Config) floor(a canon.Authority) time.Duration {
	t := c.terms()
	set := t.Hosts.Of(a).Delay
	if c.own(a) {
		return max(c.Delay, set)
	}
	return max(c.Delay, set, Floor)
}

// maxPerHost returns the limit of pages of a; zero means none.
func (c *Config) maxPerHost(a canon.Authority) int64 {
	t := c.terms()
	most, set := t.MaxPerHost, t.Hosts.Of(a).MaxPerHost
	if most == 0 || set > 0 && set < most {
		return set
	}
	return most
}

// Gate returns the robots gate of a crawl with these settings.
func (c Config) Gate() *gate.Gate {
	return gate.New(c.Frontier, c.withDefaults().Identity.Token, c.Standard)
}
