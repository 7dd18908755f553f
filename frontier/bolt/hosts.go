package bolt

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// host is the state of an authority in RAM. Robots state and the crawler's memory are on disk. Times are nanoseconds on
// the clock of the opening.
type host struct {
	layout.HostState
	authority    canon.Authority
	id           uint32
	dirty        bool // in the dirty list of the open group
	named        bool // its name is on disk, or on its way
	suspectWaits bool // among the hosts whose suspect cannot be given yet; see scheduler
	lease        *lease
	queue        queue // tasks that can be given, now or later
	domain       *domain

	outcomes [len(frontier.Outcomes{})]uint32
	queued   uint32
	inFlight uint32
	deferred uint32

	at [layout.HostKinds]uint64 // values of the journal of states, by kind less one; zero means none
}

type lease struct {
	token   frontier.Token
	expires int64
	width   int
	trial   bool                   // its one task is a suspect
	tasks   []leasedTask           // not settled yet, in the order in which they were given
	dropped []frontier.Fingerprint // closed by a drop since the last Finish
	robots  []byte                 // as stored, so that an update that changes nothing writes nothing
	memory  []byte
}

// leasedTask has its print as soon as its text has been read.
type leasedTask struct {
	ref   layout.Ref
	print frontier.Fingerprint
}

func (h *host) pending() uint32 { return h.queued + h.inFlight + h.deferred }
func (h *host) claimable() bool {
	return h.Condition == frontier.Open || h.Condition == frontier.Parked
}
func (h *host) accepted() uint32 {
	n := h.pending() - h.Refused
	for _, k := range h.outcomes {
		n += k
	}
	return n
}

// wait puts h off until d from now. A longer wait stays; a negative one counts as zero.
func (h *host) wait(now int64, d time.Duration) {
	h.NotBefore = max(h.NotBefore, layout.After(now, d))
}

// record returns a state record of h: its name, robots state or memory.
func (h *host) record(kind layout.Kind, data []byte) *layout.StateRecord {
	return &layout.StateRecord{Address: layout.Address{Kind: kind, ID: uint64(h.id)}, Data: data}
}

// stopped reports whether h is out until an operator resumes it.
func (h *host) stopped() bool { return h.Hold != nil && !h.Hold.Ends() }

func (h *host) closing() bool { return h.Hold != nil && h.Hold.Closing }

// free returns when h may have a turn: after its own wait and a park with a time.
func (h *host) free() int64 {
	if h.Hold != nil {
		return max(h.NotBefore, h.Hold.Until)
	}
	return h.NotBefore
}

func (h *host) holdView(now int64) frontier.Hold {
	k := h.Hold
	switch {
	case k == nil:
		return frontier.Hold{}
	case k.Act == frontier.Drop:
		return frontier.Hold{Act: k.Act, Reason: k.Reason}
	case !k.Ends():
		return frontier.Hold{Act: k.Act, Reason: k.Reason, Wait: frontier.Never}
	}
	return frontier.Hold{Act: k.Act, Reason: k.Reason, Wait: time.Duration(max(k.Until-now, 0))}
}

// hosts are the known authorities and the sums over them. A known host stays known, with its id. The sums are exact
// except between two calls of count. hosts.all is only ever appended to, so that a copy taken under the mutex stays
// valid.
type hosts struct {
	all     []*host // by id; nil for an id that was never written
	byName  map[canon.Authority]*host
	domains map[string]*domain
	sums    sums
	names   names // guarded by its own lock

	perDomain bool  // there is a cap on domains
	deep      bool  // tasks are given depth first
	floor     floor // of all hosts, also those that become known later
}

// floor is a wait that an unclean stop imposes on all hosts: none is due before the Pace of the opening after it is
// over, since its last request may be lost, and with it that the host was found at all. A Close before that leaves the
// rest to the next opening. It is not written for each host. The zero value imposes nothing.
type floor struct {
	options frontier.Options
	opened  int64
	until   int64
}

// of returns the end of the floor of a: at most the RestartPace of this opening, whatever the previous one has left.
func (f *floor) of(a canon.Authority) int64 {
	if f.until <= f.opened {
		return 0
	}
	return min(f.until, layout.After(f.opened, f.options.RestartPace(a)))
}

type sums struct {
	known, pending             int64 // hosts
	conditions                 [frontier.Refused + 1]int64
	stopped                    int64 // of hosts, by an operator
	queued, inFlight, deferred int64 // tasks
}

// know returns the host of a, which is known from then on; it is on disk as soon as something about it is.
func (hs *hosts) know(a canon.Authority) *host {
	h := hs.byName[a]
	if h == nil {
		h = &host{authority: a, id: uint32(len(hs.all)), queue: newQueue(hs.deep)}
		h.NotBefore = hs.floor.of(a)
		h.domain = hs.domain(a)
		hs.all = append(hs.all, h)
		hs.byName[a] = h
		hs.count(h, 1)
	}
	return h
}

// count updates the sums as h changes: call it with -1 before and +1 after.
func (hs *hosts) count(h *host, by int64) {
	d := &hs.sums
	d.known += by
	if h.pending() > 0 {
		d.pending += by
	}
	d.conditions[h.Condition] += by
	if h.Hold != nil {
		d.stopped += by
	}
	d.queued += by * int64(h.queued)
	d.inFlight += by * int64(h.inFlight)
	d.deferred += by * int64(h.deferred)
}

// dropped reports whether an operator has dropped a, so that its candidates are refused. Its URLs that are pending
// nevertheless, under a lease or by a Retry, wait for Resume.
func (hs *hosts) dropped(a canon.Authority) bool {
	if hs.sums.stopped == 0 {
		return false // nearly always, and every link is looked up
	}
	h := hs.byName[a]
	return h != nil && h.Hold != nil && h.Hold.Act == frontier.Drop
}

// domain returns the domain of a, nil without a cap on domains.
func (hs *hosts) domain(a canon.Authority) *domain {
	if !hs.perDomain {
		return nil
	}
	name := a.RegistrableDomain()
	d := hs.domains[name]
	if d == nil {
		d = &domain{}
		hs.domains[name] = d
	}
	return d
}

// domain counts the URLs of a registrable domain that became tasks, for the cap on them.
type domain struct {
	urls int64
}

// names is an index of the hosts in the order of their authorities, made on first use. Hosts become known while
// a caller pages through: they are sorted into a small part, which is merged into the large one when it is an eighth of
// it. Its lock is taken before that of the frontier and never after: no turn waits for the sorting of a million names.
type names struct {
	mu           sync.Mutex
	large, small []*host // each in order, and no host in both
	indexed      int     // hosts with smaller ids are in one of them
}

func byName(a, b *host) int { return strings.Compare(a.authority.String(), b.authority.String()) }

// page returns up to limit of hosts, which are by id and no fewer than before, after one, in the order of authorities.
func (n *names) page(hosts []*host, after canon.Authority, limit int) []*host {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update(hosts)
	beyond := func(hs []*host) []*host {
		return hs[sort.Search(len(hs), func(i int) bool { return hs[i].authority.String() > after.String() }):]
	}
	return merge(beyond(n.large), beyond(n.small), limit)
}

func (n *names) update(hosts []*host) {
	var fresh []*host
	for _, h := range hosts[min(n.indexed, len(hosts)):] {
		if h != nil {
			fresh = append(fresh, h)
		}
	}
	n.indexed = max(n.indexed, len(hosts))
	if len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, byName)
	n.small = merge(n.small, fresh, len(n.small)+len(fresh))
	if len(n.small) > len(n.large)/8 {
		n.large, n.small = merge(n.large, n.small, len(n.large)+len(n.small)), nil
	}
}

func merge(a, b []*host, limit int) []*host {
	all := make([]*host, 0, min(limit, len(a)+len(b)))
	for len(all) < cap(all) {
		if len(b) == 0 || len(a) > 0 && byName(a[0], b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return all
}
