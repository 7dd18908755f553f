package layout

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
// record of some hundred leases costs nothing but its own bytes.
const flightKey = "leases"

// InFlight is the record, read.
type InFlight struct {
	Leases uint64
	Refs   []Ref
}

// AppendTo writes the record.
func (r InFlight) AppendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, r.Leases)
	last := Ref(0)
	for _, x := range r.Refs {
		b = binary.AppendUvarint(b, uint64(x-last))
		last = x
	}
	return b
}

// parseInFlight reads what AppendTo wrote.
func parseInFlight(body []byte) (r InFlight, ok bool) {
	p := parser{b: body}
	r.Leases = p.uvarint()
	last := Ref(0)
	for p.more() {
		step := p.uvarint()
		if step == 0 || step > 1<<refBits {
			p.fail()
		}
		last += Ref(step)
		r.Refs = append(r.Refs, last)
	}
	return r, p.done()
}

// Alone reports whether the one task that the record names was all that was going on.
func (r InFlight) Alone() bool { return r.Leases == 1 && len(r.Refs) == 1 }

// WriteInFlight puts a record into the file; nil is none to write.
func WriteInFlight(tx *bbolt.Tx, body []byte) error {
	if body == nil {
		return nil
	}
	return tx.Bucket([]byte(flightBucket)).Put([]byte(flightKey), seal(body))
}

// ReadInFlight returns the record in the file, also as it is stored.
func ReadInFlight(tx *bbolt.Tx) (InFlight, []byte, error) {
	v := tx.Bucket([]byte(flightBucket)).Get([]byte(flightKey))
	if v == nil { // of a new file
		return InFlight{}, InFlight{}.AppendTo(nil), nil
	}
	body, ok := unseal(v)
	if !ok {
		return InFlight{}, nil, fmt.Errorf("read %s: checksum does not match: %w", flightBucket, frontier.ErrDamaged)
	}
	r, ok := parseInFlight(body)
	if !ok {
		return InFlight{}, nil, fmt.Errorf("read %s: %w", flightBucket, frontier.ErrDamaged)
	}
	return r, slices.Clone(body), nil
}
