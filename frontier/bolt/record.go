package bolt

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
)

// textSize is how much text a record takes before it is full: compressed it is then a value of about valueSize.
const textSize = 6 << 10

// record is a batch of accepted candidates on its way to disk: claimable from the moment they are in it, because
// their references are known. It is written once and never changed.
//
// On disk it is a head, which is all that a reopen reads, and a block:
//
//	head   number of spans, then for each span: host, entries          (spans are in the order of the places)
//	block  zstd of: number of strings, their lengths,
//	       per entry: kind, depth, hops, embeds, via, seed, tag, length of the target   (via, seed, tag: a string, or 0)
//	       the strings, the targets
//
// Numbers are uvarints. Vias, seeds and tags are shared within the record alone: a crawl can have a million seeds.
type record struct {
	id      uint64
	entries []frontier.Candidate
	prints  []frontier.Fingerprint
	spans   []span
	text    int // octets
}

// span is a row of entries of one host.
type span struct {
	host uint32
	n    int
}

// add appends a candidate and returns its place.
func (r *record) add(host uint32, c frontier.Candidate, p frontier.Fingerprint) int {
	if n := len(r.spans); n > 0 && r.spans[n-1].host == host {
		r.spans[n-1].n++
	} else {
		r.spans = append(r.spans, span{host: host, n: 1})
	}
	if n := len(r.entries); n == 0 || r.entries[n-1].Via != c.Via {
		r.text += len(c.Via)
	}
	r.text += len(c.URL.RequestURI())
	r.entries = append(r.entries, c)
	r.prints = append(r.prints, p)
	return len(r.entries) - 1
}

// entries returns the number of entries in spans.
func entries(spans []span) int {
	n := 0
	for _, s := range spans {
		n += s.n
	}
	return n
}

// full reports whether r takes no more.
func (r *record) full() bool { return len(r.entries) == maxPlaces || r.text >= textSize }

// appendTo writes r as it is stored.
func (r *record) appendTo(b []byte, zip *zstd.Encoder) []byte {
	b = binary.AppendUvarint(b, uint64(len(r.spans)))
	for _, s := range r.spans {
		b = binary.AppendUvarint(b, uint64(s.host))
		b = binary.AppendUvarint(b, uint64(s.n))
	}
	return zip.EncodeAll(r.block(), b)
}

// awayAt is where a row's first number has Away, above the octet of the kind: hardly any entry has it.
const awayAt = 8

// block returns the text of r, before compression.
func (r *record) block() []byte {
	var t stringTable
	var rows []byte
	for i := range r.entries {
		c := &r.entries[i]
		for _, n := range [...]uint64{
			uint64(c.Kind) | uint64(c.Away)<<awayAt, uint64(c.Depth), uint64(c.Hops), uint64(c.Embeds),
			t.add(c.Via), t.add(c.Seed), t.add(c.Tag), uint64(len(c.URL.RequestURI())),
		} {
			rows = binary.AppendUvarint(rows, n)
		}
	}
	b := binary.AppendUvarint(nil, uint64(len(t.strings)))
	for _, s := range t.strings {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	b = append(b, rows...)
	for _, s := range t.strings {
		b = append(b, s...)
	}
	for i := range r.entries {
		b = append(b, r.entries[i].URL.RequestURI()...)
	}
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

// parseHead reads the head of a stored record, and returns the compressed block behind it.
func parseHead(body []byte, spans []span) ([]span, []byte, error) {
	p := parser{b: body}
	total := uint64(0)
	for n := p.uvarint(); n > 0 && !p.bad; n-- {
		host, entries := p.uvarint(), p.uvarint()
		total += entries
		if entries == 0 || total > maxPlaces || host != uint64(uint32(host)) {
			p.fail()
		}
		spans = append(spans, span{host: uint32(host), n: int(entries)})
	}
	if p.bad || total == 0 {
		return nil, nil, fmt.Errorf("head of a record: %w", ErrDamaged)
	}
	return spans, p.b, nil
}

// parseBlock unpacks a stored record.
func parseBlock(body []byte, zip *zstd.Decoder) (*block, error) {
	spans, packed, err := parseHead(body, nil)
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 {
		return &block{spans: spans}, nil
	}
	raw, err := zip.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("block of a record: %w: %w", err, ErrDamaged)
	}
	return newBlock(spans, raw)
}

// newZip returns the compressor of records: zstd, the default level. On records of 6 KiB of URLs it packs as tightly
// as deflate and unpacks three times as fast (10 µs); s2 is twice as fast again but takes half as much disk more.
func newZip() (*zstd.Encoder, *zstd.Decoder, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, nil, fmt.Errorf("frontier/bolt: set up zstd: %w", err)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock))
	if err != nil {
		return nil, nil, fmt.Errorf("frontier/bolt: set up zstd: %w", err)
	}
	return w, r, nil
}

// maxBlock is how much a block may unpack to. A record is closed once it has textSize; the last entry may bring a
// URL, a via and a seed of 8 KiB each, and a tag.
const maxBlock = 64 << 20
