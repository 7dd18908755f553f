package redact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

// lines are what of a ledger is the subject's.
type lines struct {
	entries []int64           // that become stubs, ascending
	hosts   []string          // of which no line is left
	blocks  map[string]string // what lines say of the exchanges that change (storage.Line.Blocks), by their ids
}

// findLines goes through the ledger.
func findLines(ctx context.Context, dir string, r *Request, a *archived) (*lines, error) {
	l := &lines{blocks: map[string]string{}}
	gone, stay := map[string]bool{}, map[string]bool{}
	n := 0
	for p, err := range ledger.Places((&disk{dir: dir}).path(ledgerDir)) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil && !r.All {
			break // what its lines say of the blocks is told as far as it can be read; an audit says more
		}
		if err != nil {
			return nil, fmt.Errorf("forget: %w; nothing was changed: curtsy audit shows the faults of the ledger", err)
		}
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if id := p.Line.Record; a.seen[id] {
			l.blocks[id] = p.Line.Blocks
		}
		if !r.All {
			continue
		}
		host := hostmap.Host(p.Line.URL)
		if !r.Subject.takes(&p.Line) {
			stay[host] = true
			continue
		}
		gone[host] = true
		l.entries = append(l.entries, p.Index)
	}
	maps.DeleteFunc(gone, func(host string, _ bool) bool { return stay[host] })
	l.hosts = slices.Sorted(maps.Keys(gone))
	return l, nil
}
