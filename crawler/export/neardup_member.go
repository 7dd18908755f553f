package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"curtsy/storage/sorted"
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

// members yields the pages of all sets that have two at least. They are put in order twice: by set, the representative
// first, to hold the others against it; then by cluster, which is named after the representative.
func (f *finder) members(ctx context.Context, yield func(member, error) bool) {
	bySet, byCluster := sorted.New(f.dir, f.limit), sorted.New(f.dir, f.limit)
	defer func() { _ = errors.Join(bySet.Close(), byCluster.Close()) }() // what they leave has no name
	err := f.gather(ctx, bySet)
	if err == nil {
		err = f.compare(ctx, bySet, byCluster)
	}
	if err != nil {
		yield(member{}, err)
		return
	}
	for b, err := range byCluster.All() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(member{}, fmt.Errorf("neardup: %w", err))
			return
		}
		if !yield(readMember(b), nil) {
			return
		}
	}
}

// gather puts the pages that have duplicates in the order of their sets. The shortest URL of a set comes first, the first
// by its bytes among several.
func (f *finder) gather(ctx context.Context, bySet *sorted.Sorter) error {
	sizes := f.sets.sizes()
	in := neardupReader{in: bufio.NewReader(f.pages.Section())}
	for n := range uint32(len(f.at)) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := in.next()
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		root := f.sets.root(n)
		if f.sets.dropped(n) || sizes[root] < 2 {
			continue
		}
		b := binary.BigEndian.AppendUint32(f.buf[:0], root)
		b = binary.BigEndian.AppendUint32(b, uint32(len(p.URL)))
		b = append(append(b, p.URL...), 0)
		b = binary.BigEndian.AppendUint32(b, n)
		b = binary.BigEndian.AppendUint32(b, sizes[root])
		f.buf = appendPage(b, p)
		if err := bySet.Add(f.buf); err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
	}
	return nil
}

// compare holds the pages of each set against the first of it.
func (f *finder) compare(ctx context.Context, bySet, byCluster *sorted.Sorter) error {
	var first member
	var firstLeast, least []uint32
	root := uint64(math.MaxUint64)
	for b, err := range bySet.All() {
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		set, b := binary.BigEndian.Uint32(b), b[8+binary.BigEndian.Uint32(b[4:])+1:]
		n, size, b := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), b[8:]
		p, err := readPage(b)
		if err != nil {
			return fmt.Errorf("neardup: %w", err)
		}
		if least, err = f.least(n, least); err != nil {
			return err
		}
		digest := f.digests[n]
		if from, ok := f.source[n]; ok {
			digest = f.digests[from]
		}
		m := member{neardupPage: p, Size: int64(size), Digest: digest, Similarity: 1}
		if uint64(set) != root {
			root = uint64(set)
			m.Kind, m.Representative, m.Cluster = representative, p.URL, clusterOf(p.URL)
			first, firstLeast, least = m, least, firstLeast
		} else {
			m.Kind, m.Representative, m.Cluster = Near, first.URL, first.Cluster
			if digest == first.Digest {
				m.Kind = exact
			} else {
				m.Similarity = similarity(firstLeast, least)
			}
		}
		f.buf = appendMember(f.buf[:0], &m)
		if err := byCluster.Add(f.buf); err != nil {
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

// appendMember appends a member so that the order of bytes is that of the table: by cluster, key, and URL.
func appendMember(b []byte, m *member) []byte {
	b = binary.BigEndian.AppendUint64(b, m.Cluster)
	for _, s := range []string{m.Key, m.URL, m.Representative, string(m.Kind)} {
		b = append(append(b, strings.ReplaceAll(s, "\x00", "")...), 0)
	}
	for _, n := range []uint64{uint64(m.Size), math.Float64bits(m.Similarity), uint64(m.Fetched.UnixMicro()), m.Digest} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func readMember(b []byte) (m member) {
	m.Cluster, b = binary.BigEndian.Uint64(b), b[8:]
	for _, s := range []*string{&m.Key, &m.URL, &m.Representative, (*string)(&m.Kind)} {
		text, rest, _ := bytes.Cut(b, []byte{0})
		*s, b = string(text), rest
	}
	m.Size = int64(binary.BigEndian.Uint64(b))
	m.Similarity = math.Float64frombits(binary.BigEndian.Uint64(b[8:]))
	m.Fetched = time.UnixMicro(int64(binary.BigEndian.Uint64(b[16:]))).UTC()
	m.Digest = binary.BigEndian.Uint64(b[24:])
	return m
}
