package proof

import (
	"errors"
	"fmt"
	"slices"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/tree"
)

// line keeps a line of the host, as bundles have it.
func (g *gathered) line(e ledger.Text) error {
	g.buf = Row{e.Index, tree.Public(nil, e.Line)}.append(g.buf[:0])
	if _, err := g.rows.Write(g.buf); err != nil {
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
	err := eachRow(g.rows.Section(), linesName, g.note.Size, func(r Row) error {
		if !yield(r, nil) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		yield(Row{}, err)
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
