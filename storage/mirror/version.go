package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/warc"
)

// place says where a record stands.
type place struct {
	segment        int32
	offset, length int64
}

// version is an archived answer as a version of its URL, with the decision that it belongs to.
type version struct {
	*answer.Answer
	at        place
	sniffed   string // media type by its first bytes, where it names none
	noArchive bool
	decision  storage.Decision // of the metadata record; "" without one
	linked    bool             // it settled a URL that was found, though the crawler requested it for itself
}

// status is that of a whole head, or 0.
func (v *version) status() int {
	if !v.Complete {
		return 0
	}
	return v.Status
}

// headOctets is how much of an archived answer is read for what its head says: compressed, some 3 KiB.
const headOctets = 1 << 10

// read reads the answer at a place, without its body.
func (o *opened) read(from *warc.Places, at place) (*version, error) {
	a, err := o.readHead(from, at, warc.Stretch{Offset: at.offset, Length: headOctets, Only: true})
	if err != nil { // the head is longer, or wrong; or only the body can tell the type
		a, err = o.readHead(from, at, warc.Stretch{Offset: at.offset, Length: at.length})
	}
	if err != nil {
		return nil, err
	}
	o.readMetadata(from, a)
	return a, nil
}

// errShort says that a stretch of an answer is too short.
var errShort = errors.New("the head continues")

// readHead reads what the head of an answer says from a stretch of the file. With more bytes than
// there are to read it would say the same.
func (o *opened) readHead(from *warc.Places, at place, s warc.Stretch) (*version, error) {
	in, err := from.Lenient(o.segments[at.segment], s, nil)
	if err != nil {
		return nil, err
	}
	rec, err := in.Next()
	if err != nil {
		return nil, err
	}
	if rec.Offset != at.offset {
		return nil, fmt.Errorf("no record at byte %d", at.offset)
	}
	head, err := answer.Read(rec, 0)
	if err != nil {
		return nil, err
	}
	if head.Undated != nil {
		return nil, head.Undated
	}
	v := &version{Answer: head, at: at}
	for _, value := range v.Header.Values("X-Robots-Tag") {
		v.noArchive = v.noArchive || forbids(value)
	}
	sniffs := !v.Revisit && v.status()/100 == 2 && v.Type().Unnamed()
	if s.Only && (sniffs || !v.Complete) {
		return nil, errShort
	}
	if sniffs {
		v.sniffed = v.Sniff()
	}
	return v, nil
}

// forbids reports whether a value of X-Robots-Tag asks every robot not to archive. The crawler understood
// the wish of a page itself, or to one robot: its metadata has it.
func forbids(value string) bool {
	return storage.HasDirective(value, "noarchive") || storage.HasDirective(value, "nocache")
}

// metadataOctets is how much is read at once of a metadata record: more than most have.
const metadataOctets = 2 << 10

// readMetadata takes the crawler's decision from the metadata record behind an answer, if that is what stands there.
func (o *opened) readMetadata(from *warc.Places, a *version) {
	if a.at.length <= 0 {
		return
	}
	in, err := from.Lenient(o.segments[a.at.segment],
		warc.Stretch{Offset: a.at.offset + a.at.length, Length: metadataOctets}, nil)
	if err != nil {
		return
	}
	rec, err := in.Next()
	if err != nil {
		return
	}
	line, ok := answer.Decision(rec, a.ID)
	if !ok {
		return
	}
	a.decision, a.linked = line.Decision, line.Kind != ""
	a.noArchive = a.noArchive || storage.HasDirective(line.Directives, "noarchive")
}

// maxReferences is how many revisits of revisits are followed.
const maxReferences = 4

// original returns the answer that has the body of a: itself, or what it is a revisit of.
func (o *opened) original(from *warc.Places, a *version, url string) (*version, error) {
	for range maxReferences {
		if !a.Revisit {
			return a, nil
		}
		if a.Refers.URL != "" {
			url = a.Refers.URL
		}
		next, err := o.refersTo(from, a, url)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		a = next
	}
	return nil, nil
}

// refersTo looks for what a revisit refers to among the captures of a URL.
func (o *opened) refersTo(from *warc.Places, a *version, url string) (*version, error) {
	date := a.Refers.Date
	want := answer.Digest(a.Digest)
	var best *version
	reads := 0
	for l, err := range cdxj.Lookup(o.index, url) {
		if err != nil {
			return nil, err
		}
		seg, ok := o.segment(l.Filename)
		sameTime := !date.IsZero() && l.Time.Equal(date.Truncate(time.Second))
		sameBody := want != "" && answer.Digest(l.Digest) == want
		if !ok || l.Time.After(a.Date) || !sameTime && !sameBody || l.Offset == a.at.offset && int32(seg) == a.at.segment {
			continue
		}
		if reads++; reads > maxHistory {
			break
		}
		b, err := o.read(from, place{int32(seg), l.Offset, l.Length}) //nolint:gosec // there are fewer segments
		if ours(err) {
			return nil, err
		}
		if err != nil || want != "" && b.Digest != "" && answer.Digest(b.Digest) != want {
			continue
		}
		if b.ID == a.Refers.ID && b.ID != "" {
			return b, nil
		}
		if best == nil || nearer(b, best, date) < 0 {
			best = b
		}
	}
	return best, nil
}

// nearer compares two answers that a revisit may refer to: one with a body is before one without, one of the date that
// it names before others, a later one before an earlier, whatever files they stand in.
func nearer(a, b *version, date time.Time) int {
	rank := func(no bool) int {
		if no {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rank(a.Revisit), rank(b.Revisit)),
		cmp.Compare(rank(!a.Date.Equal(date)), rank(!b.Date.Equal(date))),
		b.Date.Compare(a.Date), strings.Compare(a.ID, b.ID))
}
