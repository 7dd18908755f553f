package bolt

import (
	"slices"

	"curtsy/frontier/bolt/layout"
)

// inFlight returns the record of this instant. A holder makes Width exchanges at most and takes its tasks in the order
// in which they were given, so that only the first Width that are not settled can be in work. The caller holds mu.
func (f *Frontier) inFlight() []byte {
	refs := make([]layout.Ref, 0, f.scheduler.out)
	for _, e := range f.scheduler.leases { // one entry for each lease that is out, beside stale ones
		if h := f.leased(e); h != nil {
			l := h.lease
			for _, t := range l.tasks[:min(len(l.tasks), l.width)] {
				refs = append(refs, t.ref)
			}
		}
	}
	slices.Sort(refs)
	return layout.InFlight{Leases: uint64(f.scheduler.out), Refs: refs}.AppendTo(nil)
}
