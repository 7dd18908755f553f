package bolt

import (
	"context"
	"sync"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/heap"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/schedule"
	"curtsy/frontier/bolt/seen"
	"curtsy/frontier/canon"
)

// Frontier is the embedded engine. See the package comment.
type Frontier struct {
	path        string
	options     frontier.Options
	db          *bbolt.DB
	clock       layout.Clock
	printer     *layout.Printer
	blocks      layout.Blocks
	seen        seen.Set
	epoch       uint64       // of this opening
	unclean     bool         // the stop before it was not a Close
	quarantined []layout.Ref // by this opening
	readOnly    bool

	writer  writer
	stop    context.CancelFunc // ends the writer at once, barrier included
	stopped chan struct{}      // closed when the writer has ended
	work    chan struct{}      // tells the writer that there may be something to do; holds one

	retrying chan struct{} // holds one: whoever is in Retry or Steer

	mu        sync.Mutex
	err       error // why the engine is poisoned
	closed    bool
	claims    uint32
	floor     int64   // no host with no pace of its own is due before: see restart
	oldFloor  int64   // what was left of the floor of the run before
	hosts     []*host // by id; nil for an id that was never written
	byName    map[canon.Authority]*host
	names     names
	retries   map[layout.Ref]*retry
	domains   map[string]*domain
	totals    *layout.Totals
	scheduler scheduler
	flight    []byte // the last record that was sealed
	careful   int64  // results until turns are given before their record is durable
	size      int64  // octets of the file, up to its high-water mark
	full      bool   // no turn is given any more; see gauge
	tight     bool   // perhaps it is; see gauge

	records   uint64                                 // id of the last record
	accepted  int64                                  // entries of all records
	fresh     map[uint64]*layout.Record              // not written yet
	unwritten map[layout.Address]*layout.StateRecord // robots states and memories, likewise
	lastSeed  uint64                                 // last value of the seed journal that is not in a group
	filling   *layout.Record                         // in open, takes entries; nil when there is none
	open      *group                                 // takes what is applied
	queue     []*group                               // sealed, oldest first; the first may be in the writer's hands
	closing   bool                                   // the writer is to finish what there is and end
}

// scheduler is what claims work with: who is due when, who is leased until when, and who is waiting for a turn.
type scheduler struct {
	due     schedule.Schedule // hosts, by their ids
	leases  heap.Heap         // at is when a lease expires, tie is claim<<32 | id
	holds   heap.Heap         // of parks by an operator: at is when one ends by itself, tie is the host
	out     int               // leases
	closing bool              // a Drop of a host is under way

	suspects int64       // tasks
	trial    bool        // one of them is out
	lone     bool        // and nothing else may be
	held     []suspended // hosts whose suspect cannot be given yet

	waiters []*waiter // in the order of arrival; the first holds the alarm
	alarm   int64     // when it will wake by itself

	known, pending             int64 // hosts
	conditions                 [frontier.Refused + 1]int64
	stopped                    int64 // of hosts, by an operator
	queued, inFlight, deferred int64 // tasks
}

var _ frontier.Stored = (*Frontier)(nil)

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
	f.wakeAll()
	f.prod()
}

// at returns where a cell is kept, or nil when nothing has that address. The caller holds mu.
func (f *Frontier) at(a layout.Address) *uint64 {
	if a.Kind == layout.KindRetry {
		if t := f.retries[layout.Ref(a.ID)]; t != nil {
			return &t.at
		}
		return nil
	}
	if a.ID < uint64(len(f.hosts)) && f.hosts[a.ID] != nil {
		return &f.hosts[a.ID].at[a.Kind-1]
	}
	return nil
}

// counts tells the sweeper which cells still count.
func (f *Frontier) counts(ps []layout.Placed) []bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	yes := make([]bool, len(ps))
	for i, p := range ps {
		at := f.at(p.Address)
		yes[i] = at != nil && *at == p.Seq
	}
	return yes
}
