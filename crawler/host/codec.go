package host

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// version is the first byte of a State. The one before has no Hearsay.
const (
	version       = 5
	versionBefore = 4
)

// Append encodes n after b.
func (n *State) Append(b []byte) []byte {
	b = append(b, version)
	for _, d := range n.times {
		b = binary.AppendUvarint(b, uint64(d/time.Microsecond))
	}
	b = binary.AppendVarint(b, n.LastEnd)
	const unused = 0
	for _, v := range []uint64{n.heard, n.Failures, n.Throttles, n.Refusals, n.Pages, n.Sitemaps<<1 | flag(n.Forbidden), n.Run, n.Parks, unused, n.Unknown} {
		b = binary.AppendUvarint(b, v)
	}
	for _, v := range []uint64{flag(n.PageFailed), n.Spaced, flag(n.Proved)} {
		b = binary.AppendUvarint(b, v)
	}
	b = binary.AppendVarint(b, n.SpacedUntil)
	b = binary.AppendVarint(b, n.ProvedAt)
	b = appendOctets(b, n.History)
	b = binary.AppendUvarint(b, uint64(n.Due.Pause/time.Microsecond))
	b = append(b, paceNumber(n.Due.By))
	b = n.Source.append(b)
	b = append(b, byte(flag(n.Lost)))
	b = appendSpot(b, n.Spot)
	return n.Hearsay.append(b)
}

func appendOctets(b, s []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Read decodes what Append wrote; nothing gives the zero State. It holds on to b.
func Read(b []byte) (State, error) {
	if len(b) == 0 {
		return State{}, nil
	}
	if b[0] != version && b[0] != versionBefore {
		return State{}, errVersion
	}
	var n State
	r := decoder{b: b[1:]}
	for i := range n.times {
		n.times[i] = time.Duration(r.uvarint()) * time.Microsecond
	}
	n.LastEnd = r.varint()
	for _, p := range []*uint64{&n.heard, &n.Failures, &n.Throttles, &n.Refusals, &n.Pages} {
		*p = r.uvarint()
	}
	forbidden := r.uvarint()
	n.Forbidden, n.Sitemaps = forbidden&1 != 0, forbidden>>1
	var none uint64 // the one that is unused
	for _, p := range []*uint64{&n.Run, &n.Parks, &none, &n.Unknown} {
		*p = r.uvarint()
	}
	n.PageFailed, n.Spaced, n.Proved = r.uvarint() != 0, r.uvarint(), r.uvarint() != 0
	n.SpacedUntil, n.ProvedAt = r.varint(), r.varint()
	n.History = r.bytes()
	n.Due = r.pace()
	n.Source = r.source()
	n.Lost = r.uvarint() != 0
	n.Spot = r.spot()
	if b[0] >= version {
		n.Hearsay = r.hearsay()
	}
	if r.bad || len(r.b) > 0 {
		return State{}, errDamaged
	}
	return n, nil
}

// decoder takes numbers from b until one is missing.
type decoder struct {
	b   []byte
	bad bool
}

func (r *decoder) uvarint() uint64 {
	v, w := binary.Uvarint(r.b)
	r.skip(w)
	return v
}

func (r *decoder) varint() int64 {
	v, w := binary.Varint(r.b)
	r.skip(w)
	return v
}

// bytes returns a byte string, its length before it; nil for the empty one. It is a part of what is read.
func (r *decoder) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	s := r.b[:n:n]
	r.b = r.b[n:]
	if n == 0 {
		return nil
	}
	return s
}

func (r *decoder) skip(w int) {
	if w <= 0 {
		r.bad, r.b = true, nil
		return
	}
	r.b = r.b[w:]
}

func flag(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

// appendSpot writes what counts of an address: of IPv4 all, of IPv6 the first half.
func appendSpot(b []byte, spot netip.Prefix) []byte {
	if !spot.IsValid() {
		return append(b, 0)
	}
	if addr := spot.Addr(); addr.Is4() {
		a := addr.As4()
		return appendOctets(b, a[:])
	}
	a := spot.Addr().As16()
	return appendOctets(b, a[:8])
}

// spot reads what appendSpot wrote.
func (r *decoder) spot() netip.Prefix {
	var a [16]byte
	switch b := r.bytes(); {
	case len(b) == 4:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(b)), 32)
	case len(b) == 8:
		copy(a[:], b)
		return netip.PrefixFrom(netip.AddrFrom16(a), 64)
	case len(b) > 0:
		r.bad = true
	}
	return netip.Prefix{}
}
