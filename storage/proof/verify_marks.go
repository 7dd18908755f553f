package proof

import (
	"fmt"
	"slices"
	"time"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
)

// marks are those of a bundle, read.
type marks struct {
	at    indexed
	first *mark
	hosts *mark // the last one

	rotations []*mark
	redacted  []redacted // entries that a mark names, by index
	named     string     // the key by which the log says that it is signed at its end; empty for none
	crashes   []crash
	ended     bool // the last run ended in good order
	last      time.Time
}

// crash is a kill of a run: what was sent after the last that is known of it may have no line.
type crash struct {
	next     int64 // the mark of the run after it
	from, to time.Time
}

// redacted is an entry that a mark names.
type redacted struct {
	entry, by int64
	mark      int // which of Result.Redaction
}

// readMarks reads the marks, and reports whether the rest can be checked: the log's first and the map's.
func (v *verification) readMarks() bool {
	in, err := v.bundle.open(marksName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return false
	}
	m := &v.marks
	var last *mark
	err = eachRow(in, marksName, v.note.Size, func(r Row) error {
		if !ledger.IsMark(r.Public) {
			return fmt.Errorf("entry %d is not a mark", r.Index)
		}
		if _, err := m.at.add(r); err != nil {
			return err
		}
		of, err := parseMark(r)
		if err != nil {
			return fmt.Errorf("entry %d: %w", r.Index, err)
		}
		if last = of; m.first == nil {
			m.first = of
		}
		v.mark(of)
		return nil
	})
	if cerr := in.Close(); cerr != nil {
		v.r.found(BadMember, "%v", cerr)
	}
	if err != nil {
		v.r.found(BadMark, "%v", err)
		return false
	}
	slices.SortFunc(m.redacted, func(a, b redacted) int { return int(max(min(a.entry-b.entry, 1), -1)) })
	return v.ends(last)
}

// ends checks the first mark and the last one.
func (v *verification) ends(last *mark) bool {
	switch first := v.marks.first; {
	case first == nil || first.index != 0 || first.Kind != ledger.KindBegin:
		v.r.found(BadMark, "the mark is missing that begins the log and names its origin (entry 0)")
	case first.Schema != ledger.Schema:
		v.r.found(BadMark, "the log has schema %d, and this program reads %d", first.Schema, ledger.Schema)
	case first.Origin != v.note.Origin:
		v.r.found(BadOrigin, "the log begins as %.120q, and the checkpoint is of %.120q: they are not of one crawl",
			first.Origin, v.note.Origin)
	}
	if last == nil || last.Kind != ledger.KindHosts || last.index != v.note.Size-1 || last.Size < 0 || last.Size > last.index {
		v.r.found(BadMark, "the last entry of the checkpoint is not the mark of a completeness map of the lines before it")
		return false
	}
	v.marks.hosts = last
	v.r.AsOf, v.r.Covered, v.r.Hosts = last.Time, last.Size, last.Hosts
	return v.marks.first != nil
}

// mark takes in what a mark says.
func (v *verification) mark(of *mark) {
	m := &v.marks
	switch of.Kind {
	case ledger.KindRun:
		m.ended = false
		if of.Killed {
			v.r.Killed++
			m.crashes = append(m.crashes, crash{of.index, m.last, of.Time})
		}
		if of.Key != "" {
			m.named = of.Key
		}
	case ledger.KindStop:
		m.ended = true
	case ledger.KindKey:
		m.rotations = append(m.rotations, of)
		m.named = of.Rotation.New.String()
	case ledger.KindRedaction:
		v.r.Redaction = append(v.r.Redaction, Redaction{Time: of.Time, Reason: of.Redaction.Reason})
		for _, i := range of.Redaction.Entries {
			m.redacted = append(m.redacted, redacted{i, of.index, len(v.r.Redaction) - 1})
		}
	}
	if of.Time.After(m.last) {
		m.last = of.Time
	}
}

// redaction notes that a line was taken out, and reports whether a mark behind it says so.
func (v *verification) redaction(index int64) bool {
	all := v.marks.redacted
	i, ok := slices.BinarySearchFunc(all, index, func(r redacted, i int64) int { return int(max(min(r.entry-i, 1), -1)) })
	for ; ok && i < len(all) && all[i].entry == index; i++ {
		if all[i].by > index {
			v.r.Redaction[all[i].mark].Lines++
			return true
		}
	}
	return false
}

// line takes the time of a line of the host: a run that wrote it was not killed before. Lines come in their order.
func (m *marks) line(index int64, at time.Time) {
	i, _ := slices.BinarySearchFunc(m.crashes, index, func(c crash, index int64) int { return int(max(min(c.next-index, 1), -1)) })
	if i < len(m.crashes) && at.After(m.crashes[i].from) {
		m.crashes[i].from = at
	}
}

// crashed reports whether a request that was sent at an instant from one to the other may have been lost when a run was
// killed: between the last that marks and lines of the host tell of that run and the beginning of the next.
func (m *marks) crashed(from, to time.Time) bool {
	return slices.ContainsFunc(m.crashes, func(c crash) bool { return !to.Before(c.from) && !from.After(c.to) })
}

// trusted are the keys to which rotations in the log lead from the one that is known.
func (m *marks) trusted(known checkpoint.Key) []checkpoint.Key {
	all := []checkpoint.Key{known}
	for more := true; more; {
		more = false
		for _, of := range m.rotations {
			if slices.Contains(all, of.Rotation.Old) && !slices.Contains(all, of.Rotation.New) {
				all, more = append(all, of.Rotation.New), true
			}
		}
	}
	return all
}
