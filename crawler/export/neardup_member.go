package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"
	"time"

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

var errCut = errors.New("a page is cut off")

func appendPage(b []byte, p neardupPage) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(p.Fetched.UnixMicro()))
	b = binary.AppendUvarint(b, uint64(len(p.Key)))
	return append(append(b, p.Key...), p.URL...)
}

// readPage reads what appendPage has written; all of b is one page.
func readPage(b []byte) (p neardupPage, err error) {
	if len(b) < 8 {
		return neardupPage{}, errCut
	}
	p.Fetched = time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
	b = b[8:]
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return neardupPage{}, errCut
	}
	p.Key, p.URL = string(b[used:used+int(n)]), string(b[used+int(n):])
	return p, nil
}

// addPage writes a page behind others, with its length before it.
func (f *finder) addPage(p neardupPage) error {
	f.buf = appendPage(f.buf[:0], p)
	var length [binary.MaxVarintLen64]byte
	if _, err := f.pages.Write(binary.AppendUvarint(length[:0], uint64(len(f.buf)))); err != nil {
		return err
	}
	_, err := f.pages.Write(f.buf)
	return err
}

// neardupReader reads the pages of a Finder one after the other.
type neardupReader struct {
	in  *bufio.Reader
	buf []byte
}

func (r *neardupReader) next() (page neardupPage, err error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return neardupPage{}, err
	}
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return neardupPage{}, err
	}
	return readPage(r.buf)
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
