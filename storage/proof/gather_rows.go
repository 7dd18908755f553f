package proof

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/tree"
)

// line keeps a line of the host, as its index, its length and its public form.
func (g *gathered) line(e ledger.Text) error {
	public := tree.Public(nil, e.Line)
	var head [16]byte
	binary.BigEndian.PutUint64(head[:], uint64(e.Index))
	binary.BigEndian.PutUint64(head[8:], uint64(len(public)))
	if _, err := g.rows.Write(head[:]); err != nil {
		return err
	}
	if _, err := g.rows.Write(public); err != nil {
		return err
	}
	l, err := storage.ParseLine(e.Line)
	if err != nil {
		return fmt.Errorf("%w: entry %d cannot be read: %w", ErrDamaged, e.Index, err)
	}
	if l.Decision == storage.DecisionRobots && l.RobotsSHA256 != "" && l.Record != "" && len(g.robots) < maxTexts {
		g.robots[l.RobotsSHA256] = place{l.URL, l.Record}
	}
	if l.RobotsSHA256 != "" && len(g.wanted) < maxTexts {
		g.wanted[l.RobotsSHA256] = true
	}
	return nil
}

// each goes through the lines of the host that were kept. Bytes are valid until the next.
func (g *gathered) each(yield func(Row, error) bool) {
	in := g.rows.Section()
	var head [16]byte
	var b []byte
	for {
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			yield(Row{}, err)
			return
		}
		b = slices.Grow(b[:0], int(binary.BigEndian.Uint64(head[8:])))[:binary.BigEndian.Uint64(head[8:])]
		if _, err := io.ReadFull(in, b); err != nil {
			yield(Row{}, err)
			return
		}
		if !yield(Row{Index: int64(binary.BigEndian.Uint64(head[:])), Public: b}, nil) {
			return
		}
	}
}

// eachLine is each with the stubs that are the host's, in their order.
func (g *gathered) eachLine(yield func(Row, error) bool) {
	mine := slices.DeleteFunc(slices.Clone(g.stubs), func(s stub) bool { return !s.mine })
	more := true
	before := func(index int64) {
		for ; more && len(mine) > 0 && mine[0].index < index; mine = mine[1:] {
			more = yield(Row{Index: mine[0].index, Public: ledger.Stub(mine[0].hash)}, nil)
		}
	}
	for r, err := range g.each {
		if err == nil {
			before(r.Index)
		}
		if more = more && yield(r, err); !more {
			return
		}
	}
	before(g.note.Size)
}
