package evidence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

type File struct {
	Name     string           `json:"name"`
	Octets   int64            `json:"octets"`
	Records  int64            `json:"records"`
	Torn     bool             `json:"torn,omitempty"`     // it ends within a record
	SHA256   string           `json:"sha256,omitempty"`   // of its octets, where a ledger has a mark of it
	Oddities map[string]int64 `json:"oddities,omitempty"` // harmless deviations from the standard, by the codes of storage/warc
}

// oddity reports a defect of a file, and counts harmless deviations from the standard.
func (rd *Reader) oddity(s *stream, f warc.Finding) {
	file, torn := &s.file, f.Code == warc.Torn
	file.Torn = file.Torn || torn
	if f.Note() {
		if file.Oddities == nil {
			file.Oddities = map[string]int64{}
		}
		file.Oddities[f.Code]++
		return
	}
	n := finding.Finding{
		// A kill leaves an unfinished segment that ends within a record.
		Code: finding.BadRecord, Note: torn && Unfinished(file.Name),
		Place:    finding.Place{File: file.Name, Offset: f.Offset},
		Required: "records that can be read to their end (WARC 1.1, 4)", Observed: f.Code + ": " + f.Text,
	}
	if s.rec != nil && s.rec.Offset == f.Offset {
		n.URL, n.Record = s.rec.TargetURI(), finding.Short(s.rec.ID())
		n.Authority = AuthorityOf(n.URL)
	}
	// Bytes after a damaged record, up to the next one, are the rest of it.
	if rest := f.Code == warc.Garbage && s.lost.File != "" && s.lostBefore == file.Records; !n.Note && !rest {
		n.Unreadable = true
		s.damage(n.Place)
	}
	rd.found(n)
}

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

func (rd *Reader) record(path string, rec *warc.Record) error {
	at := finding.Place{File: path, Offset: rec.Offset, Record: finding.Short(rec.ID())}
	rec.Type = strings.ToLower(rec.Type) // some writers use other case for the same type
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

func (rd *Reader) stray(rec *warc.Record, at finding.Place) {
	if rd.ours() {
		rd.bad(at, rec.TargetURI(), "records of the kinds that the archive reference has",
			"a "+finding.Short(rec.Type)+" record of "+finding.Short(rec.Fields.Get("Content-Type")))
	}
}

func (rd *Reader) other(rec *warc.Record, at finding.Place) {
	rd.sum.Other++
	rd.block.begin(rec, false)
	rd.block.rest()
	rd.digests(rec, at, rec.TargetURI())
}

// The heads of records, beside a ledger of this crawler. The ledger binds blocks and not heads; but this crawler writes
// each head in one way (docs/reference/archives.md), and the records of an exchange repeat most of it three times.

// heading has the values of a record's head that another record of the exchange repeats.
type heading struct {
	row           int64 // of the record in its file, from 1; 0 for none
	id, date, uri string
	addr          string
	to            []string // WARC-Concurrent-To
}

func (rd *Reader) heading(rec *warc.Record) heading {
	if !rd.o.Ours {
		return heading{}
	}
	f := rec.Fields
	return heading{row: rd.cur.file.Records, id: finding.Short(rec.ID()), date: f.Get("WARC-Date"),
		uri: rec.TargetURI(), addr: f.Get("WARC-IP-Address"), to: concurrent(rec)}
}

// everyHead are the fields that each record of this crawler has.
var everyHead = []string{"WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Block-Digest", "Content-Type",
	"Content-Length"}

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

// Disagreement returns how the records of an exchange contradict or misname each other, or "" (also without a ledger).
func (e *Exchange) Disagreement() string {
	ask, answer, metadata := &e.heads[0], &e.heads[1], &e.heads[2]
	var wrong []string
	var before *heading
	for _, d := range []*heading{ask, answer, metadata} {
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
	if metadata.row > 0 && !e.naming() { // without metadata a kill tore it off, or another finding names it
		wrong = append(wrong, fmt.Sprintf("WARC-Concurrent-To: %q, %q and %q", ask.to, answer.to, metadata.to))
	}
	return strings.Join(wrong, "; ")
}

// naming reports whether the records of an exchange name each other as this crawler writes it: the first names the
// answer, or the answer the request, and then metadata; metadata names the answer, or the request without one.
func (e *Exchange) naming() bool {
	ask, answer, metadata := &e.heads[0], &e.heads[1], &e.heads[2]
	known := answer.id
	if answer.row == 0 {
		known = e.LeftOut
	}
	names := func(d *heading, first bool, to ...string) bool {
		if first && metadata.row > 0 {
			to = append(to, metadata.id)
		}
		if first && metadata.row == 0 { // a kill tore it off
			return len(d.to) >= len(to) && len(d.to) <= len(to)+1 && slices.Equal(d.to[:len(to)], to)
		}
		return d.row == 0 || slices.Equal(d.to, to)
	}
	switch {
	case ask.row == 0:
		return names(answer, true) && names(metadata, false, known)
	case known == "":
		return names(ask, true) && names(metadata, false, ask.id)
	}
	return names(ask, true, known) && names(answer, false, ask.id) && names(metadata, false, known)
}

// onceOnly are the fields that WARC 1.1 defines. Of these only WARC-Concurrent-To may occur more than once (5.7).
var onceOnly = []string{
	"warc-record-id", "content-length", "warc-date", "warc-type", "content-type", "warc-block-digest", "warc-payload-digest",
	"warc-ip-address", "warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date", "warc-target-uri",
	"warc-truncated", "warc-warcinfo-id", "warc-filename", "warc-profile", "warc-identified-payload-type",
	"warc-segment-number", "warc-segment-origin-id", "warc-segment-total-length",
}

// repeated names fields that occur more than once in a record's head: readers differ in which they take. Extensions may
// have their own rules, as WARC-Protocol does; in archives of this crawler no other field is repeated.
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
		said.Note = !rd.ours() && rec.Fields[first].Value == f.Value // harmless, since the values are equal
		rd.found(said)
		return
	}
}

// ProfileIdentical is the WARC-Profile of a revisit without the payload (WARC 1.1, 6.7.2).
const ProfileIdentical = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
