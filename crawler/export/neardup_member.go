package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"curtsy/storage/sorted"
	"curtsy/storage/tables"
)

// kind is what a page is to the representative of its cluster.
type kind string

// Kinds of pages in a cluster.
const (
	representative kind = "representative" // the page that the others are held against
	exact          kind = "exact"          // its digest is the representative's: a copy, as trap:copy has it
	Near           kind = "near"           // anything else
)

// member is a page that has duplicates.
type member struct {
	neardupPage
	Cluster        uint64 // a hash of the representative's URL
	Size           int64  // pages of the cluster
	Representative string // its URL
	Kind           kind
	Similarity     float64 // to the representative
	Digest         uint64
}

// setPage is a page in its set.
type setPage struct {
	Set, N, Size uint32
	Page         neardupPage
}

// members yields the pages of all sets that have two at least. They are put in order twice: by set, the representative
// first, to hold the others against it; then by cluster, which is named after the representative.
func (f *finder) members(ctx context.Context, yield func(member, error) bool) {
	bySet, byCluster := sorted.NewRows[setPage](f.dir, f.limit), sorted.NewRows[member](f.dir, f.limit)
	defer func() { _ = errors.Join(bySet.Close(), byCluster.Close()) }() // what they leave has no name
	err := f.gather(ctx, bySet)
	if err == nil {
		err = f.compare(ctx, bySet, byCluster)
	}
	if err != nil {
		yield(member{}, err)
		return
	}
	for row, err := range byCluster.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(member{}, fmt.Errorf("neardup: %w", err))
			return
		}
		if !yield(row.Value, nil) {
			return
		}
	}
}

// gather puts the pages that have duplicates in the order of their sets. The shortest URL of a set comes first, the first
// by its bytes among several.
func (f *finder) gather(ctx context.Context, bySet *sorted.Rows[setPage]) error {
	sizes := f.sets.sizes()
	in := json.NewDecoder(f.pages.Section())
	for n := range uint32(len(f.at)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p := setPage{Set: f.sets.root(n), N: n}
		if err := in.Decode(&p.Page); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if p.Size = sizes[p.Set]; f.sets.dropped(n) || p.Size < 2 {
			continue
		}
		if err := bySet.Add(fmt.Sprintf("%08x%08x%s", p.Set, len(p.Page.URL), p.Page.URL), p); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
	}
	return nil
}

// compare holds the pages of each set against the first of it.
func (f *finder) compare(ctx context.Context, bySet *sorted.Rows[setPage], byCluster *sorted.Rows[member]) error {
	var first member
	var firstLeast, least []uint32
	root := uint64(math.MaxUint64)
	for row, err := range bySet.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		p := row.Value
		if least, err = f.least(p.N, least); err != nil {
			return err
		}
		digest := f.digests[p.N]
		if from, ok := f.source[p.N]; ok {
			digest = f.digests[from]
		}
		m := member{neardupPage: p.Page, Size: int64(p.Size), Digest: digest, Similarity: 1}
		if uint64(p.Set) != root {
			root = uint64(p.Set)
			m.Kind, m.Representative, m.Cluster = representative, m.URL, clusterOf(m.URL)
			first, firstLeast, least = m, least, firstLeast
		} else {
			m.Kind, m.Representative, m.Cluster = Near, first.URL, first.Cluster
			if digest == first.Digest {
				m.Kind = exact
			} else {
				m.Similarity = similarity(firstLeast, least)
			}
		}
		if err := byCluster.Add(fmt.Sprintf("%016x%s\x01%s", m.Cluster, m.Key, m.URL), m); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
	}
	return nil
}

// clusterOf names the cluster of a representative: FNV-1a of 64 bits.
func clusterOf(url string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(url))
	return h.Sum64()
}

// Row is the row of a member in tables.Duplicates.
func (m *member) Row() tables.Row {
	return tables.Row{
		tables.Text(fmt.Sprintf("%016x", m.Cluster)),
		tables.Long(m.Size),
		tables.Text(m.Key),
		tables.Text(m.URL),
		tables.Instant(m.Fetched),
		tables.Text(m.Representative),
		tables.Text(string(m.Kind)),
		tables.Float(m.Similarity),
		tables.Text(fmt.Sprintf("%016x", m.Digest)),
	}
}

// sets are disjoint sets of pages (Galler and Fischer 1964). The number of a set is the least of its pages'.
type sets struct {
	above []uint32 // of each page one of its set with a lower number, or itself
	gone  []uint64 // bits: pages that do not count
	ghost []uint64 // and those of them that are compared all the same
}

func newSets(n int) sets {
	s := sets{above: make([]uint32, n), gone: make([]uint64, n/64+1), ghost: make([]uint64, n/64+1)}
	for i := range s.above {
		s.above[i] = uint32(i)
	}
	return s
}

func (s *sets) drop(n uint32)         { s.gone[n/64] |= 1 << (n % 64) }
func (s *sets) revive(n uint32)       { s.ghost[n/64] |= 1 << (n % 64) }
func (s *sets) skipped(n uint32) bool { return s.dropped(n) && s.ghost[n/64]>>(n%64)&1 == 0 }
func (s *sets) dropped(n uint32) bool { return s.gone[n/64]>>(n%64)&1 == 1 }

// root is the number of the set that n is in.
func (s *sets) root(n uint32) uint32 {
	for s.above[n] != n {
		s.above[n] = s.above[s.above[n]]
		n = s.above[n]
	}
	return n
}

func (s *sets) join(a, b uint32) {
	a, b = s.root(a), s.root(b)
	s.above[max(a, b)] = min(a, b)
}

// sizes are how many pages each set has, under its number.
func (s *sets) sizes() []uint32 {
	sizes := make([]uint32, len(s.above))
	for n := range uint32(len(s.above)) {
		if !s.dropped(n) {
			sizes[s.root(n)]++
		}
	}
	return sizes
}
