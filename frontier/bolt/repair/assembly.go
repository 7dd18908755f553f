package repair

import (
	"encoding/binary"
	"fmt"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// host is what is known of an authority.
type host struct {
	layout.HostState
	id        uint32
	authority canon.Authority
}

// assembly makes a frontier out of single facts, for Import and Rebuild: hosts, URLs in the order of their acceptance,
// and the rest. References are given out anew. RAM holds the seen-set, the hosts and two bytes per URL.
type assembly struct {
	to     *Builder
	clock  layout.Clock
	print  *layout.Printer
	seen   dbfile.Set
	totals *layout.Totals
	hosts  []*host
	byName map[canon.Authority]*host
	zip    *layout.Zipper
	states *layout.Packer
	prints *layout.Packer
	seeds  *layout.Packer

	record  *layout.Record // in work
	ends    []layout.Ending
	sizes   layout.Sizes
	endings []layout.Ending // of the records that are complete, one after the other
}

func newAssembly(to *Builder, c layout.Clock, secret []byte) (*assembly, error) {
	zip, unzip, err := layout.NewZip()
	if err != nil {
		return nil, err
	}
	unzip.Close()
	return &assembly{
		to: to, clock: c, print: layout.NewPrinter(secret), totals: layout.NewTotals(),
		byName: map[canon.Authority]*host{}, zip: zip,
		states: to.Pack(layout.StateJournal), prints: to.Pack(layout.SeenJournal), seeds: to.Pack(layout.SeedJournal),
	}, layout.WriteSecret(to.Tx, secret)
}

// host adds a host, which is not there yet, and its name. Its state is written by finish.
func (a *assembly) host(name canon.Authority) (*host, error) {
	h := &host{id: uint32(len(a.hosts)), authority: name}
	a.hosts = append(a.hosts, h)
	a.byName[name] = h
	at := layout.Address{Kind: layout.KindName, ID: uint64(h.id)}
	return h, a.putState(layout.StateRecord{Address: at, Data: []byte(name.String())})
}

func (a *assembly) putState(c layout.StateRecord) error { return a.states.Add(c.AppendTo(nil)) }

// mark enters a fingerprint into the seen-set and reports whether it was new.
func (a *assembly) mark(p frontier.Fingerprint) (bool, error) {
	if !a.seen.Add(p) {
		return false, nil
	}
	return true, a.prints.Add(binary.BigEndian.AppendUint64(nil, uint64(p)))
}

// url adds a URL of h that is not there yet, as mark has told, and returns its reference.
func (a *assembly) url(h *host, c frontier.Candidate, p frontier.Fingerprint, e layout.Ending) (layout.Ref, error) {
	if a.record == nil {
		a.record = &layout.Record{ID: uint64(len(a.sizes)) + 1}
	}
	r := layout.MakeRef(a.record.ID, a.record.Add(h.id, c, p))
	a.ends = append(a.ends, e)
	if a.record.Full() {
		return r, a.closeRecord()
	}
	return r, nil
}

// urls returns how many there are, and ending that of the one that came as number n, from 0.
func (a *assembly) urls() int { return len(a.endings) + len(a.ends) }

func (a *assembly) ending(n int) *layout.Ending {
	if n < len(a.endings) {
		return &a.endings[n]
	}
	return &a.ends[n-len(a.endings)]
}

// closeRecord writes the record in work.
func (a *assembly) closeRecord() error {
	if a.record == nil {
		return nil
	}
	body := a.record.AppendTo(nil, a.zip)
	ends := a.ends
	a.record, a.ends = nil, nil
	return a.whole(body, ends)
}

// whole writes a record as it is stored, with the endings of its entries.
func (a *assembly) whole(body []byte, ends []layout.Ending) error {
	if err := a.closeRecord(); err != nil {
		return err
	}
	a.sizes = append(a.sizes, uint8(len(ends)-1))
	a.endings = append(a.endings, ends...)
	seq, err := a.to.Append(layout.RecordJournal, body)
	if err == nil && seq != uint64(len(a.sizes)) {
		err = fmt.Errorf("record %d got the key %d: %w", len(a.sizes), seq, frontier.ErrDamaged)
	}
	return err
}

// ended counts a URL that is closed with e.
func (a *assembly) ended(e layout.Ending) {
	if e == 0 {
		return
	}
	a.totals.Outcomes[e.Outcome()]++
	if e.Reason() != 0 {
		a.totals.Endings[e]++
	}
}

// finish writes what is known at the end: endings, states of hosts, totals, and the mark of how the last stop was; a clean
// one may have left a floor.
func (a *assembly) finish(epoch uint64, clean bool, floor time.Duration) error {
	if err := a.closeRecord(); err != nil {
		return err
	}
	all := layout.NewEndings(a.sizes)
	copy(all.All, a.endings)
	if err := all.Fold(a.to.Tx); err != nil {
		return err
	}
	for _, e := range a.endings {
		a.ended(e)
	}
	now := a.clock.Now()
	for _, h := range a.hosts {
		if err := a.putState(*h.StateRecord(h.id, a.clock, now)); err != nil {
			return err
		}
	}
	for _, g := range []*layout.Packer{a.states, a.prints, a.seeds} {
		if err := g.Flush(); err != nil {
			return err
		}
	}
	if err := layout.WriteStop(a.to.Tx, a.clock, epoch, clean, floor); err != nil {
		return err
	}
	return layout.WriteTotals(a.to.Tx, a.totals)
}

func (a *assembly) seed(s frontier.Seed) error { return a.seeds.Add(layout.AppendSeed(nil, s)) }

// blobs writes bodies.
func (a *assembly) blobs(bs []layout.Blob) error {
	if err := layout.WriteBlobs(a.to.Tx, bs); err != nil {
		return err
	}
	n := 0
	for _, b := range bs {
		n += len(b.Body)
	}
	return a.to.Wrote(n)
}
