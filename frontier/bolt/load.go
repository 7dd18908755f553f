package bolt

import (
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// load reads what RAM holds: one pass over the seen journal, one over the cells, two over the heads of the records
// and one over what is done.
func (f *Frontier) load(tx *bbolt.Tx) error {
	m, t, err := layout.ReadMeta(tx, f.clock)
	if err != nil {
		return err
	}
	f.printer, f.epoch, f.unclean, f.totals = layout.NewPrinter(m.Secret), m.Epoch, !m.Clean, t
	f.oldFloor, f.clock, f.size = m.Floor, m.Clock, tx.Size()
	if f.writer.zip, f.blocks.Zip, err = layout.NewZip(); err != nil {
		return err
	}
	if !f.readOnly {
		if err := f.loadSeen(tx); err != nil {
			return err
		}
	}
	f.lastSeed = layout.SeedJournal.Last(tx)
	if err := f.loadCells(tx); err != nil {
		return err
	}
	return f.loadRecords(tx)
}

func (f *Frontier) loadSeen(tx *bbolt.Tx) error {
	n := 0
	c := tx.Bucket([]byte(layout.SeenJournal)).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		n += len(v) / 8
	}
	f.seen.Reserve(n)
	return layout.ReadPrints(tx, func(p frontier.Fingerprint) error {
		f.seen.Add(p)
		return nil
	})
}

// loadCells reads hosts and retries. The last cell of an address counts.
func (f *Frontier) loadCells(tx *bbolt.Tx) error {
	w := &f.writer.sweeper
	err := layout.StateJournal.Each(tx, func(seq uint64, body []byte) error {
		w.Bytes += int64(len(body))
		var bad error
		err := layout.EachState(body, func(c layout.StateRecord) {
			if err := f.loadCell(c, seq); err != nil && bad == nil {
				bad = err
			}
		})
		if err != nil {
			return err
		}
		return bad
	})
	if err != nil {
		return err
	}
	err = layout.StateJournal.Each(tx, func(seq uint64, body []byte) error { // again: now it is known what counts
		return layout.EachState(body, func(c layout.StateRecord) {
			if at := f.at(c.Address); at != nil && *at == seq {
				w.Base += int64(len(c.Data))
			}
		})
	})
	if err != nil {
		return err
	}
	for id, h := range f.hosts {
		if h == nil {
			continue
		}
		if h.authority.IsZero() {
			return fmt.Errorf("read %s: host %d has no name: %w", layout.StateJournal, id, frontier.ErrDamaged)
		}
		if f.byName[h.authority] != nil {
			return fmt.Errorf("read %s: %s is there twice: %w", layout.StateJournal, h.authority, frontier.ErrDamaged)
		}
		f.byName[h.authority] = h
		f.count(h, 1)
	}
	return nil
}

func (f *Frontier) loadCell(c layout.StateRecord, seq uint64) error {
	if c.Kind == layout.KindRetry {
		t, ok := newRetry(c.Data, f.clock)
		if !ok {
			return fmt.Errorf("retry of %d: %w", c.ID, frontier.ErrDamaged)
		}
		if t == nil {
			delete(f.retries, layout.Ref(c.ID))
			return nil
		}
		t.at = seq
		f.retries[layout.Ref(c.ID)] = t
		return nil
	}
	h, err := f.loadHost(c.ID)
	if err != nil {
		return err
	}
	h.at[c.Kind-1] = seq
	switch c.Kind {
	case layout.KindName:
		if h.authority, err = canon.ParseAuthority(string(c.Data)); err != nil {
			return fmt.Errorf("name of host %d: %w: %w", c.ID, err, frontier.ErrDamaged)
		}
	case layout.KindHost:
		if !h.setState(c.Data, f.clock) {
			return fmt.Errorf("state of host %d: %w", c.ID, frontier.ErrDamaged)
		}
		h.outcomes[frontier.Dropped] = h.refused
	}
	return nil
}

// maxHosts bounds the ids of hosts. More would not fit into RAM; a larger id is damage.
const maxHosts = 1 << 28

// loadHost returns the host with that id, which is made if need be.
func (f *Frontier) loadHost(id uint64) (*host, error) {
	if id >= maxHosts {
		return nil, fmt.Errorf("host %d: %w", id, frontier.ErrDamaged)
	}
	for id >= uint64(len(f.hosts)) {
		f.hosts = append(f.hosts, nil)
	}
	if f.hosts[id] == nil {
		f.hosts[id] = &host{id: uint32(id), named: true, deep: f.options.Order == frontier.DepthFirst}
	}
	return f.hosts[id], nil
}

// loadRecords fills the queues with what is neither closed nor deferred, and counts the rest.
func (f *Frontier) loadRecords(tx *bbolt.Tx) error {
	w := &f.writer
	var spans []layout.Span
	err := layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if f.records++; seq != f.records {
			return fmt.Errorf("record %d is missing: %w", f.records, frontier.ErrDamaged)
		}
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		n := layout.CountEntries(spans)
		w.sizes = append(w.sizes, uint8(n-1))
		f.accepted += int64(n)
		return nil
	})
	if err != nil {
		return err
	}
	all := layout.NewEndings(w.sizes)
	if w.folded, w.unfolded, err = all.Read(tx); err != nil {
		return err
	}
	if err := f.judge(tx, all); err != nil {
		return err
	}
	err = layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		return f.loadSpans(seq, spans, all.Record(seq))
	})
	if err != nil {
		return err
	}
	for r := range f.retries {
		if at := all.Of(r); at == nil || *at != 0 {
			delete(f.retries, r) // closed since
		}
	}
	return nil
}

func (f *Frontier) loadSpans(record uint64, spans []layout.Span, endings []layout.Ending) error {
	place := 0
	for _, s := range spans {
		if s.Host >= uint32(len(f.hosts)) || f.hosts[s.Host] == nil {
			return fmt.Errorf("host %d is unknown: %w", s.Host, frontier.ErrDamaged)
		}
		h := f.hosts[s.Host]
		f.count(h, -1)
		for range s.N {
			r, e := layout.MakeRef(record, place), endings[place]
			place++
			if e != 0 {
				h.outcomes[e.Outcome()]++
				continue
			}
			f.loadPending(h, r)
		}
		f.count(h, 1)
	}
	return nil
}

// loadPending puts a task that is not closed into its place.
func (f *Frontier) loadPending(h *host, r layout.Ref) {
	t := f.retries[r]
	if t != nil {
		t.host = h.id
	}
	if t.deferred() {
		h.deferred++
	} else {
		h.queued++
	}
	switch {
	case t.suspect():
		f.scheduler.suspects++
		h.giveSuspect(r)
	case t.deferred():
		h.giveLater(r, t)
	default:
		h.queue.push(r)
	}
}
