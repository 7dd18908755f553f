package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Block is a stored record, unpacked.
type Block struct {
	Spans   []Span
	raw     []byte
	strings uint64 // their number
	lengths []byte // of the strings, and what follows
	text    []byte // the strings, the targets
	rows    []row
}

// row says where an entry is. Places of all entries are found together: a turn has several tasks, most of them out of
// one record, and an export reads all.
type row struct {
	at     uint32 // of its numbers, from the first length
	target uint32 // of its target, in the text
}

// numbers is how many there are of an entry before the text.
const numbers = 8

// index finds the entries of b, whose spans are known, in what it was unpacked to.
func (b *Block) index(raw []byte) error {
	b.raw, b.rows = raw, slices.Grow(b.rows[:0], b.Len())[:b.Len()]
	p := parser{b: raw}
	b.strings = p.uvarint()
	b.lengths = p.b
	total := uint64(0)
	for i := b.strings; i > 0 && !p.bad; i-- {
		total += min(p.uvarint(), math.MaxUint32) // more than there can be, and a sum that does not run over
	}
	highest := uint64(0)
	var n [numbers]uint64
	for i := range b.rows {
		b.rows[i] = row{at: uint32(len(b.lengths) - len(p.b)), target: uint32(total)}
		p.row(&n)
		highest = max(highest, n[4], n[5], n[6])
		total += min(n[7], math.MaxUint32)
	}
	b.text = p.b
	if p.bad || uint64(len(p.b)) != total || highest > b.strings || len(raw) > math.MaxUint32 {
		return fmt.Errorf("entries of a block: %w", frontier.ErrDamaged)
	}
	return nil
}

// row reads the eight numbers of an entry. Mostly all are below 128, and then they are eight bytes that one look tells
// from longer ones: the walk over a record is much of what a claim costs.
func (p *parser) row(r *[numbers]uint64) {
	if len(p.b) >= len(r) {
		if x := binary.LittleEndian.Uint64(p.b); x&0x8080808080808080 == 0 {
			for k := range r {
				r[k] = x >> (8 * k) & 0xff
			}
			p.b = p.b[len(r):]
			return
		}
	}
	for k := range r {
		r[k] = p.uvarint()
	}
}

// Forgotten reports whether compacting dropped the text: of such a record there are hosts, fingerprints and endings.
func (b *Block) Forgotten() bool { return b.raw == nil }

// Host returns the host of the entry at place; ok is false when there is no such entry.
func (b *Block) Host(place int) (host uint32, ok bool) {
	for _, s := range b.Spans {
		if place < s.N {
			return s.Host, true
		}
		place -= s.N
	}
	return 0, false
}

// Len returns the number of entries.
func (b *Block) Len() int { return countEntries(b.Spans) }

// Entry returns the candidate at place, an entry of the authority a.
func (b *Block) Entry(place int, a canon.Authority) (frontier.Candidate, error) {
	if place >= len(b.rows) {
		return frontier.Candidate{}, fmt.Errorf("entry %d of %d: %w", place, len(b.rows), frontier.ErrDamaged)
	}
	at := b.rows[place]
	p := parser{b: b.lengths[at.at:]}
	var n [numbers]uint64
	p.row(&n)
	u, err := a.URL(string(b.text[at.target:][:n[7]]))
	if err != nil {
		return frontier.Candidate{}, fmt.Errorf("entry %d: %w: %w", place, err, frontier.ErrDamaged)
	}
	return frontier.Candidate{
		URL: u, Kind: frontier.Kind(n[0]), Depth: int(n[1]), Hops: int(n[2]), Embeds: int(n[3]), Away: int(n[0] >> awayAt),
		Via: b.word(n[4]), Seed: b.word(n[5]), Tag: b.word(n[6]),
	}, nil
}

// word returns string number n; number 0 is the empty one.
func (b *Block) word(n uint64) string {
	if n == 0 {
		return ""
	}
	p := parser{b: b.lengths}
	from := uint64(0)
	for i := uint64(1); i < n; i++ {
		from += p.uvarint()
	}
	return string(b.text[from : from+p.uvarint()])
}
