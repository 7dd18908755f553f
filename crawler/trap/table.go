package trap

// table counts the members of many groups with few counters, as Misra and Gries have it: a group that finds no free
// counter takes one from each of the others. So a count is never more than what is true.
type table struct {
	most    int // counters
	entries []entry
}

type entry struct {
	group group
	n     uint32
}

// The counters of each table.
const (
	maxPaths     = 64
	maxTemplates = 48
)

// count returns how many members of g there were at least.
func (t *table) count(g group) int {
	for _, e := range t.entries {
		if e.group == g {
			return int(e.n)
		}
	}
	return 0
}

// add counts a member of g.
func (t *table) add(g group) {
	for i := range t.entries {
		if e := &t.entries[i]; e.group == g {
			e.n = min(e.n+1, MaxLimit)
			return
		}
	}
	if len(t.entries) < t.most {
		t.entries = append(t.entries, entry{g, 1})
		return
	}
	kept := t.entries[:0]
	for _, e := range t.entries {
		if e.n--; e.n > 0 {
			kept = append(kept, e)
		}
	}
	t.entries = kept
}
