package robots

import (
	"encoding/binary"
	"fmt"
)

// MaxState is the length in octets that an encoded State never exceeds.
const MaxState = 8 << 10

// stateVersion is the first octet of an encoded State.
const stateVersion = 1

// AppendBinary appends s in the form that UnmarshalBinary reads, at most MaxState octets. The error is always nil.
func (s State) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, stateVersion, byte(s.kind), byte(s.flags), bit(s.hasBody)|bit(s.chain.down)<<1)
	for _, v := range s.times() {
		b = binary.AppendVarint(b, *v)
	}
	for _, v := range s.counts() {
		b = binary.AppendUvarint(b, uint64(*v))
	}
	for _, v := range s.texts() {
		b = binary.AppendUvarint(b, uint64(len(*v)))
		b = append(b, *v...)
	}
	if s.hasBody {
		b = append(b, s.digest[:]...)
	}
	for _, h := range s.chain.asked() {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return b, nil
}

// UnmarshalBinary reads what AppendBinary wrote. No octets at all give the zero State. On an error s is unchanged.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		*s = State{}
		return nil
	}
	if b[0] != stateVersion {
		return fmt.Errorf("robots: read state: format %d, want %d", b[0], stateVersion)
	}
	var t State
	d := decoder{b: b[1:]}
	t.kind, t.flags = kind(d.octet()), Flags(d.octet())
	bits := d.octet()
	t.hasBody, t.chain.down = bits&1 != 0, bits&2 != 0
	for _, v := range t.times() {
		*v = d.varint()
	}
	for _, v := range t.counts() {
		*v = d.count()
	}
	for _, v := range t.texts() {
		*v = string(d.take(d.count()))
	}
	if t.hasBody {
		copy(t.digest[:], d.take(len(t.digest)))
	}
	if t.chain.hops > maxHops {
		d.bad = true
	}
	if !d.bad {
		for i := range t.chain.asked() {
			t.chain.seen[i] = binary.BigEndian.Uint64(d.take(8))
		}
	}
	if d.bad || len(d.b) > 0 || bits > 3 || !t.sound() {
		return fmt.Errorf("robots: read state: the %d bytes are damaged", len(b))
	}
	*s = t
	return nil
}

// times, counts and texts list the fields that are encoded alike, in the order of the format.
func (s *State) times() [6]*int64 {
	return [...]*int64{&s.fetched, &s.expires, &s.tried, &s.firstFailure, &s.retry, &s.chain.since}
}

func (s *State) counts() [3]*int { return [...]*int{&s.status, &s.failures, &s.chain.hops} }

func (s *State) texts() [5]*string {
	return [...]*string{&s.final, &s.etag, &s.modified, &s.failure, &s.chain.next}
}

// asked returns the part of seen that is in use.
func (c *chain) asked() []uint64 {
	if c.hops == 0 {
		return nil
	}
	return c.seen[:c.hops+1]
}

// sound reports whether s could have been made by Next.
func (s *State) sound() bool {
	return s.kind < kinds && s.flags < flagsEnd &&
		(s.kind != ruled || s.hasBody) &&
		(s.chain.hops > 0) == (s.chain.next != "") &&
		len(s.final) <= maxURL && len(s.chain.next) <= maxURL && len(s.failure) <= maxFailure &&
		len(s.etag) <= maxValidator && len(s.modified) <= maxValidator
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// decoder takes a State apart. After the first thing that is not there, bad is set and all else is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.bad = true
		return make([]byte, 0, 8)[:min(n, 8)]
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) octet() byte { return d.take(1)[0] }

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) count() int {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	if v > 1<<30 {
		d.bad = true
		return 0
	}
	return int(v)
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad = true
		return
	}
	d.b = d.b[n:]
}
