package bolt

import (
	"slices"
	"sort"
	"strings"
	"sync"

	"curtsy/frontier/canon"
)

// names is an index of the hosts in the order of their authorities, made for the first who asks. Hosts become known all
// the time while somebody pages through: they are sorted into a small part first, so that a page costs the small part
// and not all hosts, and the small part is merged into the large one when it is an eighth of it. It has a lock of its own,
// taken before that of the frontier and never after: no turn waits for the sorting of a million names.
type names struct {
	mu           sync.Mutex
	large, small []*host // each in order, and no host in both
	indexed      int     // hosts with smaller ids are in one of them
}

func byName(a, b *host) int { return strings.Compare(a.authority.String(), b.authority.String()) }

// page returns up to limit of hosts, which are by their ids and no fewer than before, after one, in the order of their
// authorities.
func (n *names) page(hosts []*host, after canon.Authority, limit int) []*host {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.update(hosts)
	beyond := func(hs []*host) []*host {
		return hs[sort.Search(len(hs), func(i int) bool { return hs[i].authority.String() > after.String() }):]
	}
	return merge(beyond(n.large), beyond(n.small), limit)
}

// update enters the hosts that have become known since.
func (n *names) update(hosts []*host) {
	var fresh []*host
	for _, h := range hosts[min(n.indexed, len(hosts)):] {
		if h != nil {
			fresh = append(fresh, h)
		}
	}
	n.indexed = max(n.indexed, len(hosts))
	if len(fresh) == 0 {
		return
	}
	slices.SortFunc(fresh, byName)
	n.small = merge(n.small, fresh, len(n.small)+len(fresh))
	if len(n.small) > len(n.large)/8 {
		n.large, n.small = merge(n.large, n.small, len(n.large)+len(n.small)), nil
	}
}

// merge returns the first of both, up to limit, in order.
func merge(a, b []*host, limit int) []*host {
	all := make([]*host, 0, min(limit, len(a)+len(b)))
	for len(all) < cap(all) {
		if len(b) == 0 || len(a) > 0 && byName(a[0], b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return all
}
