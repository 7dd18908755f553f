package trap

import (
	"encoding/binary"
	"errors"
	"slices"
)

// MaxSize bounds the bytes of a History.
const MaxSize = 3 << 10

const version = 1

var errDamaged = errors.New("trap: the history of a host is damaged")

// Append encodes h after b: a version; both tables, the windows, the shapes, the parents, each with its length first.
// Nothing is written of a host never met.
func (h *History) Append(b []byte) []byte {
	if len(h.paths)+len(h.templates)+len(h.windows)+len(h.shapes)+len(h.parents) == 0 {
		return b
	}
	b = append(slices.Grow(b, 64+8*(len(h.paths)+len(h.templates)+len(h.parents))+32*len(h.windows)+2*len(h.shapes)),
		version)
	for _, entries := range [][]entry{h.paths, h.templates} {
		b = binary.AppendUvarint(b, uint64(len(entries)))
		for _, e := range entries {
			b = binary.BigEndian.AppendUint32(b, uint32(e.group))
			b = binary.AppendUvarint(b, uint64(e.n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(h.windows)))
	for _, w := range h.windows {
		b = binary.BigEndian.AppendUint32(b, uint32(w.group))
		b = append(b, byte(w.n))
		for i := range span / 8 {
			b = append(b, byte(w.fresh[i/8]>>(i%8*8)))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(h.shapes)))
	for _, s := range h.shapes {
		b = binary.BigEndian.AppendUint16(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(h.parents)))
	for _, p := range h.parents {
		b = append(binary.BigEndian.AppendUint32(b, p.print), p.copy)
	}
	return b
}

// Read decodes what Append wrote; nothing gives the zero History.
func Read(b []byte) (History, error) {
	if len(b) == 0 {
		return History{}, nil
	}
	r := reader{b: b}
	var h History
	if r.octet() != version {
		return h, errDamaged
	}
	h.paths = r.entries(maxPaths)
	h.templates = r.entries(maxTemplates)
	h.windows = list(&r, maxWindows, func() window {
		w := window{group: group(r.uint32()), n: int(r.octet())}
		for i := range span / 8 {
			w.fresh[i/8] |= uint64(r.octet()) << (i % 8 * 8)
		}
		r.bad = r.bad || w.n > span
		return w
	})
	h.shapes = list(&r, maxShapes, func() uint16 { return uint16(r.octet())<<8 | uint16(r.octet()) })
	h.parents = list(&r, maxParents, func() parent { return parent{r.uint32(), r.octet()} })
	if r.bad || len(r.b) > 0 {
		return History{}, errDamaged
	}
	return h, nil
}

// reader takes numbers from b until one is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) octet() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uint32() uint32 {
	if len(r.b) < 4 {
		r.bad, r.b = true, nil
		return 0
	}
	v := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

// uvarint takes a number of at most so much.
func (r *reader) uvarint(most uint64) uint64 {
	v, w := binary.Uvarint(r.b)
	if w <= 0 || v > most {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[w:]
	return v
}

func (r *reader) entries(most int) []entry {
	return list(r, most, func() entry {
		e := entry{group: group(r.uint32()), n: uint32(r.uvarint(MaxLimit))}
		r.bad = r.bad || e.n == 0
		return e
	})
}

// list takes a list of at most so many, its length first, with room for one more.
func list[E any](r *reader, most int, one func() E) []E {
	n := int(r.uvarint(uint64(most)))
	if n == 0 {
		return nil
	}
	es := make([]E, 0, n+1)
	for range n {
		es = append(es, one())
	}
	return es
}
