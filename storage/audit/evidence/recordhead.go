package evidence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

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
func (h *Joined) Disagreement() string {
	ask, answer, told := &h.heads[0], &h.heads[1], &h.heads[2]
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
	if told.row > 0 && !h.naming() { // without metadata a kill tore it off, or something else is said of that
		wrong = append(wrong, fmt.Sprintf("WARC-Concurrent-To: %q, %q and %q", ask.to, answer.to, told.to))
	}
	return strings.Join(wrong, "; ")
}

// naming reports whether the records of an exchange name each other as this crawler writes it: the first names the
// answer, or the answer the request, and then metadata; metadata names the answer, or the request without one.
func (h *Joined) naming() bool {
	ask, answer, told := &h.heads[0], &h.heads[1], &h.heads[2]
	known := answer.id
	if answer.row == 0 {
		known = h.Exchange.LeftOut
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
