package bolt

import (
	"fmt"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier"
)

// textSize is how much text a record takes before it is full. A claim unpacks a whole record for one URL, so a small one
// is quick. It also takes less disk: compressed it is a value of about 900 octets, of which four lie in a page. A larger
// one packs better by itself, but bbolt puts two values at least into each page, and two that do not fit take two pages.
const textSize = 2560

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
		return nil, nil, fmt.Errorf("head of a record: %w", frontier.ErrDamaged)
	}
	return spans, p.b, nil
}

// parseBlock unpacks a stored record.
func parseBlock(body []byte, zip *zstd.Decoder) (*block, error) {
	b := &block{}
	if err := b.read(body, zip); err != nil {
		return nil, err
	}
	return b, nil
}

// maxBlock is how much a block may unpack to. A record is closed once it has textSize; the last entry may bring a
// URL, a via and a seed of 8 KiB each, and a tag.
const maxBlock = 64 << 20
