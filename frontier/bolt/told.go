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

// tellDropped has it told what g closes for an operator.
func (w *writer) tellDropped(ctx context.Context, g *group) error {
	if w.f.options.Tell == nil || len(g.untold.tasks)+len(g.untold.hosts) == 0 {
		return nil
	}
	told := frontier.Closings{Hosts: g.untold.hosts}
	err := w.f.db.View(func(tx *bbolt.Tx) error {
		records := layout.Lookup{Tx: tx, Journal: layout.RecordJournal}
		for _, t := range g.untold.tasks {
			c, err := w.candidateOf(&records, t)
			if err != nil {
				return err
			}
			told.URLs = append(told.URLs, c)
		}
		return nil
	})
	if err == nil {
		err = w.f.options.Tell(ctx, told)
	}
	if err != nil {
		return fmt.Errorf("frontier/bolt: commit %s: tell what was dropped: %w", w.f.path, err)
	}
	return nil
}

// candidateOf returns a URL as it was accepted, from the file, unless it is to be written yet.
func (w *writer) candidateOf(records *layout.Lookup, t ended) (frontier.Candidate, error) {
	w.f.mu.Lock()
	a, fresh := w.f.hosts.all[t.host].authority, w.f.groups.fresh[t.ref.Record()]
	if fresh != nil {
		defer w.f.mu.Unlock()
		return fresh.Entries[t.ref.Place()], nil
	}
	w.f.mu.Unlock()
	return w.f.texts.blocks.Entry(records, t.ref, a)
}
