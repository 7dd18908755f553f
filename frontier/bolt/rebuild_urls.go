package bolt

import (
	"encoding/binary"
	"maps"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// oldFates are the endings in a damaged file, by record.
type oldFates map[uint64]*oldFate

type oldFate struct {
	covered uint64 // words up to this one are in it
	endings [maxPlaces]ending
	opened  [maxPlaces]bool // the last word says that it is pending again
}

func (o oldFates) of(record uint64) *oldFate {
	if o[record] == nil {
		o[record] = &oldFate{}
	}
	return o[record]
}

// prints takes over the fingerprints, which say nothing without the secret that they were made with.
func (r *rebuilding) prints() error {
	if !r.intact {
		return nil
	}
	return r.scan.each(r.ctx, seenJournal, func(_ uint64, body []byte) error {
		for ; len(body) >= 8; body = body[8:] {
			if p := frontier.Fingerprint(binary.BigEndian.Uint64(body)); p != 0 {
				r.seen.Add(p)
			}
		}
		return nil
	})
}

// endings reads what was folded, by the latest fold that has a record, and then the words that this fold does not cover.
func (r *rebuilding) endings() error {
	r.fates = oldFates{}
	covered, first, next := uint64(0), uint64(0), uint64(1) // of the latest fold: its first key, and the record that comes next
	err := r.scan.each(r.ctx, foldedJournal, func(seq uint64, body []byte) error {
		p := parser{b: body}
		to, id := p.uvarint(), p.uvarint()
		if first == 0 || to > covered {
			covered, first, next = to, seq, 1
		}
		if id != next {
			r.lost(1)
		}
		for ; p.more(); id++ {
			es := make([]ending, min(p.uvarint(), maxPlaces))
			if p.endings(es) {
				x := &oldFate{covered: to}
				copy(x.endings[:], es)
				r.fates[id] = x
			}
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
	r.lost(r.scan.gaps(foldedJournal, first-1))
	r.lost(r.scan.gaps(doneJournal, covered))
	records := r.scan.values[recordJournal]
	return r.scan.each(r.ctx, doneJournal, func(seq uint64, body []byte) error {
		for ; len(body) >= 8; body = body[8:] {
			d := done(binary.BigEndian.Uint64(body))
			if _, ok := records[d.ref().record()]; !ok {
				r.salvage.LostEndings++
				continue
			}
			if x := r.fates.of(d.ref().record()); seq > x.covered {
				x.endings[d.ref().place()] = d.ending()
				x.opened[d.ref().place()] = d.ending() == 0
			}
		}
		return nil
	})
}

func (r *rebuilding) lost(values int64) { r.salvage.LostValues += values }

// cells takes over the last cell of each address: names of hosts first, since the rest is of no use without them.
func (r *rebuilding) cells() error {
	last := map[address]uint64{}
	names := map[uint64]canon.Authority{}
	err := r.eachCell(func(seq uint64, c cell) error {
		last[c.address] = seq
		if c.kind == nameCell {
			if a, err := canon.ParseAuthority(string(c.data)); err == nil {
				names[c.id] = a
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	nameless := map[uint64]bool{}
	for a := range last {
		if a.kind != retryCell && names[a.id].IsZero() {
			nameless[a.id] = true
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
		if last[address{kind: stateCell, id: id}] == 0 {
			r.salvage.ResetHosts++
		}
	}
	return r.eachCell(func(seq uint64, c cell) error {
		if last[c.address] != seq {
			return nil
		}
		return r.cell(c)
	})
}

// eachCell calls f for the cells that were found, of those of one address in a value for the last alone.
func (r *rebuilding) eachCell(f func(seq uint64, c cell) error) error {
	return r.scan.each(r.ctx, cellJournal, func(seq uint64, body []byte) error {
		var cs []cell
		at := map[address]int{}
		err := eachCell(body, func(c cell) {
			at[c.address] = len(cs)
			cs = append(cs, c)
		})
		if err != nil {
			r.salvage.Spoilt++
			return nil
		}
		for i, c := range cs {
			if at[c.address] != i {
				continue
			}
			if err := f(seq, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// cell takes over a cell that counts.
func (r *rebuilding) cell(c cell) error {
	if c.kind == retryCell {
		if t, ok := parseRetry(c.data, r.clock); ok && !t.void() {
			r.retries[ref(c.id)] = t
		}
		return nil
	}
	h := r.hosts[c.id]
	switch {
	case h == nil || c.kind == nameCell:
		return nil
	case c.kind == stateCell:
		x := &host{}
		if !x.parseState(c.data, r.clock) {
			r.salvage.ResetHosts++
			return nil
		}
		x.id, x.authority, x.named = h.id, h.authority, true
		*h = *x
		return nil
	}
	c.id = uint64(h.id)
	return r.into.cell(c)
}

// records takes over the URLs, in the order of their acceptance.
func (r *rebuilding) records() error {
	forgotten, kept := r.intact && r.scan.gaps(seenJournal, 0) == 0, false // the fingerprints of these are in the old seen-set alone
	_, zip, err := newZip()
	if err != nil {
		return err
	}
	defer zip.Close()
	err = r.scan.each(r.ctx, recordJournal, func(seq uint64, body []byte) error {
		b, err := parseBlock(body, zip)
		switch {
		case err != nil:
			r.salvage.LostRecords++
			return nil
		case b.forgotten() && forgotten:
			kept = true
			return r.forgotten(seq, b)
		case b.forgotten():
			r.salvage.LostForgotten += int64(b.len())
			return nil
		}
		for place := range b.len() {
			if err := r.entry(b, makeRef(seq, place)); err != nil {
				return err
			}
		}
		return nil
	})
	r.relearn = r.ledger != nil && r.salvage.LostRecords+r.salvage.LostURLs > 0 && !kept
	return err
}

// forgotten takes over a record without texts.
func (r *rebuilding) forgotten(seq uint64, b *block) error {
	body := binary.AppendUvarint(nil, uint64(len(b.spans)))
	for _, s := range b.spans {
		h := r.hosts[uint64(s.host)]
		if h == nil {
			r.salvage.LostForgotten += int64(b.len())
			return nil
		}
		body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(h.id)), uint64(s.n))
	}
	ends := slices.Clone(r.fates.of(seq).endings[:b.len()])
	for i := range ends {
		if ends[i] = r.ending(ends[i]); ends[i] == 0 { // or else it was not forgotten
			ends[i] = makeEnding(frontier.Fetched, r.into.totals.number(ReasonLost))
		}
	}
	return r.into.whole(body, ends)
}

// entry takes over one URL.
func (r *rebuilding) entry(b *block, at ref) error {
	id, _ := b.host(at.place())
	h := r.hosts[uint64(id)]
	if h == nil {
		r.salvage.LostURLs++
		return nil
	}
	c, err := b.entry(at.place(), h.authority)
	if err != nil {
		r.salvage.LostURLs++
		return nil
	}
	x := r.fates[at.record()]
	if x == nil {
		x = &oldFate{}
	}
	return r.accept(h, c, r.ending(x.endings[at.place()]), x.opened[at.place()], r.retries[at])
}

// accept enters a URL unless it is there.
func (r *rebuilding) accept(h *host, c frontier.Candidate, e ending, opened bool, t *retry) error {
	p := r.into.print.print(c.URL)
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
	return r.into.cell(*t.cell(to, r.clock, r.clock.now()))
}
