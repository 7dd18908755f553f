package bolt

import (
	"context"
	"fmt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Finish implements frontier.Frontier. A result that breaks a bound of the contract is an error of the caller: the
// call changes nothing, and the frontier stays usable. When the disk is eight groups behind, Finish waits for it.
func (f *Frontier) Finish(ctx context.Context, rs []frontier.Result) ([]frontier.Finished, error) {
	ready := make([]prepared, len(rs))
	for i := range rs {
		if err := checkResult(&rs[i]); err != nil {
			return nil, err
		}
		ready[i] = f.intake.prepare(&rs[i])
	}
	answers := make([]frontier.Finished, len(rs))
	var pending []*pendingTurn
	var of []int // the answer that a pending turn belongs to
	var record *group
	if err := f.room(ctx); err != nil {
		return nil, err
	}
	err := f.changing(ctx, func(now int64) error {
		for i := range ready {
			var d *pendingTurn
			answers[i], d = f.turns.finish(now, &ready[i])
			if d != nil {
				pending, of = append(pending, d), append(of, i)
			}
		}
		record = f.turns.recordOf(pending)
		return f.begin(pending)
	})
	if err == nil {
		err = f.complete(pending)
	}
	if err == nil {
		err = record.durable(ctx)
	}
	if err != nil {
		return nil, err
	}
	for i, d := range pending {
		answers[of[i]].Tasks = d.turn.Tasks
	}
	return answers, nil
}

// checkResult returns how r breaks a bound of the contract or of the file, or nil.
func checkResult(r *frontier.Result) error {
	if err := r.Check(); err != nil {
		return fmt.Errorf("frontier/bolt: finish %s: %w", r.Authority, err)
	}
	for i, b := range r.Blobs {
		if len(b) > layout.MaxBlob {
			return fmt.Errorf("frontier/bolt: finish %s: blob %d of %d bytes: over %d", r.Authority, i, len(b), layout.MaxBlob)
		}
	}
	return nil
}

// prepared is a result with what can be worked out without mu.
type prepared struct {
	*frontier.Result
	prints []frontier.Fingerprint // of Found; zero for those that were seen before
	blobs  []layout.Blob
}

// prepare works out what can be without mu. A link that has been seen stays seen, so the answer holds later too.
func (in *intake) prepare(r *frontier.Result) prepared {
	return prepared{Result: r, prints: in.prints(r.Found), blobs: layout.MakeBlobs(r.Blobs)}
}

// room waits until the writer has caught up so far that the memory for what is applied is bounded.
func (f *Frontier) room(ctx context.Context) error {
	for {
		f.mu.Lock()
		if len(f.groups.queue) < maxQueued || f.usable() != nil {
			f.mu.Unlock()
			return nil
		}
		first := f.groups.queue[0]
		f.mu.Unlock()
		if err := first.durable(ctx); err != nil {
			return err
		}
	}
}

// settle marks the task with that print as settled, which a reference of zero says, and returns what it was. The
// search goes on from the last find: tasks are usually named in the order in which they were given.
func (l *lease) settle(p frontier.Fingerprint, next *int) (layout.Ref, bool) {
	for i := range l.tasks {
		k := (*next + i) % len(l.tasks)
		if t := &l.tasks[k]; t.print == p && t.ref != 0 {
			r := t.ref
			t.ref = 0
			*next = k + 1
			return r, true
		}
	}
	return 0, false
}

// Sync implements frontier.Frontier.
func (f *Frontier) Sync(ctx context.Context) error {
	var g *group
	err := f.changing(ctx, func(int64) error {
		g = f.groups.last()
		return nil
	})
	if err != nil {
		return err
	}
	return g.durable(ctx)
}
