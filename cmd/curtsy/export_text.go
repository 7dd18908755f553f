package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/export"
	"curtsy/storage/plainly"
)

// teller tells people how far an export is.
type teller struct {
	std    cli.Streams
	out    string
	work   *progress.Work
	to     *progress.Display
	differ bool // a count did not agree
	warned bool // of lost lines
}

// going tells how many rows a table has so far.
func (t *teller) going(table string, rows int64) { t.work.At(table, rows) }

// made tells of a table.
func (t *teller) made(m *export.Made) {
	path := plainly.Lines(filepath.Join(t.out, m.File))
	if m.Again {
		t.to.Tell("%-10s %10s  %9s  as it was: %s", m.Table, plainly.Count(m.Rows, "row"), plainly.RoughSize(m.Octets), path)
	} else {
		t.to.Tell("%-10s %10s  %9s  in %.1f s: %s", m.Table, plainly.Count(m.Rows, "row"), plainly.RoughSize(m.Octets), m.Seconds, path)
	}
	t.counts("skipped", m.LeftOut)
	t.counts("rows that lack values", m.Problems)
	t.counts("read", m.Notes)
	if lost := m.LeftOut[export.LostLines]; lost > 0 && !t.warned {
		t.warned = true
		t.to.Tell("           WARNING: the ledger lacks %s; curtsy audit has details", plainly.Count(lost, "line"))
	}
	switch c := m.Check; {
	case c == nil:
	case !c.Agrees():
		t.differ = true
		t.to.Tell("           COUNTS DIFFER: %d %s, and %d in the table", c.Counted, c.Of, c.Rows)
	default:
		t.to.Tell("           matches the %d %s", c.Counted, c.Of)
	}
}

func (t *teller) counts(what string, of map[string]int64) {
	if len(of) == 0 {
		return
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%d %s", of[reason], plainly.Lines(plainly.LeftOut(reason))))
	}
	t.to.Tell("           %s: %s", what, strings.Join(all, ", "))
}
