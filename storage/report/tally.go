package report

import (
	"cmp"
	"slices"
	"strings"

	"curtsy/storage"
)

const (
	maxWords   = 500 // distinct names that a tally keeps
	maxSamples = 5
	otherWords = "(others)"
)

// tally counts names that come from the web: the first maxWords distinct ones by themselves, the others together.
type tally struct {
	counts map[string]*Count
}

// add counts name n times. A sample is kept as long as there are few; "" is none.
func (t *tally) add(name string, n, octets int64, sample string) {
	name = cleanTo(name, 200)
	if t.counts == nil {
		t.counts = map[string]*Count{}
	}
	c := t.counts[name]
	if c == nil && len(t.counts) >= maxWords {
		name = otherWords
		c = t.counts[name]
	}
	if c == nil {
		c = &Count{Name: name}
		t.counts[name] = c
	}
	c.Count += n
	c.Octets += octets
	if sample != "" && len(c.Samples) < maxSamples {
		if sample = clean(sample); !slices.Contains(c.Samples, sample) {
			c.Samples = append(c.Samples, sample)
		}
	}
}

// list returns the counts, the largest first.
func (t *tally) list() []Count {
	out := make([]Count, 0, len(t.counts))
	for _, c := range t.counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// twofold are heads of reasons that have the class in their second part.
var twofold = map[string]bool{
	strings.TrimSuffix(storage.NamedByScript, ": "): true, "script": true, "budget": true, "cap": true, "redirect": true, "truncated": true,
}

// Class is the part of a reason that is the same for many URLs: what stands before a detail. The rule behind "trap:"
// and "budget:" belongs to it.
func Class(reason string) string {
	if at := strings.Index(reason, "://"); at >= 0 { // "to http://…"
		reason = strings.TrimSpace(reason[:strings.LastIndexByte(reason[:at], ' ')+1])
	}
	head, rest, detailed := strings.Cut(reason, ": ")
	if detailed && twofold[head] {
		rest, _, _ = strings.Cut(rest, ": ")
		return head + ": " + rest
	}
	return head
}
