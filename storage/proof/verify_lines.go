package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// readLines goes through the lines and the heads beside them.
func (v *verification) readLines(ctx context.Context) error {
	heads, err := v.openHeads()
	if err != nil {
		v.r.found(BadMember, "%v", err)
	} else {
		defer heads.stop()
	}
	in, err := v.bundle.open(linesName)
	if err != nil {
		v.r.found(BadMember, "%v", err)
		return nil
	}
	err = eachRow(in, linesName, v.note.Size, func(r Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := v.lines.add(r)
		if err != nil {
			return err
		}
		if r.Index < v.marks.hosts.Size {
			v.before++
			v.entry.Add(r.Index, h)
		}
		return v.line(ctx, r, heads)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ferr := (*logError)(nil); errors.As(err, &ferr) {
		return ferr.err
	}
	if err != nil {
		v.r.found(BadLine, "%v", err)
	}
	if cerr := in.Close(); cerr != nil {
		v.r.found(BadMember, "%v", cerr)
	}
	v.restOfHeads(heads)
	return nil
}

// logError is a failure to keep what an access log will be held against.
type logError struct{ err error }

func (e *logError) Error() string { return e.err.Error() }

// line checks one line by itself.
func (v *verification) line(ctx context.Context, r Row, heads *headStream) error {
	if ledger.IsMark(r.Public) {
		v.r.at(BadLine, r.Index, "entry %d is a mark, and no line of a host", r.Index)
		return nil
	}
	if ledger.IsStub(r.Public) {
		v.r.Summary.Lines++
		v.r.Summary.Redacted++
		if !v.redaction(r.Index) {
			v.r.at(Unredacted, r.Index, "entry %d was taken out, and no later mark of a redaction names it", r.Index)
		}
		return nil
	}
	l, err := storage.ParseLine(r.Public)
	if err != nil {
		v.r.at(BadLine, r.Index, "entry %d cannot be read: %v", r.Index, err)
		return nil
	}
	if host := hostmap.Host(l.URL); host != v.r.Host {
		v.r.at(OtherHost, r.Index, "entry %d is about %.80q, another host", r.Index, host)
		return nil
	}
	v.r.Summary.take(&l)
	v.marks.line(r.Index, l.Time)
	h := v.headOf(r.Index, &l, heads)
	v.judge.take(r.Index, &l, h)
	if v.log != nil {
		if err := v.log.take(ctx, r.Index, &l, h); err != nil {
			return &logError{err}
		}
	}
	return nil
}

// headOf returns the head of an exchange if it is there and right.
func (v *verification) headOf(index int64, l *storage.Line, heads *headStream) *Head {
	if l.Record == "" {
		return nil
	}
	h := heads.at(index, func(other int64) {
		v.r.at(BadHeads, other, "there are heads for entry %d, which is not a request to this host", other)
	})
	switch {
	case l.Heads == "":
		v.r.Heads.Unprovable++
		if h != nil {
			v.r.at(BadHeads, index, "the line of entry %d binds no heads, and the bundle has some", index)
		}
		return nil
	case h == nil:
		v.r.Heads.NotThere++
		return nil
	case h.sum() != l.Heads:
		v.r.at(BadHeads, index, "the heads of entry %d are not those that its line binds: they were changed", index)
		return nil
	}
	v.r.Heads.Right++
	v.r.Summary.head(*h)
	return h
}

// headStream gives heads in the order of their lines.
type headStream struct {
	in    *stream
	pull  func() (int64, *Head, bool)
	stop  func()
	index int64
	next  *Head
	err   error
}

func (v *verification) openHeads() (*headStream, error) {
	in, err := v.bundle.open(headsName)
	if err != nil {
		return nil, err
	}
	s := &headStream{in: in}
	s.pull, s.stop = iter.Pull2(func(yield func(int64, *Head) bool) {
		before := int64(-1)
		s.err = eachJSONL(in, headsName, func(b []byte) error {
			index, h, err := parseHead(b)
			switch {
			case err != nil:
				return err
			case index <= before:
				return errors.New("indexes ascend")
			}
			if before = index; !yield(index, &h) {
				return errEnough
			}
			return nil
		})
	})
	s.advance()
	return s, nil
}

var errEnough = errors.New("enough")

func (s *headStream) advance() {
	if index, h, ok := s.pull(); ok {
		s.index, s.next = index, h
	} else {
		s.next = nil
	}
}

// at returns the head of an entry, or nil. Heads before it are nobody's.
func (s *headStream) at(index int64, nobody func(int64)) *Head {
	if s == nil {
		return nil
	}
	for s.next != nil && s.index < index {
		nobody(s.index)
		s.advance()
	}
	if s.next == nil || s.index != index {
		return nil
	}
	h := s.next
	s.advance()
	return h
}

// restOfHeads ends the heads.
func (v *verification) restOfHeads(s *headStream) {
	if s == nil {
		return
	}
	for ; s.next != nil; s.advance() {
		v.r.at(BadHeads, s.index, "there are heads for entry %d, which is not a request to this host", s.index)
	}
	if s.err != nil {
		v.r.found(BadHeads, "%v", s.err)
	}
	if err := s.in.Close(); err != nil {
		v.r.found(BadMember, "%v", err)
	}
}

// texts reads the robots.txt files, each held to the digest that it is named after.
func (v *verification) texts() map[string][]byte {
	all, size := map[string][]byte{}, 0
	names := make([]string, 0, len(v.bundle.files))
	for name := range v.bundle.files {
		if v.bundle.robotsOf(name) != "" {
			names = append(names, name)
		}
	}
	for name := range v.bundle.said {
		if v.bundle.robotsOf(name) != "" && v.bundle.files[name] == nil {
			v.r.found(BadMember, "%s is missing", name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		sha := v.bundle.robotsOf(name)
		b, err := v.bundle.whole(name)
		if err != nil {
			v.r.found(BadMember, "%v", err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != sha {
			v.r.found(BadRobots, "%s is not the robots.txt that it is named after: it was changed", name)
			continue
		}
		if size += len(b); size <= maxAllTexts {
			all[sha] = b
		}
	}
	return all
}

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
