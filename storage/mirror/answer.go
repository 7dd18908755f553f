package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/warc"
)

// place says where a record stands.
type place struct {
	segment        int32
	offset, length int64
}

// answer is what the head of an archived answer says, and the decision that it belongs to.
type answer struct {
	at        place
	revisit   bool
	id        string
	date      time.Time
	digest    string
	status    int
	header    http.Header
	sniffed   string // media type by its first octets, where it names none
	truncated string // WARC-Truncated
	noArchive bool
	decision  storage.Decision // of the metadata record; "" without one

	refersURL  string // of a revisit
	refersDate string
	refersID   string
}

// headOctets is how much of an archived answer is read for what its head says: compressed, some 3 KiB.
const headOctets = 1 << 10

// read reads the answer at a place, without its body.
func (o *opened) read(from *warc.Places, at place) (*answer, error) {
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
var errShort = errors.New("the head goes on")

// readHead reads what the head of an answer says from a stretch of the file. What it says of a stretch that is all there
// is to read would be the same with more.
func (o *opened) readHead(from *warc.Places, at place, s warc.Stretch) (*answer, error) {
	in, err := from.Lenient(o.segments[at.segment], s, nil)
	if err != nil {
		return nil, err
	}
	rec, err := in.Next()
	if err != nil {
		return nil, err
	}
	if rec.Offset != at.offset {
		return nil, fmt.Errorf("there is no record at octet %d", at.offset)
	}
	h, err := warc.ReadHTTP(rec.Block)
	if err != nil {
		return nil, err
	}
	a := &answer{
		at: at, revisit: strings.EqualFold(rec.Type, "revisit"), id: rec.ID(), digest: rec.Fields.Get("WARC-Payload-Digest"),
		status: h.Status, header: h.Header, truncated: rec.Fields.Get("WARC-Truncated"),
		refersURL: angled(rec.Fields.Get("WARC-Refers-To-Target-URI")), refersDate: rec.Fields.Get("WARC-Refers-To-Date"),
		refersID: angled(rec.Fields.Get("WARC-Refers-To")),
	}
	if !h.Complete {
		a.status = 0
	}
	if a.date, err = rec.Date(); err != nil {
		return nil, err
	}
	for _, v := range h.Header.Values("X-Robots-Tag") {
		a.noArchive = a.noArchive || forbids(v)
	}
	sniffs := !a.revisit && a.status/100 == 2 && mediatype.Of(h.Header).Unnamed()
	if s.Only && (sniffs || !h.Complete) {
		return nil, errShort
	}
	if sniffs {
		a.sniffed = sniff(h)
	}
	return a, nil
}

// sniff returns the media type of a body by its first octets; "" if they do not tell.
func sniff(h *warc.HTTP) string {
	decoded, err := h.Body(mediatype.MaxSniff)
	if err != nil {
		return ""
	}
	head := make([]byte, mediatype.MaxSniff)
	n, _ := io.ReadFull(decoded, head)
	return mediatype.Sniff(head[:n])
}

func angled(uri string) string { return strings.Trim(uri, "<>") }

// forbids reports whether a value of X-Robots-Tag asks every robot not to archive. What a page itself says, or says to one
// robot, the crawler understood: its metadata has it.
func forbids(value string) bool {
	for d := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch strings.TrimSpace(d) {
		case "noarchive", "nocache":
			return true
		}
	}
	return false
}

// metadataOctets is how much is read at once of a metadata record: more than most have.
const metadataOctets = 2 << 10

// readMetadata takes the crawler's decision from the metadata record behind an answer, if that is what stands there.
func (o *opened) readMetadata(from *warc.Places, a *answer) {
	if a.at.length <= 0 {
		return
	}
	in, err := from.Lenient(o.segments[a.at.segment], warc.Stretch{Offset: a.at.offset + a.at.length, Length: metadataOctets}, nil)
	if err != nil {
		return
	}
	rec, err := in.Next()
	if err != nil || !strings.EqualFold(rec.Type, "metadata") || rec.IsRefusals() || rec.ConcurrentTo() != a.id {
		return
	}
	line, err := rec.Decision()
	if err != nil {
		return
	}
	a.decision = line.Decision
	for d := range strings.SplitSeq(line.Directives, ",") {
		a.noArchive = a.noArchive || strings.TrimSpace(d) == "noarchive"
	}
}

// maxReferences is how many revisits of revisits are followed.
const maxReferences = 4

// original returns the answer that has the body of a: itself, or what it is a revisit of.
func (o *opened) original(from *warc.Places, a *answer, url string) (*answer, error) {
	for range maxReferences {
		if !a.revisit {
			return a, nil
		}
		if a.refersURL != "" {
			url = a.refersURL
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
func (o *opened) refersTo(from *warc.Places, a *answer, url string) (*answer, error) {
	date, err := time.Parse(time.RFC3339Nano, a.refersDate)
	dated := err == nil
	want := digestOf(a.digest)
	var best *answer
	reads := 0
	for l, err := range cdxj.Lookup(o.index, url) {
		if err != nil {
			return nil, err
		}
		seg, ok := o.segment(l.Filename)
		sameTime := dated && l.Time.Equal(date.Truncate(time.Second))
		sameBody := want != "" && digestOf(l.Digest) == want
		if !ok || l.Time.After(a.date) || !sameTime && !sameBody || l.Offset == a.at.offset && int32(seg) == a.at.segment {
			continue
		}
		if reads++; reads > maxHistory {
			break
		}
		b, err := o.read(from, place{int32(seg), l.Offset, l.Length}) //nolint:gosec // there are fewer segments
		if ours(err) {
			return nil, err
		}
		if err != nil || want != "" && b.digest != "" && digestOf(b.digest) != want {
			continue
		}
		if b.id == a.refersID && b.id != "" {
			return b, nil
		}
		if best == nil || nearer(b, best, date) < 0 {
			best = b
		}
	}
	return best, nil
}

// nearer compares two answers that a revisit may refer to: one with a body is before one without, one of the date that it
// names before others, a later one before an earlier, whatever files they stand in.
func nearer(a, b *answer, date time.Time) int {
	rank := func(no bool) int {
		if no {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(rank(a.revisit), rank(b.revisit)),
		cmp.Compare(rank(!a.date.Equal(date)), rank(!b.date.Equal(date))),
		b.date.Compare(a.date), strings.Compare(a.id, b.id))
}

// digestOf returns a digest without its algorithm's name, in one case.
func digestOf(s string) string { return strings.ToLower(s[strings.LastIndexByte(s, ':')+1:]) }
