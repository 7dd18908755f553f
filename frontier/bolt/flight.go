package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// flightKey is the one key of the flight bucket. Its value, sealed, is the record of what is in flight: the number of
// leases that are out, then the references of the tasks that their holders may be at, in ascending order, each as what
// it is beyond the one before. A small bucket lies in the page of its parent, which every commit writes anyway: the
// record of some hundred leases costs nothing but its own octets.
const flightKey = "leases"

// flight is the record, read.
type flight struct {
	leases uint64
	refs   []ref
}

// inFlight returns the record of this instant. A holder makes Width exchanges at most and takes its tasks in the order
// in which they were given, so that only the first Width that are not settled can be in work. The caller holds mu.
func (f *Frontier) inFlight() []byte {
	refs := make([]ref, 0, f.scheduler.out)
	for _, e := range f.scheduler.leases { // one entry for each lease that is out, beside stale ones
		if h := f.leased(e); h != nil {
			l := h.lease
			for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
				refs = append(refs, t.ref)
			}
		}
	}
	slices.Sort(refs)
	return flight{leases: uint64(f.scheduler.out), refs: refs}.appendTo(nil)
}

// appendTo writes the record.
func (r flight) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, r.leases)
	last := ref(0)
	for _, x := range r.refs {
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	return b
}

// parseFlight reads what appendTo wrote.
func parseFlight(body []byte) (r flight, ok bool) {
	p := parser{b: body}
	r.leases = p.uvarint()
	last := ref(0)
	for p.more() {
		step := p.uvarint()
		if step == 0 || step > 1<<refBits {
			p.fail()
		}
		last += ref(step)
		r.refs = append(r.refs, last)
	}
	return r, p.done()
}

// alone reports whether the one task that the record names was all that was going on.
func (r flight) alone() bool { return r.leases == 1 && len(r.refs) == 1 }

// writeFlight puts a record into the file; nil is none to write.
func writeFlight(tx *bbolt.Tx, body []byte) error {
	if body == nil {
		return nil
	}
	b, err := tx.CreateBucketIfNotExists([]byte(flightBucket))
	if err != nil {
		return fmt.Errorf("record what is in flight: %w", err)
	}
	return b.Put([]byte(flightKey), seal(body))
}

// readFlight returns the record in the file, also as it is stored.
func readFlight(tx *bbolt.Tx) (flight, []byte, error) {
	var v []byte
	if b := tx.Bucket([]byte(flightBucket)); b != nil {
		v = b.Get([]byte(flightKey))
	}
	if v == nil {
		return flight{}, flight{}.appendTo(nil), nil
	}
	body, ok := unseal(v)
	if !ok {
		return flight{}, nil, fmt.Errorf("read %s: checksum does not match: %w", flightBucket, frontier.ErrDamaged)
	}
	r, ok := parseFlight(body)
	if !ok {
		return flight{}, nil, fmt.Errorf("read %s: %w", flightBucket, frontier.ErrDamaged)
	}
	return r, slices.Clone(body), nil
}
