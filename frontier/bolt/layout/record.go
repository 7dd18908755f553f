package layout

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
)

// textSize is how much text a record takes before it is full. A claim unpacks a whole record for one URL, so a small
// one is quick. It also takes less disk: compressed it is a value of about 900 bytes, of which four lie in a page. A
// larger one packs better by itself, but bbolt puts two values at least into each page, and two that do not fit take
// two pages.
const textSize = 2560

// Record is a batch of accepted candidates on its way to disk: claimable from the moment they are in it, because
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
type Record struct {
	ID      uint64
	Entries []frontier.Candidate
	Prints  []frontier.Fingerprint
	spans   []Span
	text    int // bytes
}

// Span is a row of entries of one host.
type Span struct {
	Host uint32
	N    int
}

// Add appends a candidate and returns its place.
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

// countEntries returns the number of entries in spans.
func countEntries(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += s.N
	}
	return n
}

// Full reports whether r takes no more.
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

// ParseBlock unpacks a stored record.
func ParseBlock(body []byte, zip *zstd.Decoder) (*Block, error) {
	b := &Block{}
	if err := b.read(body, zip); err != nil {
		return nil, err
	}
	return b, nil
}

// MaxBlock is how much a block may unpack to. A record is closed once it has textSize; the last entry may bring a
// URL, a via and a seed of 8 KiB each, and a tag.
const MaxBlock = 64 << 20

// Ref says where the text of a URL is: the record, and the place in it. References grow in the order of acceptance,
// so that a host's URLs are in breadth-first order when they are in the order of their references. Zero is none,
// since records are numbered from 1.
type Ref uint64

const (
	placeBits = 7
	MaxPlaces = 1 << placeBits // entries of a record at most
	refBits   = 52             // of a packed ending
)

func MakeRef(record uint64, place int) Ref { return Ref(record<<placeBits | uint64(place)) }

func (r Ref) Record() uint64 { return uint64(r) >> placeBits }
func (r Ref) Place() int     { return int(r & (MaxPlaces - 1)) }
