package layout

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// textSize is the size of the text of a full record. A claim unpacks a whole record for one URL, so a small one is
// quick. It also takes less disk: compressed it is a value of about 900 bytes, of which four fit a page. A larger one
// packs better, but bbolt puts at least two values into each page, and two that do not fit take two pages.
const textSize = 2560

// Record is a batch of accepted candidates on its way to disk. They can be claimed at once, because their references
// are known. It is written once and never changed.
//
// On disk it is a head, which is all that a reopen reads, and a block:
//
//	head   number of spans, then for each span: host, entries          (spans are in the order of the places)
//	block  zstd of: number of strings, their lengths,
//	       per entry: kind, depth, hops, embeds, via, seed, tag, length of the target   (via, seed, tag: a string, or 0)
//	       the strings, the targets
//
// Numbers are uvarints. Vias, seeds and tags are shared only within the record: a crawl can have a million seeds.
type Record struct {
	ID      uint64
	Entries []frontier.Candidate
	Prints  []frontier.Fingerprint
	spans   []Span
	text    int // bytes
}

// Span is a run of entries of one host.
type Span struct {
	Host uint32
	N    int
}

func (r *Record) Add(host uint32, c frontier.Candidate, p frontier.Fingerprint) int {
	if n := len(r.spans); n > 0 && r.spans[n-1].Host == host {
		r.spans[n-1].N++
	} else {
		r.spans = append(r.spans, Span{Host: host, N: 1})
	}
	if n := len(r.Entries); n == 0 || r.Entries[n-1].Via != c.Via {
		r.text += len(c.Via)
	}
	r.text += len(c.URL.RequestURI())
	r.Entries = append(r.Entries, c)
	r.Prints = append(r.Prints, p)
	return len(r.Entries) - 1
}

func countEntries(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += s.N
	}
	return n
}

func (r *Record) Full() bool { return len(r.Entries) == MaxPlaces || r.text >= textSize }

// ParseHead reads the head of a stored record, and returns the compressed block behind it.
func ParseHead(body []byte, spans []Span) ([]Span, []byte, error) {
	p := parser{b: body}
	total := uint64(0)
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		host, entries := p.uvarint(), p.uvarint()
		total += entries
		if entries == 0 || total > MaxPlaces || host != uint64(uint32(host)) {
			p.fail()
		}
		spans = append(spans, Span{Host: uint32(host), N: int(entries)})
	}
	if p.bad || total == 0 {
		return nil, nil, fmt.Errorf("head of a record: %w", frontier.ErrDamaged)
	}
	return spans, p.b, nil
}

func ParseBlock(body []byte, zip *zstd.Decoder) (*Block, error) {
	b := &Block{}
	if err := b.read(body, zip); err != nil {
		return nil, err
	}
	return b, nil
}

// MaxBlock bounds an unpacked block. A record is full at textSize; the last entry may add a URL, a via and a seed of
// 8 KiB each, and a tag.
const MaxBlock = 64 << 20

// Ref is the place of the text of a URL: the record, and the place in it. References grow in the order of acceptance,
// so their order is breadth first within a host. Zero is not a reference, since records are numbered from 1.
type Ref uint64

const (
	placeBits = 7
	MaxPlaces = 1 << placeBits // entries of a record at most
	refBits   = 52             // of a packed ending
)

func MakeRef(record uint64, place int) Ref { return Ref(record<<placeBits | uint64(place)) }

func (r Ref) Record() uint64 { return uint64(r) >> placeBits }
func (r Ref) Place() int     { return int(r & (MaxPlaces - 1)) }

type Block struct {
	Spans   []Span
	raw     []byte
	strings uint64 // number of strings
	lengths []byte // of the strings, then the rows
	text    []byte // the strings, the targets
	rows    []row
}

// row is the place of an entry. All rows are found together: a turn has several tasks, most of them from one record,
// and an export reads all.
type row struct {
	at     uint32 // of its numbers, in lengths
	target uint32 // of its target, in text
}

const numbers = 8 // of an entry, before the text

// index finds the entries of b, whose spans are known, in the unpacked block.
func (b *Block) index(raw []byte) error {
	b.raw, b.rows = raw, slices.Grow(b.rows[:0], b.Len())[:b.Len()]
	p := parser{b: raw}
	b.strings = p.uvarint()
	b.lengths = p.b
	total := uint64(0)
	for i := b.strings; i > 0 && !p.bad; i-- {
		total += min(p.uvarint(), math.MaxUint32) // more than there can be, and the sum cannot overflow
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

// row reads the eight numbers of an entry. Mostly all are below 128, and then one comparison of eight bytes suffices:
// the walk over a record is much of the cost of a claim.
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

// Forgotten reports whether compacting dropped the text: hosts, fingerprints and endings remain.
func (b *Block) Forgotten() bool { return b.raw == nil }

func (b *Block) Host(place int) (host uint32, ok bool) {
	for _, s := range b.Spans {
		if place < s.N {
			return s.Host, true
		}
		place -= s.N
	}
	return 0, false
}

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

// Zipper packs records one after the other, in reused memory.
type Zipper struct {
	zip     *zstd.Encoder
	strings stringTable
	rows    []byte
	raw     []byte
}

// NewZip returns an encoder and a decoder of records: zstd, the default level. It packs records of URLs as tightly as
// deflate and unpacks them three times as fast; s2 is twice as fast again but takes half as much disk more.
func NewZip() (*Zipper, *zstd.Decoder, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, nil, fmt.Errorf("frontier/bolt: set up zstd: %w", err)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxBlock))
	if err != nil {
		return nil, nil, fmt.Errorf("frontier/bolt: set up zstd: %w", err)
	}
	return &Zipper{zip: w}, r, nil
}

func (r *Record) AppendTo(b []byte, zip *Zipper) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.spans)))
	for _, s := range r.spans {
		b = binary.AppendUvarint(b, uint64(s.Host))
		b = binary.AppendUvarint(b, uint64(s.N))
	}
	return zip.zip.EncodeAll(zip.block(r), b)
}

// awayAt is the shift of Away in a row's first number, above the kind: hardly any entry has it.
const awayAt = 8

// block returns the text of r before compression, valid until the next call.
func (z *Zipper) block(r *Record) []byte {
	t := &z.strings
	clear(t.strings) // so that none is held
	t.strings = t.strings[:0]
	clear(t.numbers)
	rows := z.rows[:0]
	for i := range r.Entries {
		c := &r.Entries[i]
		for _, n := range [...]uint64{
			uint64(c.Kind) | uint64(c.Away)<<awayAt, uint64(c.Depth), uint64(c.Hops), uint64(c.Embeds),
			t.add(c.Via), t.add(c.Seed), t.add(c.Tag), uint64(len(c.URL.RequestURI())),
		} {
			rows = binary.AppendUvarint(rows, n)
		}
	}
	all := t.strings
	b := binary.AppendUvarint(z.raw[:0], uint64(len(all)))
	for _, s := range all {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	b = append(b, rows...)
	for _, s := range all {
		b = append(b, s...)
	}
	for i := range r.Entries {
		b = append(b, r.Entries[i].URL.RequestURI()...)
	}
	z.rows, z.raw = rows, b
	return b
}

// stringTable numbers strings from 1; the empty one is 0.
type stringTable struct {
	strings []string
	numbers map[string]uint64
}

func (t *stringTable) add(s string) uint64 {
	if s == "" {
		return 0
	}
	n, ok := t.numbers[s]
	if !ok {
		if t.numbers == nil {
			t.numbers = map[string]uint64{}
		}
		t.strings = append(t.strings, s)
		n = uint64(len(t.strings))
		t.numbers[s] = n
	}
	return n
}

// Blocks unpacks records for claims, and caches the last ones: a host's tasks are often claimed one by one out of the
// same record. A record has one fixed slot, and is unpacked into the memory of the one that it replaces: when the cache
// is too small each claim unpacks a record, and must not leave 5 KiB of garbage.
type Blocks struct {
	Zip   *zstd.Decoder
	slots [512]cachedBlock // of about 5 KiB each
}

type cachedBlock struct {
	mu    sync.Mutex // held while an entry, which copies, is read
	id    uint64     // zero for none
	block Block
}

// Entry returns the candidate at r, an entry of the authority a.
func (b *Blocks) Entry(records *Lookup, r Ref, a canon.Authority) (frontier.Candidate, error) {
	id := r.Record()
	slot := &b.slots[id%uint64(len(b.slots))]
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.id != id {
		slot.id = 0
		body, err := records.Get(id)
		if err != nil {
			return frontier.Candidate{}, err
		}
		if err := slot.block.read(body, b.Zip); err != nil {
			return frontier.Candidate{}, fmt.Errorf("read %s: value %d: %w", RecordJournal, id, err)
		}
		slot.id = id
	}
	c, err := slot.block.Entry(r.Place(), a)
	if err != nil {
		return c, fmt.Errorf("read %s: value %d: %w", RecordJournal, id, err)
	}
	return c, nil
}

const largeBlock = 4 * textSize // larger memory, which few blocks need, is not kept

// read unpacks a stored record into b, in its memory.
func (b *Block) read(body []byte, zip *zstd.Decoder) error {
	spans, packed, err := ParseHead(body, b.Spans[:0])
	if err != nil {
		return err
	}
	old := b.raw
	if cap(old) > largeBlock {
		old = nil
	}
	*b = Block{Spans: spans, rows: b.rows[:0]}
	if len(packed) == 0 {
		return nil
	}
	raw, err := zip.DecodeAll(packed, old[:0])
	if err != nil {
		return fmt.Errorf("block of a record: %w: %w", err, frontier.ErrDamaged)
	}
	return b.index(raw)
}

// parser reads the encodings of encoding/binary. After the first failure it is bad and returns zeros: callers read a
// whole item and check once.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) uvarint() uint64 {
	if b := p.b; len(b) > 0 && b[0] < 0x80 {
		p.b = b[1:]
		return uint64(b[0])
	}
	return p.long()
}

// long reads a number of more than one byte.
func (p *parser) long() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}

// bytes reads n bytes. They are shared with the input.
func (p *parser) bytes(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.fail()
		return nil
	}
	b := p.b[:n:n]
	p.b = p.b[n:]
	return b
}

func (p *parser) text() string { return string(p.bytes(p.uvarint())) }

// done reports whether all input was read without a failure.
func (p *parser) done() bool { return !p.bad && len(p.b) == 0 }

func (p *parser) more() bool { return !p.bad && len(p.b) > 0 }

func (p *parser) fail() { p.b, p.bad = nil, true }

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (p *parser) varint() int64 {
	v, n := binary.Varint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}
