package warc

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// dateForm always has six decimals, unlike RFC3339Nano, so that dates sort as text.
const dateForm = "2006-01-02T15:04:05.000000Z"

// The blocks' media types.
const (
	typeFields   = "application/warc-fields"
	typeRequest  = "application/http; msgtype=request"
	typeResponse = "application/http; msgtype=response"
)

// The profiles of revisit records: what each leaves out (WARC 1.1, 6.7).
const (
	profileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

// digest is the SHA-256 of a block or payload.
type digest = [32]byte

// head is what stands before a record's block. Zero fields are left out. Ids are URNs.
type head struct {
	kind       string // WARC-Type
	id         string
	date       time.Time
	filename   string
	target     string
	info       string // the warcinfo record's id
	concurrent string // the id of the exchange's other record
	last       string // the id of the exchange's metadata record, in its first record
	profile    string // of a revisit
	refersID   string // what it refers to
	refersURI  string
	refersDate time.Time
	addr       netip.Addr
	protocols  []string
	block      digest
	payload    digest // valid when hasPayload
	hasPayload bool
	truncated  string
	media      string
	length     int64
}

func (h *head) append(b []byte) []byte {
	b = append(b, "WARC/1.1\r\n"...)
	b = appendField(b, "WARC-Type", h.kind)
	b = appendID(b, "WARC-Record-ID", h.id)
	b = append(b, "WARC-Date: "...)
	b = h.date.UTC().AppendFormat(b, dateForm)
	b = append(b, "\r\n"...)
	b = appendField(b, "WARC-Filename", h.filename)
	b = appendField(b, "WARC-Target-URI", h.target)
	b = appendID(b, "WARC-Warcinfo-ID", h.info)
	b = appendID(b, "WARC-Concurrent-To", h.concurrent)
	b = appendID(b, "WARC-Concurrent-To", h.last)
	b = appendField(b, "WARC-Profile", h.profile)
	b = appendID(b, "WARC-Refers-To", h.refersID)
	b = appendField(b, "WARC-Refers-To-Target-URI", h.refersURI)
	if !h.refersDate.IsZero() {
		b = append(b, "WARC-Refers-To-Date: "...)
		b = h.refersDate.UTC().AppendFormat(b, dateForm)
		b = append(b, "\r\n"...)
	}
	if h.addr.IsValid() {
		// A zone is ours, not the site's, and an IPv4 address stays one on a dual-stack socket (5.10).
		b = append(b, "WARC-IP-Address: "...)
		b = h.addr.Unmap().WithZone("").AppendTo(b)
		b = append(b, "\r\n"...)
	}
	for _, p := range h.protocols {
		b = appendField(b, "WARC-Protocol", p)
	}
	b = appendDigest(b, "WARC-Block-Digest", &h.block)
	if h.hasPayload {
		b = appendDigest(b, "WARC-Payload-Digest", &h.payload)
	}
	b = appendField(b, "WARC-Truncated", h.truncated)
	b = appendField(b, "Content-Type", h.media)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, h.length, 10)
	return append(b, "\r\n\r\n"...)
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, value...)
	return append(b, "\r\n"...)
}

func appendID(b []byte, name, urn string) []byte {
	if urn == "" {
		return b
	}
	b = append(b, name...)
	b = append(b, ": <"...)
	b = append(b, urn...)
	return append(b, ">\r\n"...)
}

func appendDigest(b []byte, name string, d *digest) []byte {
	b = append(b, name...)
	b = append(b, ": sha256:"...)
	b = hex.AppendEncode(b, d[:])
	return append(b, "\r\n"...)
}

// Info describes a crawl in the warcinfo record of every segment (WARC 1.1, 6.2). Empty fields are left out. Line
// breaks and other control characters in a value are written as spaces.
type Info struct {
	Software     string // name/version
	Operator     string // who runs the crawl
	Contact      string // where the operator is reached: a URL or a mailbox
	UserAgent    string // as sent
	RobotsPolicy string // the robots standard obeyed
	Description  string // what the crawl is for
	Fields       Fields // any others, written behind these in their order
}

func (in *Info) validate() error {
	for _, f := range in.Fields {
		if !token(f.Name) {
			return fmt.Errorf("warc: %q cannot be a field name in a warcinfo record", f.Name)
		}
	}
	return nil
}

// block returns the block of a warcinfo record, application/warc-fields.
func (in *Info) block(archive string) []byte {
	operator := in.Operator
	switch {
	case operator == "":
		operator = in.Contact
	case in.Contact != "":
		operator += " (" + in.Contact + ")"
	}
	var b []byte
	for _, f := range append(Fields{
		{"software", in.Software},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"isPartOf", archive},
		{"operator", operator},
		{"http-header-user-agent", in.UserAgent},
		{"robots", in.RobotsPolicy},
		{"description", in.Description},
	}, in.Fields...) {
		if v := oneLine(f.Value); v != "" {
			b = append(b, f.Name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, "\r\n"...)
		}
	}
	return b
}

func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}

// urnSize is how long the URN of a UUID is (RFC 9562 4).
const urnSize = len("urn:uuid:00000000-0000-0000-0000-000000000000")

// newUUID is uuid.New without its allocation: version 4, that is, random.
func newUUID() (id uuid.UUID) {
	_, _ = rand.Read(id[:]) // it never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// urns are the ids of the records of an exchange, in one string for all.
type urns string

func (w *Writer) newURNs(n int) urns {
	var room [3 * urnSize]byte
	b := room[:0]
	for range n {
		id := w.newID()
		b = append(b, "urn:uuid:"...)
		b = append(hex.AppendEncode(b, id[:4]), '-')
		b = append(hex.AppendEncode(b, id[4:6]), '-')
		b = append(hex.AppendEncode(b, id[6:8]), '-')
		b = append(hex.AppendEncode(b, id[8:10]), '-')
		b = hex.AppendEncode(b, id[10:])
	}
	return urns(b)
}

// next takes the first one.
func (u *urns) next() string {
	id := (*u)[:urnSize]
	*u = (*u)[urnSize:]
	return string(id)
}
