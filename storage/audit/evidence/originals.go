package evidence

import (
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// originals remembers the claims of the last responses about themselves, in fixed memory, to compare revisits with them. Unlike
// bloomFilter it takes no response for another.
type originals struct {
	rows []original
	seed maphash.Seed
}

type original struct {
	key     uint64 // of the record's id, or of URL and date
	label   uint32 // of the payload digest, with its length, for alphabets differ in that; 0 without one
	payload uint32
	from    uint64 // URL and date
	id      uint64 // of the record
	bare    bool   // the archive has neither its body nor a digest of it, as after a redaction
}

const maxOriginals = 1 << 17 // 4 MiB

func (o *originals) hash(s string) uint64 { return maphash.String(o.seed, s) | 1 }

// of makes an answer's claims comparable. Digests are written in several alphabets, and their case is insignificant.
func (o *originals) of(key, payload, uri, date string) original {
	row := original{key: o.hash(key), from: o.hash(uri + "\n" + date)}
	if label, value, ok := strings.Cut(payload, ":"); ok {
		value = strings.TrimRight(value, "=")
		row.label = uint32(o.hash(strings.Replace(strings.ToLower(label), "sha-", "sha", 1) + strconv.Itoa(len(value))))
		row.payload = uint32(o.hash(strings.ToLower(value)) >> 1)
	}
	return row
}

func (o *originals) add(row original) { o.rows[row.key>>1%maxOriginals] = row }

func (o *originals) find(key string) (original, bool) {
	k := o.hash(key)
	row := o.rows[k>>1%maxOriginals]
	return row, row.key == k
}

// dated writes an instant as the crawl does, in either case.
func dated(s string) string {
	if t, _, ok := instant(s); ok {
		return t.Format(time.RFC3339Nano)
	}
	return s
}

func (rd *Reader) refersTo(h *partial, rec *warc.Record, at finding.Place) {
	id, uri := finding.Short(strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>")),
		strings.Trim(rec.Fields.Get("WARC-Refers-To-Target-URI"), "<>")
	date := rec.Fields.Get("WARC-Refers-To-Date")
	key := id
	if key == "" && rd.ours() { // others may have several answers of one second
		key = uri + "\n" + dated(date)
	}
	row := rd.originals.of(key, h.Payload, uri, dated(date))
	same := h.Revisit == ProfileIdentical
	if rd.ours() {
		if same && row.label == 0 {
			rd.bad(at, h.URL, "the payload digest of the original of a revisit (WARC 1.1, 6.7.2)", "none")
		}
		if uri == "" || date == "" {
			rd.bad(at, h.URL, "WARC-Refers-To-Target-URI and -Date in a revisit (archive reference)", "not both")
		}
	}
	if is, ok := rd.originals.find(uri + "\n" + dated(date)); ok && rd.o.Ours && is.id != rd.originals.hash(id) {
		rd.bad(at, h.URL, "the record that a revisit refers to (WARC 1.1, 5.15)",
			"WARC-Refers-To "+strconv.Quote(id)+", and the answer of that URL and date is another record")
		return
	}
	was, ok := rd.originals.find(key)
	if !ok {
		return
	}
	switch {
	case same && rd.ours() && was.bare && was.from == row.from:
		h.Repeats = id // the ledger records whether it was redacted, and its content
	case same && row.label != 0 && was.label == row.label && was.payload != row.payload,
		same && rd.ours() && was.label != row.label:
		rd.bad(at, h.URL, "a revisit of an answer with the same payload digest (WARC 1.1, 6.7.2)",
			"that of "+key+" is another")
	case rd.ours() && was.from != row.from:
		rd.bad(at, h.URL, "URL and date of the original of a revisit (WARC 1.1, 5.16 and 5.17)",
			"WARC-Refers-To-Target-URI "+finding.Short(uri)+" and -Date "+finding.Short(date)+
				", which are not those of "+key)
	}
}

func (rd *Reader) original(h *partial, rec *warc.Record, at finding.Place) {
	if rec.Type != "response" {
		return
	}
	from := h.URL + "\n" + dated(h.date)
	row := rd.originals.of(at.Record, h.Payload, h.URL, dated(h.date))
	row.id, row.bare = row.key, h.Payload == "" && h.Cut == CutUnread
	rd.originals.add(row)
	row.key = rd.originals.hash(from)
	rd.originals.add(row)
}

// bloomFilter remembers record ids in fixed memory: about 1 % false positives after three million, no false negatives.
type bloomFilter struct {
	bits []uint64
	seed maphash.Seed
}

const seenBits = 1 << 25 // 4 MiB

func (s *bloomFilter) places(id string) [4]uint64 {
	h := maphash.String(s.seed, id)
	a, b := h&(1<<32-1), h>>32|1
	var p [4]uint64
	for i := range p {
		p[i] = (a + uint64(i)*b) % seenBits
	}
	return p
}

func (s *bloomFilter) add(id string) {
	for _, p := range s.places(id) {
		s.bits[p/64] |= 1 << (p % 64)
	}
}

func (s *bloomFilter) has(id string) bool {
	for _, p := range s.places(id) {
		if s.bits[p/64]&(1<<(p%64)) == 0 {
			return false
		}
	}
	return true
}
