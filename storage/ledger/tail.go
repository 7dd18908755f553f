package ledger

import (
	"iter"
	"slices"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/hostmap"
)

// unmapped is the host of an entry that is under none.
const unmapped = ^uint32(0)

// tail is what a checkpoint still has to take in: the hashes of the last entries, and their hosts.
type tail struct {
	base   int64 // index of the first
	hashes []tlog.Hash
	hosts  []uint32 // index in names, of each
	names  []string
	ids    map[string]uint32
}

func (t *tail) size() int64 { return t.base + int64(len(t.hashes)) }

// add takes the next entry.
func (t *tail) add(h tlog.Hash, host string, mapped bool) {
	id := unmapped
	if mapped {
		var known bool
		if id, known = t.ids[host]; !known {
			if t.ids == nil {
				t.ids = map[string]uint32{}
			}
			id = uint32(len(t.names))
			t.ids[host] = id
			t.names = append(t.names, host)
		}
	}
	t.hashes, t.hosts = append(t.hashes, h), append(t.hosts, id)
}

// reset empties t, which goes on behind the entries so far, and keeps its memory.
func (t *tail) reset(base int64) {
	clear(t.ids)
	*t = tail{base: base, hashes: t.hashes[:0], hosts: t.hosts[:0], names: t.names[:0], ids: t.ids}
}

// drop forgets the first n entries.
func (t *tail) drop(n int) {
	rest := tail{base: t.base + int64(n), ids: map[string]uint32{}}
	for i := n; i < len(t.hashes); i++ {
		if id := t.hosts[i]; id == unmapped {
			rest.add(t.hashes[i], "", false)
		} else {
			rest.add(t.hashes[i], t.names[id], true)
		}
	}
	*t = rest
}

// change is what a host has more.
type change struct {
	key  hostmap.Hash
	host string
	at   []int32 // its entries, as indexes in a tail
}

// changes are what the first n entries change, in the order of keys.
func (t *tail) changes(origin string, n int) []change {
	places := make([][]int32, len(t.names))
	for i, id := range t.hosts[:n] {
		if id != unmapped {
			places[id] = append(places[id], int32(i))
		}
	}
	all := make([]change, 0, len(t.names))
	for id, at := range places {
		if len(at) > 0 {
			all = append(all, change{hostmap.Key(origin, t.names[id]), t.names[id], at})
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return hostmap.Compare(hostmap.Entry{Key: a.key}, hostmap.Entry{Key: b.key})
	})
	return all
}

// merged is the map of base and what the first n entries change.
func (t *tail) merged(origin string, n int, base iter.Seq2[hostmap.Entry, error]) iter.Seq2[hostmap.Entry, error] {
	return func(yield func(hostmap.Entry, error) bool) {
		left := t.changes(origin, n)
		// take yields the first change, upon what the map had of its host.
		take := func(e hostmap.Entry) bool {
			c := left[0]
			left = left[1:]
			e.Key, e.Host = c.key, c.host
			for _, i := range c.at {
				e.Add(t.base+int64(i), t.hashes[i])
			}
			return yield(e, nil)
		}
		for e, err := range base {
			if err != nil {
				yield(e, err)
				return
			}
			order := 1
			for len(left) > 0 {
				if order = hostmap.Compare(hostmap.Entry{Key: left[0].key}, e); order >= 0 {
					break
				}
				if !take(hostmap.Entry{}) {
					return
				}
			}
			if len(left) > 0 && order == 0 {
				if !take(e) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
		}
		for len(left) > 0 {
			if !take(hostmap.Entry{}) {
				return
			}
		}
	}
}
