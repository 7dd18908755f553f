package proof

import (
	"encoding/json"
	"slices"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
)

// gatherMark is a mark, as far as it counts here.
type gatherMark struct {
	Kind    string          `json:"mark"`
	Size    int64           `json:"size"`
	Root    string          `json:"root"`
	Entries json.RawMessage `json:"entries"`
}

func (m *gatherMark) root() hostmap.Hash {
	h, _ := hashIn([]byte(m.Root)) // one that is none is no root of the hosts
	return hostmap.Hash(h)
}

// markOf reads a mark. One that is none has no kind.
func markOf(line []byte) (m gatherMark) {
	if json.Unmarshal(line, &m) != nil {
		return gatherMark{}
	}
	return m
}

// gatherRedacted are the entries that a mark says were forgotten; nil for other marks.
func gatherRedacted(r Row) (all []int64) {
	m := markOf(r.Public)
	if m.Kind != ledger.KindRedaction || json.Unmarshal(m.Entries, &all) != nil {
		return nil
	}
	return all
}

// marks chooses those for the bundle: of redactions, the ones that name a line of the host. Another one may say of
// another host, in its operator's words, what is not this host's business.
func (g *gathered) marks() {
	mine := map[int64]bool{}
	for _, s := range g.stubs {
		if s.mine {
			mine[s.index] = true
		}
	}
	for _, m := range g.all {
		if markOf(m.Public).Kind != ledger.KindRedaction || slices.ContainsFunc(gatherRedacted(m), func(i int64) bool { return mine[i] }) {
			g.Marks = append(g.Marks, m)
		}
	}
}
