package export

import (
	"cmp"
	"context"
	"slices"
)

// cluster is a cluster in short.
type cluster struct {
	Representative string
	Size, Copies   int64    // pages; those that are exact
	Least          float64  // similarity to the representative
	Others         []string // URLs of other pages, the first of them
}

// Largest returns the n largest clusters, how many clusters there are, and how many pages are in them. Like All it may be
// called once, instead of that.
func (f *finder) Largest(ctx context.Context, n, others int) (largest []cluster, clusters, pages int64, err error) {
	var c cluster
	var id uint64
	end := func() {
		if c.Size == 0 {
			return
		}
		at, _ := slices.BinarySearchFunc(largest, c, func(a, b cluster) int {
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
			id, c = m.Cluster, cluster{Representative: m.Representative, Size: m.Size, Least: 1}
		}
		pages++
		c.Least = min(c.Least, m.Similarity)
		if m.Kind == exact {
			c.Copies++
		}
		if m.Kind != representative && len(c.Others) < others {
			c.Others = append(c.Others, m.URL)
		}
	}
	end()
	return largest, clusters, pages, nil
}
