package exportcmd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/export"
	"curtsy/storage/plainly"
)

// teller tells people how far an export is.
type teller struct {
	std    cli.Streams
	out    string
	last   time.Time
	differ bool // a count did not agree
}

// every is how often a table says how far it is.
const every = 10 * time.Second

func (t *teller) going(table string, rows int64) {
	if now := time.Now(); now.Sub(t.last) >= every {
		t.last = now
		fmt.Fprintf(t.std.Err, "%s: %s so far\n", table, plainly.Count(rows, "row"))
	}
}

// made tells of a table.
func (t *teller) made(m *export.Made) {
	t.last = time.Now()
	path := plainly.Lines(filepath.Join(t.out, m.File))
	if m.Again {
		fmt.Fprintf(t.std.Err, "%-10s %10s  %9s  as it was: %s\n", m.Table, plainly.Count(m.Rows, "row"), text.RoughSize(m.Octets), path)
	} else {
		fmt.Fprintf(t.std.Err, "%-10s %10s  %9s  in %.1f s: %s\n", m.Table, plainly.Count(m.Rows, "row"), text.RoughSize(m.Octets), m.Seconds, path)
	}
	t.counts("without a row", m.LeftOut)
	t.counts("rows that lack values", m.Problems)
	t.counts("read", m.Notes)
	switch c := m.Check; {
	case c == nil:
	case !c.Agrees():
		t.differ = true
		fmt.Fprintf(t.std.Err, "           COUNTS DIFFER: %d %s, and %d that the table tells of\n", c.Counted, c.Of, c.Rows)
	default:
		fmt.Fprintf(t.std.Err, "           as many as the %d %s\n", c.Counted, c.Of)
	}
}

func (t *teller) counts(what string, of map[string]int64) {
	if len(of) == 0 {
		return
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%d %s", of[reason], plainly.Lines(reason)))
	}
	fmt.Fprintf(t.std.Err, "           %s: %s\n", what, strings.Join(all, ", "))
}
