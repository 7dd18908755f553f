package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// Claim implements frontier.Frontier.
func (f *Frontier) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	var pending []*pendingTurn
	var answer frontier.Claimed
	var record *group
	err := f.changing(ctx, func(now int64) (err error) {
		pending, answer, err = f.claim(ctx, w, now)
		record = f.recordOf(pending)
		return err
	})
	if err != nil {
		return frontier.Claimed{}, err
	}
	if err := f.complete(pending); err != nil {
		return frontier.Claimed{}, err
	}
	if err := record.durable(ctx); err != nil {
		f.takeBack(pending)
		return frontier.Claimed{}, err
	}
	for _, d := range pending {
		answer.Turns = append(answer.Turns, d.turn)
	}
	return answer, nil
}

// withLock calls step under mu, after ending what has expired. It fails when f takes no calls.
func (f *Frontier) withLock(ctx context.Context, step func(now int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(); err != nil {
		return err
	}
	now := f.clock.Now()
	f.scheduler.endHolds(now)
	f.expire(now)
	return step(now)
}

func (f *Frontier) changing(ctx context.Context, step func(now int64) error) error {
	if f.readOnly {
		return fmt.Errorf("frontier/bolt: %s: %w", f.path, frontier.ErrReadOnly)
	}
	return f.withLock(ctx, step)
}

// claim leases hosts, waiting for one if need be. The caller holds mu.
func (f *Frontier) claim(ctx context.Context, w frontier.Want, now int64) ([]*pendingTurn, frontier.Claimed, error) {
	if err := f.leases.checkCounter(); err != nil {
		return nil, frontier.Claimed{}, err
	}
	var me *waiter
	defer func() { f.waiting.leave(me) }()
	for {
		var pending []*pendingTurn
		for len(pending) < max(w.Hosts, 1) {
			h := f.scheduler.next(now)
			if h == nil {
				break
			}
			pending = append(pending, f.lease(h, now, max(w.Tasks, 1)))
		}
		if len(pending) > 0 {
			return pending, frontier.Claimed{}, f.begin(pending)
		}
		if me == nil {
			me = f.waiting.join(w.MaxWait)
		}
		if state, due := f.scheduler.summary(now); me.over(state, due) {
			return nil, frontier.Claimed{State: state, Due: due}, nil
		}
		if err := f.waiting.await(ctx, &f.mu, me, now, f.scheduler.wakesAt()); err != nil {
			return nil, frontier.Claimed{}, err
		}
		if err := f.usable(); err != nil {
			return nil, frontier.Claimed{}, err
		}
		now = f.clock.Now()
		f.scheduler.endHolds(now)
		f.expire(now)
	}
}

// ClaimAuthority implements frontier.Frontier.
func (f *Frontier) ClaimAuthority(ctx context.Context, a canon.Authority) (frontier.Turn, error) {
	if a.IsZero() {
		return frontier.Turn{}, errors.New("frontier/bolt: claim authority: it is the zero authority")
	}
	var pending []*pendingTurn
	err := f.changing(ctx, func(now int64) error {
		if err := f.leases.checkCounter(); err != nil {
			return err
		}
		h := f.hosts.know(a)
		if h.lease != nil || !h.claimable() || h.stopped() || h.free() > now || f.scheduler.shut() {
			return frontier.ErrNotDue
		}
		f.scheduler.due.Leave(h.id)
		pending = []*pendingTurn{f.lease(h, now, 0)}
		return f.begin(pending)
	})
	if err != nil {
		return frontier.Turn{}, err
	}
	if err := f.complete(pending); err != nil {
		return frontier.Turn{}, err
	}
	return pending[0].turn, nil
}

// takeBack ends the leases of pending turns whose caller did not wait for them.
func (f *Frontier) takeBack(pending []*pendingTurn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.usable() != nil {
		return
	}
	now := f.clock.Now()
	f.groups.touch(now)
	for _, d := range pending {
		if h := f.hosts.byName[d.turn.Authority]; h.lease == d.lease {
			f.lapse(h, now)
		}
	}
}

// pendingTurn is a turn, or an answer to a Finish with Keep, without the parts that are only on disk. They are read
// without mu, in a transaction that was begun under it: known places are then true of it.
type pendingTurn struct {
	turn  frontier.Turn
	lease *lease
	texts []pendingTask // of turn.Tasks
	host  *hostView

	tx *bbolt.Tx // nil when nothing is missing; in the first of the turns of one call, which share it
}

// pendingTask completes one task: its candidate is missing when its print is zero, and url, unless empty, replaces the
// fetch URL.
type pendingTask struct {
	ref       layout.Ref
	authority canon.Authority
	url       string
}

// hostView is the public view of a host, from which robots state or memory may be missing.
type hostView struct {
	view frontier.Host
	id   uint64
	at   [2]uint64 // robots, memory; zero when nothing is missing
}

// viewHost describes h; unwritten has the states that are not in the file yet. The caller holds mu.
func viewHost(h *host, unwritten map[layout.Address]*layout.StateRecord, now int64) *hostView {
	p := &hostView{id: uint64(h.id)}
	p.view = frontier.Host{
		Authority: h.authority,
		HostUpdate: frontier.HostUpdate{
			Condition: h.Condition, Reason: h.Reason, Pace: h.Pace, Width: h.Width,
		},
		Hold: h.holdView(now), Wait: time.Duration(max(h.NotBefore-now, 0)), Leased: h.lease != nil,
		Queued: int64(h.queued), InFlight: int64(h.inFlight), Deferred: int64(h.deferred),
	}
	for o, n := range h.outcomes {
		p.view.Outcomes[o] = int64(n)
	}
	for i, kind := range [...]layout.Kind{layout.KindRobots, layout.KindMemory} {
		if c := unwritten[layout.Address{Kind: kind, ID: p.id}]; c != nil {
			*p.part(i) = append([]byte(nil), c.Data...)
		} else {
			p.at[i] = h.at[kind-1]
		}
	}
	return p
}

// part returns the place of robots state (0) or memory (1).
func (p *hostView) part(i int) *[]byte {
	if i == 0 {
		return &p.view.Robots
	}
	return &p.view.Memory
}

func (p *hostView) complete(states *layout.Lookup) (err error) {
	for i, kind := range [...]layout.Kind{layout.KindRobots, layout.KindMemory} {
		if p.at[i] != 0 {
			if *p.part(i), err = states.ReadState(p.at[i], layout.Address{Kind: kind, ID: p.id}); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins the transaction that completes pending, if anything is missing. The caller holds mu.
func (f *Frontier) begin(pending []*pendingTurn) error {
	missing := func(d *pendingTurn) bool {
		return d.host != nil && d.host.at != [2]uint64{} ||
			slices.ContainsFunc(d.turn.Tasks, func(t frontier.Task) bool { return t.Print == 0 })
	}
	if !slices.ContainsFunc(pending, missing) {
		return nil
	}
	tx, err := f.db.Begin(false)
	if err != nil {
		err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
		f.poison(err)
		return err
	}
	pending[0].tx = tx
	return nil
}

// complete reads the missing parts of pending, and gives their leases the prints.
func (f *Frontier) complete(pending []*pendingTurn) error {
	if len(pending) == 0 {
		return nil
	}
	err := dbfile.Guard(func() error {
		if tx := pending[0].tx; tx != nil {
			defer tx.Rollback()
		}
		from := layout.NewLookups(pending[0].tx)
		for _, d := range pending {
			if err := f.fill(d, from); err != nil {
				return err
			}
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("frontier/bolt: claim: read %s: %w", f.path, err)
		f.poison(err)
		return err
	}
	for _, d := range pending {
		d.lease.identify(d)
	}
	return nil
}

// fill needs no mu.
func (f *Frontier) fill(d *pendingTurn, from *layout.Lookups) error {
	for i := range d.turn.Tasks {
		if err := f.fillTask(&d.turn.Tasks[i], d.texts[i], from); err != nil {
			return err
		}
	}
	if d.host == nil {
		return nil
	}
	if err := d.host.complete(&from.States); err != nil {
		return err
	}
	d.turn.Host = d.host.view
	return nil
}

func (f *Frontier) fillTask(t *frontier.Task, x pendingTask, from *layout.Lookups) error {
	if t.Print == 0 {
		c, err := f.blocks.Entry(&from.Records, x.ref, x.authority)
		if err != nil {
			return err
		}
		t.Candidate = c
		t.Print = f.printer.Print(t.URL)
	}
	if x.url == "" {
		return nil
	}
	u, err := canon.Parse(x.url)
	if err != nil {
		return fmt.Errorf("read the replaced URL of a task: %w: %w", err, frontier.ErrDamaged)
	}
	t.URL = u
	return nil
}

// identify sets the prints of the tasks that were given with d. The caller holds mu of the frontier.
func (l *lease) identify(d *pendingTurn) {
	k := 0 // both are in the order in which they were given
	for i := range l.tasks {
		if k < len(d.texts) && l.tasks[i].ref == d.texts[k].ref {
			l.tasks[i].print = d.turn.Tasks[k].Print
			k++
		}
	}
	if d.host != nil { // a copy: the holder may change its own
		l.robots, l.memory = bytes.Clone(d.turn.Host.Robots), bytes.Clone(d.turn.Host.Memory)
	}
}
