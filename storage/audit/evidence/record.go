package evidence

import (
	"strings"

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
	mark := func(h *Joined) {
		for _, p := range []finding.Place{h.Exchange.Place, h.Exchange.Request, h.Exchange.LineAt} {
			if p.Offset == at.Offset && p.Record == at.Record {
				h.Exchange.Damaged = at
			}
		}
	}
	for _, h := range s.window {
		mark(&h.Joined)
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
