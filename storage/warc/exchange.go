package warc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"

	"curtsy/storage"
	"curtsy/storage/spool"
)

// exchange is a checked storage.Record with digests and ids. It can be compressed more than once, and belongs to a
// compressor to reuse its memory.
type exchange struct {
	request, answer, metadata head // without a warcinfo id; an empty kind marks a missing record
	sent                      bytes.Reader
	received                  *io.SectionReader
	line                      bytes.Reader // the block of metadata
	decision                  storage.Line // for the metadata record; here to save its allocation
	heads                     string       // as storage.Line.Heads
	entry                     Entry        // of the answer, for an Index; without File, Offset and Length
	from, to                  int64        // the answer's member in the spool
}

func (e *exchange) prepare(ctx context.Context, p *compressor, w *Writer, r *storage.Record) error {
	if err := check(r); err != nil {
		return err
	}
	common := head{date: r.Time, target: r.URL, addr: r.Addr.Addr(), protocols: r.Protocols}
	e.request, e.answer, e.metadata, e.received = head{}, head{}, head{}, r.Response
	e.sent.Reset(r.Request)
	asked, answered := len(r.Request) > 0, r.Response != nil && r.Response.Size() > 0
	tells := r.Line != nil && (asked || answered)
	n := 0
	for _, is := range [...]bool{asked, answered, tells} {
		if is {
			n++
		}
	}
	ids := w.newURNs(n)
	if asked {
		n := int64(len(r.Request))
		e.request = common
		e.request.kind, e.request.media, e.request.length, e.request.id = "request", typeRequest, n, ids.next()
		e.request.block = sha256.Sum256(r.Request)
	}
	if answered {
		e.answer = common
		if err := e.choose(w.o.Originals, r); err != nil {
			return err
		}
		e.answer.media, e.answer.id = typeResponse, ids.next()
		p.sum.Reset()
		if err := p.copy(ctx, p.sum, e.received, e.answer.length); err != nil {
			return fmt.Errorf("warc: read the response of %s: %w", r.URL, err)
		}
		e.answer.block = digest(p.sum.Sum(p.got[:0]))
	}
	e.request.concurrent, e.answer.concurrent = e.answer.id, e.request.id
	if err := e.bindHeads(ctx, p, r); err != nil {
		return fmt.Errorf("warc: read the head of the response of %s: %w", r.URL, err)
	}
	if tells {
		e.addMetadata(p, ids.next(), r)
	}
	if w.o.Index != nil && e.answer.kind != "" {
		return e.describe(p, r)
	}
	return nil
}

func (e *exchange) choose(originals Originals, r *storage.Record) error {
	a := &e.answer
	a.kind, a.length, a.truncated = "response", r.Response.Size(), r.Truncated
	if r.NotModified != nil {
		// A 304 has no payload: a digest here would be that of nothing, not of the response that the server confirms.
		a.kind, a.profile = "revisit", profileNotModified
		a.refersTo(r.NotModified)
		return nil
	}
	a.payload, a.hasPayload = r.PayloadDigest, r.HasPayload && !r.HeadOnly
	if originals == nil || !r.Repeatable || !a.hasPayload || r.PayloadSize == 0 || r.HeadSize == 0 || r.Truncated != "" {
		return nil
	}
	o, known, err := originals.Original(r.PayloadDigest)
	if err != nil {
		return fmt.Errorf("warc: look for an earlier response like %s: %w", r.URL, err)
	}
	// An index of another crawl may hold anything: a reference must stay within its line.
	if !known || o.URL == "" || !solid(o.URL) || !solid(o.ID) || o.Date.IsZero() {
		return nil
	}
	a.kind, a.profile, a.length = "revisit", profileIdentical, r.HeadSize
	a.refersTo(&o)
	return nil
}

func (h *head) refersTo(o *storage.Original) {
	h.refersID, h.refersURI, h.refersDate = o.ID, o.URL, o.Date
}

func (e *exchange) bindHeads(ctx context.Context, p *compressor, r *storage.Record) error {
	if e.heads = ""; e.request.kind == "" && e.answer.kind == "" {
		return nil
	}
	p.sum.Reset()
	if e.request.kind != "" {
		p.sum.Write(r.Request) // a hash never fails
	}
	if e.answer.kind != "" {
		if err := p.copy(ctx, p.sum, e.received, r.HeadSize); err != nil {
			return err
		}
	}
	p.sum.Sum(p.got[:0])
	var digits [2 * sha256.Size]byte
	hex.Encode(digits[:], p.got[:])
	e.heads = string(digits[:])
	return nil
}

func (e *exchange) addMetadata(p *compressor, id string, r *storage.Record) {
	e.decision = *r.Line
	e.decision.Heads = e.heads
	p.meta = appendMetadata(p.meta[:0], &e.decision, r)
	e.line.Reset(p.meta)
	e.metadata = head{
		kind: "metadata", date: r.Time, target: r.URL, id: id, concurrent: e.id(),
		media: typeFields, length: int64(len(p.meta)), block: sha256.Sum256(p.meta),
	}
	// The first record names the last, so that a reader knows the exchange's records from the start and Open finds a torn
	// one.
	first := &e.request
	if first.kind == "" {
		first = &e.answer
	}
	first.last = e.metadata.id
}

func (e *exchange) describe(p *compressor, r *storage.Record) error {
	e.entry = Entry{
		Kind: e.answer.kind, ID: e.answer.id, URL: r.URL, Date: r.Time.UTC().Truncate(time.Microsecond),
		Payload: e.answer.payload, HasPayload: e.answer.hasPayload, Repeatable: r.Repeatable && e.answer.kind == "response",
	}
	if !e.answer.hasPayload {
		e.entry.Payload = digest{}
	}
	b := p.buf[:min(int64(len(p.buf)), r.HeadSize, e.answer.length)]
	if n, err := e.received.ReadAt(b, 0); n < len(b) {
		return fmt.Errorf("warc: read the response of %s: %w", r.URL, err)
	}
	e.entry.Status, e.entry.Type = StatusAndType(b)
	return nil
}

func check(r *storage.Record) error {
	if r.URL == "" || !solid(r.URL) {
		return fmt.Errorf("warc: record: %q cannot be a WARC-Target-URI", r.URL)
	}
	if !solid(r.Truncated) {
		return fmt.Errorf("warc: record of %s: %q cannot be a WARC-Truncated", r.URL, r.Truncated)
	}
	for _, p := range r.Protocols {
		if !solid(p) {
			return fmt.Errorf("warc: record of %s: %q cannot be a WARC-Protocol", r.URL, p)
		}
	}
	if o := r.NotModified; o != nil && (!solid(o.URL) || !solid(o.ID)) {
		return fmt.Errorf("warc: record of %s: %q of record %q cannot be the original of a revisit", r.URL, o.URL, o.ID)
	}
	if r.Response != nil && (r.HeadSize < 0 || r.HeadSize > r.Response.Size()) {
		return fmt.Errorf("warc: record of %s: a header of %d bytes in a response of %d", r.URL, r.HeadSize, r.Response.Size())
	}
	return nil
}

// id is the id of the exchange, "" if nothing was transferred.
func (e *exchange) id() string {
	if e.answer.id != "" {
		return e.answer.id
	}
	return e.request.id
}

// blocks returns storage.Line.Blocks.
func (e *exchange) blocks() string {
	var all [3 * sha256.Size]byte
	b := all[:0]
	for _, h := range [...]*head{&e.request, &e.answer, &e.metadata} {
		if h.kind != "" {
			b = append(b, h.block[:]...)
		}
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// compress adds the exchange's members to p's spool, for a segment whose warcinfo record is info.
func (e *exchange) compress(ctx context.Context, p *compressor, info string) error {
	e.request.info, e.answer.info, e.metadata.info = info, info, info
	if e.request.kind != "" {
		if err := p.member(ctx, &e.request, &e.sent); err != nil {
			return fmt.Errorf("warc: compress the request of %s: %w", e.request.target, err)
		}
	}
	if e.from = p.spool.Size(); e.answer.kind != "" {
		if err := p.member(ctx, &e.answer, e.received); err != nil {
			return fmt.Errorf("warc: compress the response of %s: %w", e.answer.target, err)
		}
	}
	if e.to = p.spool.Size(); e.metadata.kind != "" {
		if err := p.member(ctx, &e.metadata, &e.line); err != nil {
			return fmt.Errorf("warc: compress the metadata of %s: %w", e.metadata.target, err)
		}
	}
	return nil
}

func (e *exchange) forget() {
	e.sent.Reset(nil)
	e.line.Reset(nil)
	e.received, e.entry, e.decision = nil, Entry{}, storage.Line{}
}

// compressor turns records into gzip members in its spool. It serves one call at a time and is reused: a fresh
// gzip.Writer costs more than a page.
type compressor struct {
	spool spool.Spool
	gz    *gzip.Writer
	sum   hash.Hash
	got   digest // of sum: here to save its allocation
	head  []byte
	buf   []byte // for copying blocks
	meta  []byte // the block of a metadata record
	ex    exchange
}

func newCompressor(dir, pattern string, level int) (*compressor, error) {
	gz, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		return nil, err
	}
	return &compressor{
		spool: spool.Spool{Dir: dir, Pattern: pattern},
		gz:    gz,
		sum:   sha256.New(),
		buf:   make([]byte, 32<<10),
	}, nil
}

// member adds the record of h with the first h.length bytes of block to the spool.
func (p *compressor) member(ctx context.Context, h *head, block io.ReaderAt) error {
	p.head = h.append(p.head[:0])
	p.gz.Reset(&p.spool)
	if _, err := p.gz.Write(p.head); err != nil {
		return err
	}
	if err := p.copy(ctx, p.gz, block, h.length); err != nil {
		return err
	}
	p.head = append(p.head[:0], recordEnd...)
	if _, err := p.gz.Write(p.head); err != nil {
		return err
	}
	return p.gz.Close()
}

func (p *compressor) copy(ctx context.Context, w io.Writer, block io.ReaderAt, n int64) error {
	for at := int64(0); at < n; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := p.buf[:min(int64(len(p.buf)), n-at)]
		if err := readAt(block, b, at); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

// readAt fills b. ReadAt may return io.EOF with the last bytes, and returns an error if it reads fewer.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}

// dateForm always has six decimals, unlike RFC3339Nano, so that dates sort as text.
const dateForm = "2006-01-02T15:04:05.000000Z"

const (
	typeFields   = "application/warc-fields"
	typeRequest  = "application/http; msgtype=request"
	typeResponse = "application/http; msgtype=response"
)

// The profiles of revisit records (WARC 1.1, 6.7).
const (
	profileIdentical   = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	profileNotModified = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
)

type digest = [32]byte

// head is a record's header. Zero fields are omitted. Ids are URNs.
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
	refersID   string // the id it refers to
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
		// A zone names a local interface, and an IPv4 address remains one on a dual-stack socket (5.10).
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

// Info describes a crawl in the warcinfo record of every segment (WARC 1.1, 6.2). Empty fields are omitted; control
// characters become spaces.
type Info struct {
	Software     string // name/version
	Operator     string
	Contact      string // of the operator: a URL or a mailbox
	UserAgent    string // as sent
	RobotsPolicy string // the robots standard obeyed
	Description  string // purpose of the crawl
	Fields       Fields // others, written after these in their order
}

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

// urnSize is the length of the URN of a UUID (RFC 9562 4).
const urnSize = len("urn:uuid:00000000-0000-0000-0000-000000000000")

// newUUID is uuid.New (version 4, random) without its allocation.
func newUUID() (id uuid.UUID) {
	_, _ = rand.Read(id[:]) // it never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// urns are the ids of an exchange's records, in one string to allocate once.
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

func (u *urns) next() string {
	id := (*u)[:urnSize]
	*u = (*u)[urnSize:]
	return string(id)
}
