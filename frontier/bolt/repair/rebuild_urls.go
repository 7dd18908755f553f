package repair

import (
	"encoding/binary"
	"maps"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// oldEndings are the endings in a damaged file, by record.
type oldEndings map[uint64]*recordEndings

type recordEndings struct {
	covered uint64 // words up to this one are in it
	endings [layout.MaxPlaces]layout.Ending
	opened  [layout.MaxPlaces]bool // the last word says that it is pending again
}

func (o oldEndings) of(record uint64) *recordEndings {
	if o[record] == nil {
		o[record] = &recordEndings{}
	}
	return o[record]
}

// prints takes over the fingerprints, which say nothing without the secret that they were made with.
func (r *rebuilding) prints() error {
	if !r.intact {
		return nil
	}
	return r.scan.each(r.ctx, layout.SeenJournal, func(_ uint64, body []byte) error {
		for ; len(body) >= 8; body = body[8:] {
			if p := frontier.Fingerprint(binary.BigEndian.Uint64(body)); p != 0 {
				r.seen.Add(p)
			}
		}
		return nil
	})
}

// endings reads what was folded, by the latest fold that has a record, and then the words that this fold does not
// cover.
func (r *rebuilding) endings() error {
	r.old = oldEndings{}
	// Of the latest fold: what it covers, its first key, and the record that comes next.
	covered, first, next := uint64(0), uint64(0), uint64(1)
	err := r.scan.each(r.ctx, layout.FoldedJournal, func(seq uint64, body []byte) error {
		to, id, items := layout.ParseFold(body)
		if first == 0 || to > covered {
			covered, first, next = to, seq, 1
		}
		if id != next {
			r.lost(1)
		}
		for _, es := range items {
			if es != nil {
				x := &recordEndings{covered: to}
				copy(x.endings[:], es)
				r.old[id] = x
			}
			id++
		}
		next = id
		return nil
	})
	if err != nil {
		return err
	}
	if first == 0 {
		first = 1
	}
	r.lost(r.scan.gaps(layout.FoldedJournal, first-1))
	r.lost(r.scan.gaps(layout.DoneJournal, covered))
	records := r.scan.values[layout.RecordJournal]
	return r.scan.each(r.ctx, layout.DoneJournal, func(seq uint64, body []byte) error {
		for ; len(body) >= 8; body = body[8:] {
			d := layout.Done(binary.BigEndian.Uint64(body))
			if _, ok := records[d.Ref().Record()]; !ok {
				r.salvage.LostEndings++
				continue
			}
			if x := r.old.of(d.Ref().Record()); seq > x.covered {
				x.endings[d.Ref().Place()] = d.Ending()
				x.opened[d.Ref().Place()] = d.Ending() == 0
			}
		}
		return nil
	})
}

func (r *rebuilding) lost(values int64) { r.salvage.LostValues += values }

// states takes over the last state record of each address: names of hosts first, since the rest is of no use without
// them.
func (r *rebuilding) states() error {
	last := map[layout.Address]uint64{}
	names := map[uint64]canon.Authority{}
	err := r.eachState(func(seq uint64, c layout.StateRecord) error {
		last[c.Address] = seq
		if c.Kind == layout.KindName {
			if a, err := canon.ParseAuthority(string(c.Data)); err == nil {
				names[c.ID] = a
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	nameless := map[uint64]bool{}
	for a := range last {
		if a.Kind != layout.KindRetry && names[a.ID].IsZero() {
			nameless[a.ID] = true
		}
	}
	r.salvage.LostHosts = int64(len(nameless))
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if r.into.byName[names[id]] != nil {
			r.salvage.LostHosts++
			continue
		}
		if r.hosts[id], err = r.into.host(names[id]); err != nil {
			return err
		}
		if last[layout.Address{Kind: layout.KindHost, ID: id}] == 0 {
			r.salvage.ResetHosts++
		}
	}
	return r.eachState(func(seq uint64, c layout.StateRecord) error {
		if last[c.Address] != seq {
			return nil
		}
		return r.state(c)
	})
}

// eachState calls f for the state records that were found, of those of one address in a value for the last alone.
func (r *rebuilding) eachState(f func(seq uint64, c layout.StateRecord) error) error {
	return r.scan.each(r.ctx, layout.StateJournal, func(seq uint64, body []byte) error {
		var cs []layout.StateRecord
		at := map[layout.Address]int{}
		err := layout.EachState(body, func(c layout.StateRecord) error {
			at[c.Address] = len(cs)
			cs = append(cs, c)
			return nil
		})
		if err != nil {
			r.salvage.Spoilt++
			return nil
		}
		for i, c := range cs {
			if at[c.Address] != i {
				continue
			}
			if err := f(seq, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// state takes over a state record that counts.
func (r *rebuilding) state(c layout.StateRecord) error {
	if c.Kind == layout.KindRetry {
		if t, ok := layout.ParseRetry(c.Data, r.clock); ok && !t.Void() {
			r.retries[layout.Ref(c.ID)] = &t
		}
		return nil
	}
	h := r.hosts[c.ID]
	switch {
	case h == nil || c.Kind == layout.KindName:
		return nil
	case c.Kind == layout.KindHost:
		x, ok := layout.ParseHostState(c.Data, r.clock)
		if !ok {
			r.salvage.ResetHosts++
			return nil
		}
		h.HostState = x
		return nil
	}
	c.ID = uint64(h.id)
	return r.into.putState(c)
}

// records takes over the URLs, in the order of their acceptance.
func (r *rebuilding) records() error {
	// The fingerprints of forgotten URLs are in the old seen-set alone.
	forgotten, kept := r.intact && r.scan.gaps(layout.SeenJournal, 0) == 0, false
	_, zip, err := layout.NewZip()
	if err != nil {
		return err
	}
	defer zip.Close()
	err = r.scan.each(r.ctx, layout.RecordJournal, func(seq uint64, body []byte) error {
		b, err := layout.ParseBlock(body, zip)
		switch {
		case err != nil:
			r.salvage.LostRecords++
			return nil
		case b.Forgotten() && forgotten:
			kept = true
			return r.forgotten(seq, b)
		case b.Forgotten():
			r.salvage.LostForgotten += int64(b.Len())
			return nil
		}
		for place := range b.Len() {
			if err := r.entry(b, layout.MakeRef(seq, place)); err != nil {
				return err
			}
		}
		return nil
	})
	r.relearn = r.ledger != nil && r.salvage.LostRecords+r.salvage.LostURLs > 0 && !kept
	return err
}

// forgotten takes over a record without texts.
func (r *rebuilding) forgotten(seq uint64, b *layout.Block) error {
	body := binary.AppendUvarint(nil, uint64(len(b.Spans)))
	for _, s := range b.Spans {
		h := r.hosts[uint64(s.Host)]
		if h == nil {
			r.salvage.LostForgotten += int64(b.Len())
			return nil
		}
		body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(h.id)), uint64(s.N))
	}
	ends := slices.Clone(r.old.of(seq).endings[:b.Len()])
	for i := range ends {
		if ends[i] = r.ending(ends[i]); ends[i] == 0 { // or else it was not forgotten
			ends[i] = layout.MakeEnding(frontier.Fetched, r.into.totals.Number(ReasonLost))
		}
	}
	return r.into.whole(body, ends)
}

// entry takes over one URL.
func (r *rebuilding) entry(b *layout.Block, at layout.Ref) error {
	id, _ := b.Host(at.Place())
	h := r.hosts[uint64(id)]
	if h == nil {
		r.salvage.LostURLs++
		return nil
	}
	c, err := b.Entry(at.Place(), h.authority)
	if err != nil {
		r.salvage.LostURLs++
		return nil
	}
	x := r.old[at.Record()]
	if x == nil {
		x = &recordEndings{}
	}
	return r.accept(h, c, r.ending(x.endings[at.Place()]), x.opened[at.Place()], r.retries[at])
}

// accept enters a URL unless it is there.
func (r *rebuilding) accept(h *host, c frontier.Candidate, e layout.Ending, opened bool, t *layout.Retry) error {
	p := r.into.print.Print(c.URL)
	if !r.once.Add(p) {
		r.salvage.Repeated++
		return nil
	}
	if _, err := r.into.mark(p); err != nil {
		return err
	}
	to, err := r.into.url(h, c, p, e)
	if err != nil {
		return err
	}
	if r.known != nil {
		n := r.into.urls() - 1
		r.known[p] = n
		if opened {
			r.reopen[n] = true
		}
	}
	if t == nil || e != 0 {
		return nil
	}
	return r.into.putState(*t.StateRecord(to, r.clock, r.clock.Now()))
}
