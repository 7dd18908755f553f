package neardup

import (
	"cmp"
	"context"
	"slices"
)

// Cluster is a cluster in short.
type Cluster struct {
	Representative string
	Size, Copies   int64    // pages; those that are exact
	Least          float64  // similarity to the representative
	Others         []string // URLs of other pages, the first of them
}

// Largest returns the n largest clusters, how many clusters there are, and how many pages are in them. Like All it may be
// called once, instead of that.
func (f *Finder) Largest(ctx context.Context, n, others int) (largest []Cluster, clusters, pages int64, err error) {
	var c Cluster
	var id uint64
	end := func() {
		if c.Size == 0 {
			return
		}
		at, _ := slices.BinarySearchFunc(largest, c, func(a, b Cluster) int {
			return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Representative, b.Representative))
		})
		if largest = slices.Insert(largest, at, c); len(largest) > n {
			largest = largest[:n]
		}
	}
	for m, err := range f.All(ctx) {
		if err != nil {
			return nil, 0, 0, err
		}
		if c.Size == 0 || m.Cluster != id {
			end()
			clusters++
			id, c = m.Cluster, Cluster{Representative: m.Representative, Size: m.Size, Least: 1}
		}
		pages++
		c.Least = min(c.Least, m.Similarity)
		if m.Kind == Exact {
			c.Copies++
		}
		if m.Kind != Representative && len(c.Others) < others {
			c.Others = append(c.Others, m.URL)
		}
	}
	end()
	return largest, clusters, pages, nil
}
