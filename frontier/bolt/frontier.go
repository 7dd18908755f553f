package bolt

import (
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// Frontier is the embedded engine. See the package comment.
//
// It is made of parts. Each has its state and names the others that it works with. One mutex guards them all, mu, but
// for what a part says of itself: the methods of a part are called with mu held unless their comments say otherwise.
// No part takes mu, except the writer, which works on the frontier as its callers do.
type Frontier struct {
	path     string
	options  frontier.Options
	readOnly bool
	db       *bbolt.DB

	// These are set by the opening, and never after.
	clock       layout.Clock
	printer     *layout.Printer
	unclean     bool         // the stop before it was not a Close
	quarantined []layout.Ref // by this opening
	oldFloor    int64        // what was left of the floor of the run before

	mu     sync.Mutex
	err    error // why the engine is poisoned
	closed bool

	commands chan struct{} // holds one: whoever is in Retry or Steer

	totals    *layout.Totals
	seen      dbfile.Set // has this URL been seen? looked at without mu
	hosts     hosts      // which authorities are known?
	retries   retries    // what is known of tasks that were claimed before
	leases    leases     // which turns are out?
	suspects  suspects   // may a suspect be tried?
	waiting   waiters    // which claims wait?
	scheduler scheduler  // whose turn is it, and when?
	caps      caps       // is there room?
	groups    groups     // what is applied and not durable
	intake    intake     // candidates become tasks
	turns     turns      // tasks are given, closed and deferred
	texts     textReader // the file, read for turns; without mu
	writer    writer     // makes groups durable: the one goroutine
}

var _ frontier.Stored = (*Frontier)(nil)

// newFrontier returns a frontier whose parts know each other, and nothing else yet.
func newFrontier(path string, db *bbolt.DB, o frontier.Options) *Frontier {
	if o.LeaseLength == 0 {
		o.LeaseLength = leaseLength
	}
	f := &Frontier{
		path: path, options: o, db: db, clock: layout.Clock{Began: time.Now()}, totals: layout.NewTotals(),
		commands: make(chan struct{}, 1),
	}
	f.hosts = hosts{
		byName: map[canon.Authority]*host{}, domains: map[string]*domain{},
		perDomain: o.MaxURLsPerDomain > 0, deep: o.Order == frontier.DepthFirst,
	}
	f.retries = retries{of: map[layout.Ref]*retry{}}
	f.leases = leases{hosts: &f.hosts, length: o.LeaseLength}
	f.suspects = suspects{retries: &f.retries, leases: &f.leases}
	f.groups = groups{
		clock: &f.clock, totals: f.totals, leases: &f.leases,
		fresh: map[uint64]*layout.Record{}, unwritten: map[layout.Address]*layout.StateRecord{}, work: make(chan struct{}, 1),
	}
	f.caps = caps{options: o, hosts: &f.hosts, groups: &f.groups, waiting: &f.waiting}
	f.scheduler = scheduler{
		hosts: &f.hosts, leases: &f.leases, suspects: &f.suspects, waiting: &f.waiting, caps: &f.caps, groups: &f.groups,
	}
	f.intake = intake{
		totals: f.totals, seen: &f.seen, hosts: &f.hosts, scheduler: &f.scheduler, caps: &f.caps, groups: &f.groups,
	}
	f.turns = turns{
		clock: &f.clock, totals: f.totals, hosts: &f.hosts, retries: &f.retries, leases: &f.leases, suspects: &f.suspects,
		scheduler: &f.scheduler, caps: &f.caps, groups: &f.groups, intake: &f.intake,
	}
	f.writer = writer{f: f, stop: func() {}, stopped: make(chan struct{})}
	return f
}

// usable returns why f takes no calls, or nil. The caller holds mu.
func (f *Frontier) usable() error {
	switch {
	case f.err != nil:
		return f.err
	case f.closed:
		return frontier.ErrClosed
	}
	return nil
}

// poison makes err the answer to every later call. RAM is then ahead of the disk, or the disk cannot be believed; in
// both cases nothing may be built on it. The caller holds mu.
func (f *Frontier) poison(err error) {
	if f.err == nil {
		f.err = err
	}
	f.waiting.wakeAll()
	f.groups.wakeWriter()
}

// at returns where a state record is kept, or nil when nothing has that address. The caller holds mu.
func (f *Frontier) at(a layout.Address) *uint64 {
	if a.Kind == layout.KindRetry {
		if t := f.retries.of[layout.Ref(a.ID)]; t != nil {
			return &t.at
		}
		return nil
	}
	if a.ID < uint64(len(f.hosts.all)) && f.hosts.all[a.ID] != nil {
		return &f.hosts.all[a.ID].at[a.Kind-1]
	}
	return nil
}

// useSecret sets the secret of the fingerprints.
func (f *Frontier) useSecret(secret []byte) {
	f.printer = layout.NewPrinter(secret)
	f.intake.printer, f.texts.printer = f.printer, f.printer
}
