package bolt

import (
	"context"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// untold is what a group closes for an operator, for Options.Tell.
type untold struct {
	tasks []ended
	hosts map[canon.Authority]int64
}

// addHost notes that n URLs of h are closed.
func (u *untold) addHost(h *host, n int64) {
	if n == 0 {
		return
	}
	if u.hosts == nil {
		u.hosts = map[canon.Authority]int64{}
	}
	u.hosts[h.authority] += n
}

// lapse ends the lease of h without a Finish, whose answer would name what is closed with it. The caller holds mu and has touched the open group.
func (f *Frontier) lapse(h *host, now int64) {
	for _, t := range h.lease.tasks {
		if kept := f.retries[t.ref]; kept != nil && kept.dropped {
			f.open.untold.tasks = append(f.open.untold.tasks, ended{ref: t.ref, host: h.id})
		}
	}
	f.release(h, now)
}

// tellDropped has it told what g closes for an operator.
func (f *Frontier) tellDropped(ctx context.Context, g *group) error {
	if f.options.Tell == nil || len(g.untold.tasks)+len(g.untold.hosts) == 0 {
		return nil
	}
	told := frontier.Closings{Hosts: g.untold.hosts}
	err := f.db.View(func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, t := range g.untold.tasks {
			c, err := f.candidateOf(&records, t)
			if err != nil {
				return err
			}
			told.URLs = append(told.URLs, c)
		}
		return nil
	})
	if err == nil {
		err = f.options.Tell(ctx, told)
	}
	if err != nil {
		return fmt.Errorf("frontier/bolt: commit %s: tell what was dropped: %w", f.path, err)
	}
	return nil
}

// candidateOf returns a URL as it was accepted, from the file, unless it is to be written yet.
func (f *Frontier) candidateOf(records *layout.Lookup, t ended) (frontier.Candidate, error) {
	f.mu.Lock()
	a, fresh := f.hosts[t.host].authority, f.fresh[t.ref.Record()]
	if fresh != nil {
		defer f.mu.Unlock()
		return fresh.Entries[t.ref.Place()], nil
	}
	f.mu.Unlock()
	return f.blocks.Entry(records, t.ref, a)
}
