package proof

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"slices"

	"curtsy/storage"
	"curtsy/storage/ledger"
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
