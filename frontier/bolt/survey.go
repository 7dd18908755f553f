package bolt

import (
	"cmp"
	order "container/heap"
	"context"
	"slices"
	"strings"

	"curtsy/frontier"
)

// Survey implements frontier.Frontier: one pass over the hosts, under mu and without the disk.
func (f *Frontier) Survey(ctx context.Context, n int) (s frontier.Survey, err error) {
	err = f.locked(ctx, func(now int64) error {
		longest, shut := top{n: n}, top{n: n}
		s = frontier.Survey{Why: map[frontier.Condition]map[string]int64{}, Holds: map[frontier.Act]int64{}}
		for _, h := range f.hosts.all {
			if h == nil {
				continue
			}
			if h.Hold != nil {
				s.Holds[h.Hold.Act]++
			}
			if h.Condition != frontier.Open {
				if s.Why[h.Condition] == nil {
					s.Why[h.Condition] = map[string]int64{}
				}
				s.Why[h.Condition][h.Reason]++
			}
			if h.pending() == 0 {
				continue
			}
			longest.offer(h)
			if h.Condition != frontier.Open || h.Hold != nil {
				shut.offer(h)
			}
		}
		s.Longest, s.Shut = longest.views(now), shut.views(now)
		return nil
	})
	return s, err
}

// views describes the hosts of t, the first first, as far as RAM knows them. The caller holds mu.
func (t top) views(now int64) (views []frontier.Host) {
	slices.SortFunc(t.hosts, rank)
	for _, h := range t.hosts {
		v := viewHost(h, nil, now).view
		v.Robots, v.Memory = nil, nil
		views = append(views, v)
	}
	return views
}

// rank orders hosts by their pending URLs, most first, and equal ones by their names.
func rank(a, b *host) int {
	return cmp.Or(cmp.Compare(b.pending(), a.pending()), strings.Compare(a.authority.String(), b.authority.String()))
}

// top holds the first n hosts, by rank, of those that were offered: a heap with the last of them at its root.
type top struct {
	n     int
	hosts []*host
}

func (t *top) offer(h *host) {
	switch {
	case len(t.hosts) < t.n:
		order.Push(t, h)
	case t.n > 0 && rank(h, t.hosts[0]) < 0:
		t.hosts[0] = h
		order.Fix(t, 0)
	}
}

// Len, Less, Swap, Push and Pop implement the interface of container/heap.
func (t *top) Len() int           { return len(t.hosts) }
func (t *top) Less(i, j int) bool { return rank(t.hosts[i], t.hosts[j]) > 0 }
func (t *top) Swap(i, j int)      { t.hosts[i], t.hosts[j] = t.hosts[j], t.hosts[i] }
func (t *top) Push(h any)         { t.hosts = append(t.hosts, h.(*host)) }
func (t *top) Pop() any {
	last := t.hosts[len(t.hosts)-1]
	t.hosts = t.hosts[:len(t.hosts)-1]
	return last
}
