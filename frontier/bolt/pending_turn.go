package bolt

import (
	"bytes"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// pendingTurn is a turn, or an answer to a Finish with Keep, from which those parts are missing that are only on disk.
// They are read without mu, in a transaction that was begun under it: what is known of places is then true of it.
type pendingTurn struct {
	turn  frontier.Turn
	lease *lease
	texts []pendingTask // of turn.Tasks
	host  *hostView

	tx *bbolt.Tx // nil when nothing is missing; shared by the pending of one call, and in the first of them
}

// pendingTask is what is to be done about one task: its candidate is missing when its print is zero, and url replaces
// the fetch URL unless it is empty.
type pendingTask struct {
	ref       layout.Ref
	authority canon.Authority
	url       string
}

// hostView is a host as the outside sees it, from which robots state or memory may be missing.
type hostView struct {
	view frontier.Host
	id   uint64
	at   [2]uint64 // robots, memory; zero when they are there, or there is none
}

// viewHost describes h; unwritten is what of it is not in the file yet. The caller holds mu.
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

// part returns where robots state (0) or memory (1) belong.
func (p *hostView) part(i int) *[]byte {
	if i == 0 {
		return &p.view.Robots
	}
	return &p.view.Memory
}

// complete reads what is missing of p.
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

// missing reports whether something of d is on disk only.
func (d *pendingTurn) missing() bool {
	for _, t := range d.turn.Tasks {
		if t.Print == 0 {
			return true
		}
	}
	return d.host != nil && d.host.at != [2]uint64{}
}

// begin begins the transaction in which pending will be completed, if one is needed. The caller holds mu.
func (f *Frontier) begin(pending []*pendingTurn) error {
	for _, d := range pending {
		if d.missing() {
			tx, err := f.db.Begin(false)
			if err != nil {
				err = fmt.Errorf("frontier/bolt: read %s: %w", f.path, err)
				f.poison(err)
				return err
			}
			pending[0].tx = tx
			return nil
		}
	}
	return nil
}

// complete reads what is missing of pending, and tells their leases the prints.
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
			if err := f.texts.fill(d, from); err != nil {
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

// textReader reads the file for turns. It holds no state but what it remembers, and needs no mu.
type textReader struct {
	printer *layout.Printer
	blocks  layout.Blocks
}

// fill reads what is missing of d.
func (xs *textReader) fill(d *pendingTurn, from *layout.Lookups) error {
	for i := range d.turn.Tasks {
		if err := xs.fillTask(&d.turn.Tasks[i], d.texts[i], from); err != nil {
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

func (xs *textReader) fillTask(t *frontier.Task, x pendingTask, from *layout.Lookups) error {
	if t.Print == 0 {
		c, err := xs.blocks.Entry(&from.Records, x.ref, x.authority)
		if err != nil {
			return err
		}
		t.Candidate = c
		t.Print = xs.printer.Print(t.URL)
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
	if d.host != nil { // a copy: what the holder does to its own must not look like what is stored
		l.robots, l.memory = bytes.Clone(d.turn.Host.Robots), bytes.Clone(d.turn.Host.Memory)
	}
}
