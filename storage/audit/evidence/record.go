package evidence

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/maphash"
	"io"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// File is a file that was read.
type File struct {
	Name    string `json:"name"`
	Octets  int64  `json:"octets"`
	Records int64  `json:"records"`
	Torn    bool   `json:"torn,omitempty"`   // it ends within a record
	SHA256  string `json:"sha256,omitempty"` // of its octets, where a ledger has a mark of it

	// Oddities counts what is not as the standard has it and loses nothing, by the codes of storage/warc.
	Oddities map[string]int64 `json:"oddities,omitempty"`
}

// oddity names what is wrong with a file, and counts what is merely not as the standard has it.
func (rd *Reader) oddity(s *stream, f warc.Finding) {
	told, torn := &s.file, f.Code == warc.Torn
	told.Torn = told.Torn || torn
	if f.Note() {
		if told.Oddities == nil {
			told.Oddities = map[string]int64{}
		}
		told.Oddities[f.Code]++
		return
	}
	n := finding.Finding{
		// That an unfinished segment ends within a record is how a kill leaves it.
		Code: finding.BadRecord, Note: torn && Unfinished(told.Name),
		Place:    finding.Place{File: told.Name, Offset: f.Offset},
		Required: "records that can be read to their end (WARC 1.1, 4)", Observed: f.Code + ": " + f.Text,
	}
	if s.rec != nil && s.rec.Offset == f.Offset {
		n.URL, n.Record = s.rec.TargetURI(), finding.Short(s.rec.ID())
		n.Authority = AuthorityOf(n.URL)
	}
	// Bytes behind a damaged record, up to the next one, are the rest of it.
	if rest := f.Code == warc.Garbage && s.lost.File != "" && s.lostBefore == told.Records; !n.Note && !rest {
		n.Unreadable = true
		s.damage(n.Place)
	}
	rd.found(n)
}

// damage notes that the record at a place cannot be read to its end.
func (s *stream) damage(at finding.Place) {
	if at.Record == "" {
		s.lost, s.lostBefore = at, s.file.Records
		return
	}
	mark := func(e *Exchange) {
		for _, p := range []finding.Place{e.Place, e.Request, e.LineAt} {
			if p.Offset == at.Offset && p.Record == at.Record {
				e.Damaged = at
			}
		}
	}
	for _, h := range s.window {
		mark(&h.Exchange)
	}
	for _, ev := range s.queue {
		if ev.Exchange != nil {
			mark(ev.Exchange)
		}
	}
}

// record takes one record.
func (rd *Reader) record(path string, rec *warc.Record) error {
	at := finding.Place{File: path, Offset: rec.Offset, Record: finding.Short(rec.ID())}
	rec.Type = strings.ToLower(rec.Type) // some write it otherwise, and mean no other
	if rd.ours() && rec.Type != "warcinfo" && !rd.cur.opened {
		rd.bad(at, rec.TargetURI(), "a warcinfo record at the beginning of each file (archive reference)",
			"a "+finding.Short(rec.Type)+" record before one")
	}
	rd.cur.opened = true
	rd.repeated(rec, at)
	rd.formal(rec, at)
	switch rec.Type {
	case "warcinfo":
		rd.warcinfo(rec, at)
	case "request", "response", "revisit":
		h, err := rd.part(rec, at)
		if err != nil {
			return err
		}
		if h != nil {
			rd.join(h)
		}
	case "metadata":
		rd.metadata(rec, at)
	case "resource", "conversion":
		rd.stray(rec, at)
		rd.alone(rec, at)
	default:
		rd.stray(rec, at)
		rd.other(rec, at)
	}
	return nil
}

// stray names a record in an archive of ours that this crawler does not write.
func (rd *Reader) stray(rec *warc.Record, at finding.Place) {
	if rd.ours() {
		rd.bad(at, rec.TargetURI(), "records of the kinds that the archive reference has",
			"a "+finding.Short(rec.Type)+" record of "+finding.Short(rec.Fields.Get("Content-Type")))
	}
}

// other checks the digests of a record that is no part of an exchange.
func (rd *Reader) other(rec *warc.Record, at finding.Place) {
	rd.sum.Other++
	rd.block.begin(rec, false)
	rd.block.rest()
	rd.digests(rec, at, rec.TargetURI())
}

// The heads of records, beside a ledger of ours. The ledger binds blocks and not heads; but this crawler writes each
// head in one way (docs/reference/archives.md), and the records of an exchange tell most of it three times.

// heading is what the head of a record of an exchange tells that another record of it tells as well.
type heading struct {
	row           int64 // of the record in its file, from 1; 0 for none
	id, date, uri string
	addr          string
	to            []string // WARC-Concurrent-To
}

// heading reads that of rec.
func (rd *Reader) heading(rec *warc.Record) heading {
	if !rd.o.Ours {
		return heading{}
	}
	f := rec.Fields
	return heading{row: rd.cur.file.Records, id: finding.Short(rec.ID()), date: f.Get("WARC-Date"),
		uri: rec.TargetURI(), addr: f.Get("WARC-IP-Address"), to: concurrent(rec)}
}

// everyHead are the fields that each record of ours has.
var everyHead = []string{"WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Block-Digest", "Content-Type",
	"Content-Length"}

// form is how this crawler writes the heads of a kind of records.
type form struct {
	media  string
	always []string // beside everyHead
	may    []string
}

// forms are those of each kind. Refusals are metadata without WARC-Target-URI.
var forms = map[string]form{
	"warcinfo": {media: typeFields, always: []string{"WARC-Filename"}},
	"request": {media: "application/http; msgtype=request",
		always: []string{"WARC-Target-URI", "WARC-Warcinfo-ID", "WARC-Concurrent-To"},
		may:    []string{"WARC-IP-Address", "WARC-Protocol"}},
	"response": {media: typeAnswer, always: []string{"WARC-Target-URI", "WARC-Warcinfo-ID", "WARC-Concurrent-To"},
		may: []string{"WARC-IP-Address", "WARC-Protocol", "WARC-Payload-Digest", "WARC-Truncated"}},
	"revisit": {media: typeAnswer, always: []string{"WARC-Target-URI", "WARC-Warcinfo-ID", "WARC-Concurrent-To",
		"WARC-Profile"},
		may: []string{"WARC-IP-Address", "WARC-Protocol", "WARC-Payload-Digest", "WARC-Truncated", "WARC-Refers-To",
			"WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"}},
	"metadata": {media: typeFields, always: []string{"WARC-Target-URI", "WARC-Warcinfo-ID", "WARC-Concurrent-To"}},
	"refusals": {media: typeFields, always: []string{"WARC-Warcinfo-ID"}},
}

const typeAnswer = "application/http; msgtype=response"

// formal checks that a head has the fields that this crawler writes, and no others.
func (rd *Reader) formal(rec *warc.Record, at finding.Place) {
	kind := rec.Type
	if kind == "metadata" && rec.TargetURI() == "" {
		kind = "refusals"
	}
	form, ok := forms[kind]
	if !rd.o.Ours || !ok { // another kind is named for itself
		return
	}
	var wrong []string
	for _, name := range slices.Concat(everyHead, form.always) {
		if rec.Fields.Get(name) == "" {
			wrong = append(wrong, "no "+name)
		}
	}
	for _, f := range rec.Fields {
		if !contains(everyHead, f.Name) && !contains(form.always, f.Name) && !contains(form.may, f.Name) {
			wrong = append(wrong, f.Name+" in a record of "+kind)
		}
	}
	if media := rec.Fields.Get("Content-Type"); media != form.media {
		wrong = append(wrong, "Content-Type "+strconv.Quote(finding.Short(media)))
	}
	if _, _, ok := instant(rec.Fields.Get("WARC-Date")); !ok {
		wrong = append(wrong, "WARC-Date "+strconv.Quote(finding.Short(rec.Fields.Get("WARC-Date"))))
	}
	if in := rd.cur.info; in != nil && in.Record != "" && kind != "warcinfo" &&
		strings.Trim(rec.Fields.Get("WARC-Warcinfo-ID"), "<>") != in.Record {
		wrong = append(wrong, "WARC-Warcinfo-ID "+strconv.Quote(finding.Short(rec.Fields.Get("WARC-Warcinfo-ID")))+
			", and not that of its file")
	}
	if len(wrong) > 0 {
		rd.bad(at, rec.TargetURI(), "the fields that the archive reference has for a record of "+kind, strings.Join(wrong, ", "))
	}
}

func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// Disagreement says in which way the records of an exchange do not tell the same of it, name each other, or stand
// together; "" where they do, or where no ledger binds them.
func (e *Exchange) Disagreement() string {
	ask, answer, told := &e.heads[0], &e.heads[1], &e.heads[2]
	var wrong []string
	var before *heading
	for _, d := range []*heading{ask, answer, told} {
		if d.row == 0 {
			continue
		}
		if b := before; b != nil {
			if d.row != b.row+1 {
				wrong = append(wrong, fmt.Sprintf("they are records %d and %d of their file", b.row, d.row))
			}
			if d.date != b.date || d.uri != b.uri {
				wrong = append(wrong, fmt.Sprintf("%s of %s, and %s of %s", finding.Short(b.uri), b.date,
					finding.Short(d.uri), d.date))
			}
		}
		before = d
	}
	if ask.row > 0 && answer.row > 0 && ask.addr != answer.addr {
		wrong = append(wrong, "WARC-IP-Address "+strconv.Quote(finding.Short(ask.addr))+" and "+
			strconv.Quote(finding.Short(answer.addr)))
	}
	if told.row > 0 && !e.naming() { // without metadata a kill tore it off, or something else is said of that
		wrong = append(wrong, fmt.Sprintf("WARC-Concurrent-To: %q, %q and %q", ask.to, answer.to, told.to))
	}
	return strings.Join(wrong, "; ")
}

// naming reports whether the records of an exchange name each other as this crawler writes it: the first names the
// answer, or the answer the request, and then metadata; metadata names the answer, or the request without one.
func (e *Exchange) naming() bool {
	ask, answer, told := &e.heads[0], &e.heads[1], &e.heads[2]
	known := answer.id
	if answer.row == 0 {
		known = e.LeftOut
	}
	names := func(d *heading, first bool, to ...string) bool {
		if first && told.row > 0 {
			to = append(to, told.id)
		}
		if first && told.row == 0 { // a kill tore it off
			return len(d.to) >= len(to) && len(d.to) <= len(to)+1 && slices.Equal(d.to[:len(to)], to)
		}
		return d.row == 0 || slices.Equal(d.to, to)
	}
	switch {
	case ask.row == 0:
		return names(answer, true) && names(told, false, known)
	case known == "":
		return names(ask, true) && names(told, false, ask.id)
	}
	return names(ask, true, known) && names(answer, false, ask.id) && names(told, false, known)
}

// originals remember what the answers in the files say of themselves, so that revisits can be held against it: the last
// ones, in memory of a fixed size. Unlike seen it takes no answer for another.
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
	bare    bool   // its body is not there, nor a digest of it, as where it was taken down
}

const maxOriginals = 1 << 17 // 4 MiB

func (o *originals) hash(s string) uint64 { return maphash.String(o.seed, s) | 1 }

// of makes what an answer says of itself comparable. Digests are written in several alphabets, whose case says nothing.
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

// dated writes an instant as the crawl does, whatever the case in which an archive has it.
func dated(s string) string {
	if t, _, ok := instant(s); ok {
		return t.Format(time.RFC3339Nano)
	}
	return s
}

// refersTo holds a revisit against the answer that it refers to, where that is in the files.
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
		h.Repeats = id // the ledger knows whether it was taken down, and what it was
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

// original remembers an answer for the revisits of it.
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

// onceOnly are the fields that WARC 1.1 defines. Of these WARC-Concurrent-To alone may stand more than once (5.7).
var onceOnly = []string{
	"warc-record-id", "content-length", "warc-date", "warc-type", "content-type", "warc-block-digest",
	"warc-payload-digest", "warc-ip-address",
	"warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date", "warc-target-uri", "warc-truncated",
	"warc-warcinfo-id",
	"warc-filename", "warc-profile", "warc-identified-payload-type", "warc-segment-number", "warc-segment-origin-id",
	"warc-segment-total-length",
}

// repeated names fields that stand more than once in a record's head: readers differ in which they take. Extensions may
// have rules of their own, as WARC-Protocol has; in archives of ours nothing else is repeated.
func (rd *Reader) repeated(rec *warc.Record, at finding.Place) {
	for i, f := range rec.Fields {
		name := strings.ToLower(f.Name)
		if name == "warc-concurrent-to" || name == "warc-protocol" || !rd.ours() && !slices.Contains(onceOnly, name) {
			continue
		}
		first := slices.IndexFunc(rec.Fields, func(g warc.Field) bool { return strings.EqualFold(g.Name, f.Name) })
		if first == i {
			continue
		}
		said := finding.Finding{Code: finding.BadRecord, Authority: AuthorityOf(rec.TargetURI()),
			URL: rec.TargetURI(), Place: at,
			Required: "each named field but WARC-Concurrent-To once in a record (WARC 1.1, 4 and 5.7)",
			Observed: finding.Short(f.Name) + " " + strconv.Quote(finding.Short(rec.Fields[first].Value)) + ", and " +
				strconv.Quote(finding.Short(f.Value))}
		said.Note = !rd.ours() && rec.Fields[first].Value == f.Value // which misleads nobody
		rd.found(said)
		return
	}
}

// bloomFilter remembers record ids in memory of a fixed size: it may take an id for seen that was not, about one in a
// hundred after three million of them, and never the other way round.
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

// The longest that is read of a body that is kept, and of such a body after decoding, in bytes. The last is one more
// than RFC 9309 2.5 makes a crawler read, so that more can be told from just as much.
const (
	maxRaw  = 1 << 20
	maxBody = 500<<10 + 1
)

// blockReader reads the blocks of records, one at a time, and digests them on the way.
type blockReader struct {
	in    *bufio.Reader // of src
	src   blockSource
	block sums // of the whole block
	body  sums // of the payload
	raw   sums // of the bytes behind the HTTP head, transfer coding included

	head    []byte // as it stands in the block
	left    int    // of maxTold
	long    []byte // a line that does not fit into in
	chunked bool   // the body is in chunks
	cut     bool   // of a body that is kept: its chunks end early
	chunks  string // what is wrong with the chunks of a body, or behind the last one; "" where nothing is
}

// blockSource reads a block and digests it.
type blockSource struct {
	r   io.Reader
	to  *sums
	all hash.Hash // nil, or digests all that is read, whatever digest its record has
	raw *sums     // nil until the head is read
	err error
}

func (s *blockSource) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	_, _ = s.to.Write(p[:n])
	if s.all != nil {
		s.all.Write(p[:n]) // never fails
	}
	if s.raw != nil {
		_, _ = s.raw.Write(p[:n])
	}
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

func (r *blockReader) init() { r.in = bufio.NewReaderSize(&r.src, 32<<10) }

// begin makes r read the block of rec. payload says that its payload digest will be asked for.
func (r *blockReader) begin(rec *warc.Record, payload bool) {
	r.block, r.body = sumsOf(rec.Fields.Get("WARC-Block-Digest")), sums{}
	if payload {
		r.body = sumsOf(rec.Fields.Get("WARC-Payload-Digest"))
	}
	r.raw = sums{}
	r.src = blockSource{r: rec.Block, to: &r.block}
	r.in.Reset(&r.src)
	r.chunked, r.cut, r.chunks, r.head = false, false, "", r.head[:0]
}

var errHead = fmt.Errorf("its head is longer than %d bytes, or ends early", warc.MaxHTTPHead)

// readHead reads the head of the block, and returns its first line. Without its end, which is errHead, the head is as much
// of it as whole lines have.
func (r *blockReader) readHead() (first []byte, err error) {
	var complete bool
	if r.head, complete, err = warc.AppendHead(r.head[:0], r.in); err != nil || !complete || len(r.head) > warc.MaxHTTPHead {
		err = errHead
		r.head = r.head[:min(bytes.LastIndexByte(r.head, '\n')+1, warc.MaxHTTPHead)]
	}
	first, _, _ = bytes.Cut(r.head, []byte("\n"))
	return bytes.TrimSuffix(first, []byte("\r")), err
}

// fields gives each field of the head to f, its name in lower case.
func (r *blockReader) fields(f func(name string, value []byte)) {
	warc.EachField(r.head, func(name, value []byte) {
		if len(name) <= 64 {
			f(lowered(name), value)
		}
	})
}

// lowered returns the names that are asked for without allocating, and others as "".
func lowered(name []byte) string {
	for _, known := range wanted {
		if len(known) == len(name) && strings.EqualFold(known, string(name)) {
			return known
		}
	}
	return ""
}

var wanted = [...]string{
	"location", "retry-after", "transfer-encoding", "content-encoding", "cache-control", "expires", "date", "age",
	"user-agent", "host", "content-length", "content-range", "ratelimit", "content-type", "from", "cookie",
	"authorization", "proxy-authorization", "last-modified", "x-robots-tag", "etag", "vary", "if-none-match",
	"if-modified-since", "range",
}

// payload reads the body. With keep it returns the body without its transfer coding, as far as maxRaw.
func (r *blockReader) payload(keep bool) []byte {
	if keep {
		return r.kept()
	}
	if !r.chunked {
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		return nil
	}
	if r.body.on() { // whatever is buffered belongs to this record
		r.raw = sumsOf(r.body.field)
		b, _ := r.in.Peek(r.in.Buffered())
		_, _ = r.raw.Write(b)
		r.src.raw = &r.raw
	}
	_, err := io.Copy(&r.body, httputil.NewChunkedReader(r.in)) // what is no chunk has a digest of its own, which is compared too
	r.chunks = behindChunks(r.in, err)
	r.rest()
	return nil
}

func (r *blockReader) kept() []byte {
	raw, err := io.ReadAll(io.LimitReader(r.in, maxRaw))
	if err != nil {
		return nil
	}
	if _, err := r.in.Peek(1); err == nil { // a very long one
		if r.chunked {
			r.body = sums{} // this part of it cannot be digested alone
		}
		_, _ = r.body.Write(raw)
		_, _ = r.in.WriteTo(&r.body) // an error is in src
		if r.chunked {
			raw, _ = io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(raw))) // it was cut above
		}
		return raw
	}
	body := raw
	if r.chunked {
		r.raw = sumsOf(r.body.field)
		_, _ = r.raw.Write(raw)
		in := bufio.NewReader(bytes.NewReader(raw))
		b, err := io.ReadAll(httputil.NewChunkedReader(in))
		if r.chunks = behindChunks(in, err); err == nil || len(b) > 0 {
			body, r.cut = b, err != nil
		}
	}
	_, _ = r.body.Write(body)
	return body
}

// behindChunks says what is wrong with chunks that were read from in up to the last one or to an error: behind the last
// one stand trailer fields and an empty line, or that line alone (RFC 9112 7.1).
func behindChunks(in *bufio.Reader, err error) string {
	if err != nil {
		return "its chunks end early, or are invalid: " + finding.Short(err.Error())
	}
	rest, _ := io.ReadAll(io.LimitReader(in, 64<<10))
	const end = "\r\n\r\n"
	if string(rest) == "\r\n" || !bytes.HasPrefix(rest, []byte("\r\n")) && bytes.HasSuffix(rest, []byte(end)) && bytes.Index(rest, []byte(end)) == len(rest)-len(end) {
		return ""
	}
	return fmt.Sprintf("%d bytes after its last chunk are not the end of a body", len(rest))
}

// rest reads the block to its end.
func (r *blockReader) rest() { _, _ = r.in.WriteTo(io.Discard) } // an error is in src, and the Reader's next one too

// ProfileIdentical is the WARC-Profile of a revisit that holds the head alone: the payload is elsewhere (WARC 1.1,
// 6.7.2).
const ProfileIdentical = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

// blockSum is the SHA-256 of a record's block.
type blockSum struct {
	there bool // the exchange has such a record
	known bool
	sum   [sha256.Size]byte
}

// digest returns that of the record that was just read.
func (r *blockReader) digest() blockSum {
	s := blockSum{there: true}
	if b := &r.block; r.src.err == nil && b.on() && b.digest.Label == labelSHA256 {
		b.digest.Sum(s.sum[:0])
		s.known = true
	}
	return s
}

// bindBlocks binds the blocks of an exchange's records.
func (e *Exchange) bindBlocks() {
	if e.LeftOut != "" { // the blocks of the answer are bound as well
		return
	}
	var all [3 * sha256.Size]byte
	b := all[:0]
	for i := range e.sums {
		switch s := &e.sums[i]; {
		case s.there && !s.known:
			return
		case s.there:
			b = append(b, s.sum[:]...)
		}
	}
	sum := sha256.Sum256(b)
	e.Blocks = hex.EncodeToString(sum[:])
}

// labelSHA256 is how a digest field names the digest that this crawler writes (docs/reference/archives.md).
const labelSHA256 = "sha256"

// written checks the fields that each record of ours has.
func (rd *Reader) written(rec *warc.Record, at finding.Place) {
	if !rd.ours() {
		return
	}
	uri := rec.TargetURI()
	if b := &rd.block.block; !b.on() || b.digest.Label != labelSHA256 {
		rd.found(finding.Finding{Code: finding.Digest, Authority: AuthorityOf(uri), Place: at, URL: uri,
			Required: "a WARC-Block-Digest in SHA-256 (archive reference)",
			Observed: "WARC-Block-Digest: " + finding.Short(rec.Fields.Get("WARC-Block-Digest"))})
	}
}

// sums computes the digest that a field names. The zero value computes none.
type sums struct {
	field  string
	digest *warc.Digest // nil when there is nothing to compute, or the algorithm is unknown
}

func sumsOf(field string) sums { return sums{field, warc.ParseDigest(field)} }

func (s *sums) on() bool { return s.digest != nil }

// Write implements io.Writer. It never fails.
func (s *sums) Write(p []byte) (int, error) {
	if s.digest != nil {
		return s.digest.Write(p)
	}
	return len(p), nil
}

// digests compares the digests of the record that was just read with what its head says.
func (rd *Reader) digests(rec *warc.Record, at finding.Place, uri string) {
	r := &rd.block
	if r.src.err != nil {
		return // the record is torn, which is said elsewhere
	}
	rd.written(rec, at)
	bad := func(name string, s *sums) {
		date, _ := rec.Date() // zero for none
		rd.found(finding.Finding{Code: finding.Digest, Authority: AuthorityOf(uri), Place: at, URL: uri, Time: date,
			Required: name + " of the record's bytes (WARC 1.1, 5.8 and 5.9): " + s.field,
			Observed: "the bytes in the file have " + s.digest.Label + " " + hex.EncodeToString(s.digest.Sum(nil))})
	}
	if r.block.on() {
		rd.sum.Digests++
		if !r.block.digest.Holds() {
			bad("WARC-Block-Digest", &r.block)
		}
	}
	if !r.body.on() {
		return
	}
	rd.sum.Digests++
	// Some tools digest the chunks as they crossed the connection: both readings of "entity-body" are accepted.
	if !r.body.digest.Holds() && !(r.raw.on() && r.raw.digest.Holds()) && rec.Fields.Get("WARC-Truncated") == "" {
		bad("WARC-Payload-Digest", &r.body)
	}
}
