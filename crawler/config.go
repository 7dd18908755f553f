package crawler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// Floor is the shortest pause between two exchanges with a host that is not the operator's own (politeness rule 9).
const Floor = time.Second

// Config is what a crawl needs. The zero value of each setting means its default.
type Config struct {
	Frontier frontier.Frontier // its Options.Barrier must be Barrier(Recorder, Ledger)
	Fetcher  fetcher
	Recorder storage.Recorder
	Ledger   storage.Ledger

	Identity fetch.Identity
	Scope    scope.Config

	// Standard is the document that robots.txt is read by. Beside RFC 9309, the zero value, an older one may only add
	// refusals: a URL needs the leave of both (politeness rule 6).
	Standard robots.Standard

	Workers int // exchanges in flight in all; zero means 64

	// Delay is the shortest pause between two exchanges with an authority, from the end of one to the start of the
	// next. Below Floor it acts on own hosts only. Negative means zero; zero means Floor.
	Delay time.Duration
	// MaxCrawlDelay is the longest Crawl-delay that is waited for; a host that asks for more leaves the run and is
	// reported. Zero means 300 s.
	MaxCrawlDelay time.Duration
	// LoopbackForeign treats loopback hosts like any other. By default they are the operator's own (politeness rule 18).
	LoopbackForeign bool

	MaxPages   int64         // 2xx HTML answers; zero means no limit
	MaxPerHost int64         // likewise, for each authority
	MaxBytes   int64         // octets received, as they crossed the connection; zero means no limit
	MaxTime    time.Duration // of this run; zero means no limit
	MaxBody    int64         // decoded octets of one body; zero means the fetcher's
	MaxWait    time.Duration // the run ends when nothing is due within it; zero means 10 min

	// DryRun asks each host for its robots.txt and for nothing else.
	DryRun bool

	// Log receives plain sentences for the operator. Nil means none.
	Log func(format string, args ...any)
}

// fetcher makes one exchange. *fetch.Fetcher is one.
type fetcher interface {
	Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error)
	CloseIdle(a canon.Authority)
}

// Barrier returns what the frontier must call before each commit: it makes the records durable, then the lines that
// name them.
func Barrier(r storage.Recorder, l storage.Ledger) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := r.Sync(ctx); err != nil {
			return err
		}
		return l.Sync(ctx)
	}
}

// Validate says what is wrong with c, or nil.
func (c Config) Validate() error {
	switch {
	case c.Frontier == nil || c.Fetcher == nil || c.Recorder == nil || c.Ledger == nil:
		return errors.New("crawler: a frontier, a fetcher, a recorder and a ledger are required")
	case c.Workers < 0:
		return fmt.Errorf("crawler: workers: %d is less than 1", c.Workers)
	case c.MaxPages < 0 || c.MaxPerHost < 0 || c.MaxBytes < 0 || c.MaxBody < 0 || c.MaxTime < 0:
		return errors.New("crawler: a budget is negative; leave it out for no limit")
	case c.MaxWait < 0 || c.MaxCrawlDelay < 0:
		return errors.New("crawler: max-wait and max-crawl-delay cannot be negative")
	}
	return c.Identity.Validate()
}

// withDefaults returns c with every zero setting replaced.
func (c Config) withDefaults() Config {
	if c.Workers == 0 {
		c.Workers = 64
	}
	switch {
	case c.Delay == 0:
		c.Delay = Floor
	case c.Delay < 0:
		c.Delay = 0
	}
	if c.MaxCrawlDelay == 0 {
		c.MaxCrawlDelay = 300 * time.Second
	}
	if c.MaxWait == 0 {
		c.MaxWait = 10 * time.Minute
	}
	if c.Identity.Token == "" {
		c.Identity.Token = "curtsy"
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	return c
}

// own reports whether a is the operator's own host, where Delay may go below Floor (politeness rule 18): a loopback
// address or the name localhost.
func (c Config) own(a canon.Authority) bool {
	if c.LoopbackForeign {
		return false
	}
	if addr, ok := a.Addr(); ok {
		return addr.IsLoopback()
	}
	return a.Host() == "localhost"
}

// floor is the pause that a always gets.
func (c Config) floor(a canon.Authority) time.Duration {
	if c.own(a) {
		return c.Delay
	}
	return max(c.Delay, Floor)
}
