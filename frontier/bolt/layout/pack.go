package layout

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Zipper packs records one after the other, in memory that it uses again.
type Zipper struct {
	zip     *zstd.Encoder
	strings stringTable
	rows    []byte
	raw     []byte
}

// NewZip returns what packs records and what unpacks them: zstd, the default level. It packs records of URLs as tightly
// as deflate and unpacks them three times as fast; s2 is twice as fast again but takes half as much disk more.
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

// AppendTo writes r as it is stored.
func (r *Record) AppendTo(b []byte, zip *Zipper) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.spans)))
	for _, s := range r.spans {
		b = binary.AppendUvarint(b, uint64(s.Host))
		b = binary.AppendUvarint(b, uint64(s.N))
	}
	return zip.zip.EncodeAll(zip.block(r), b)
}

// awayAt is where a row's first number has Away, above the byte of the kind: hardly any entry has it.
const awayAt = 8

// block returns the text of r, before compression. It is valid until the next call.
func (z *Zipper) block(r *Record) []byte {
	z.strings.clear()
	rows := z.rows[:0]
	for i := range r.Entries {
		c := &r.Entries[i]
		for _, n := range [...]uint64{
			uint64(c.Kind) | uint64(c.Away)<<awayAt, uint64(c.Depth), uint64(c.Hops), uint64(c.Embeds),
			z.strings.add(c.Via), z.strings.add(c.Seed), z.strings.add(c.Tag), uint64(len(c.URL.RequestURI())),
		} {
			rows = binary.AppendUvarint(rows, n)
		}
	}
	all := z.strings.strings
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

// clear forgets all strings.
func (t *stringTable) clear() {
	clear(t.strings) // so that none is held
	t.strings = t.strings[:0]
	clear(t.numbers)
}

// Blocks unpacks records for claims, and remembers the last ones: a host's tasks are often claimed one by one out of
// the same record. Which record stands where is fixed, so that there is no order to keep. A record is unpacked into the
// memory of the one that it drives out: with more records than can be remembered each claim unpacks one, and must not
// leave 5 KiB of garbage.
type Blocks struct {
	Zip   *zstd.Decoder
	slots [512]remembered // of about 5 KiB each
}

type remembered struct {
	mu    sync.Mutex // held while an entry is read: an entry takes copies
	id    uint64     // zero for none
	block Block
}

// Entry returns the candidate that r stands for, an entry of the authority a.
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

// largeBlock is what a block may have unpacked to whose memory is kept for the next one. A few are much larger.
const largeBlock = 4 * textSize

// read unpacks a stored record into b, in the memory of what was there.
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

// parser reads what the append functions of encoding/binary wrote. After the first thing that is not there it is bad
// and everything it returns is zero: callers read a whole item and ask once.
type parser struct {
	b   []byte
	bad bool
}

// uvarint reads a number. Most have one byte.
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

// text reads a string with its length in front.
func (p *parser) text() string { return string(p.bytes(p.uvarint())) }

// done reports whether everything was read and all of it was there.
func (p *parser) done() bool { return !p.bad && len(p.b) == 0 }

// more reports whether something is left to read.
func (p *parser) more() bool { return !p.bad && len(p.b) > 0 }

func (p *parser) fail() { p.b, p.bad = nil, true }

// appendText writes a string with its length in front.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// varint reads a number with a sign.
func (p *parser) varint() int64 {
	v, n := binary.Varint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}
