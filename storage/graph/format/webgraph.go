package format

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"curtsy/storage/graph"
	"curtsy/storage/sorted"
)

// Vertices writes the vertices as Common Crawl does: number and reversed name, of domains their hosts.
func (d *Document) Vertices(w io.Writer) error {
	p := newPage(w)
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		p.b = strconv.AppendUint(p.b, uint64(v.ID), 10)
		p.b = plainText(append(p.b, '\t'), v.Reversed, false)
		if d.Level == graph.Domains {
			p.b = strconv.AppendInt(append(p.b, '\t'), v.Hosts, 10)
		}
		p.text("\n")
		if err := p.write(); err != nil {
			return err
		}
	}
	return p.end()
}

// Edges writes the edges as Common Crawl does: the numbers of source and target.
func (d *Document) Edges(w io.Writer) error {
	p := newPage(w)
	for row, err := range d.Graph.Rows() {
		if err != nil {
			return err
		}
		for _, to := range row.To {
			p.b = strconv.AppendUint(p.b, uint64(row.From), 10)
			p.b = strconv.AppendUint(append(p.b, '\t'), uint64(to), 10)
			p.text("\n")
		}
		if err := p.write(); err != nil {
			return err
		}
	}
	return p.end()
}

const ranksMemory = 32 << 20

// Ranks writes the vertices by harmonic centrality as Common Crawl does, the first of equals first.
func (d *Document) Ranks(w io.Writer) (err error) {
	harmonic, rank := positions(d.Harmonic.Values), positions(d.PageRank)
	s := sorted.New(d.Dir, ranksMemory)
	defer func() { err = errors.Join(err, s.Close()) }()
	var b []byte
	for v, err := range d.Graph.Vertices() {
		if err != nil {
			return err
		}
		b = binary.BigEndian.AppendUint32(b[:0], harmonic[v.ID])
		b = number(append(b, '\t'), d.Harmonic.Values[v.ID])
		b = strconv.AppendUint(append(b, '\t'), uint64(rank[v.ID]), 10)
		b = number(append(b, '\t'), d.PageRank[v.ID])
		b = plainText(append(b, '\t'), v.Reversed, false)
		if d.Level == graph.Domains {
			b = strconv.AppendInt(append(b, '\t'), v.Hosts, 10)
		}
		if err := s.Add(b); err != nil {
			return fmt.Errorf("format: sort the ranks: %w", err)
		}
	}
	p := newPage(w)
	p.text("#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev")
	if d.Level == graph.Domains {
		p.text("\t#n_hosts")
	}
	p.text("\n")
	for line, err := range s.All() {
		if err != nil {
			return fmt.Errorf("format: sort the ranks: %w", err)
		}
		p.b = strconv.AppendUint(p.b, uint64(binary.BigEndian.Uint32(line)), 10)
		p.b = append(append(p.b, line[4:]...), '\n')
		if err := p.write(); err != nil {
			return err
		}
	}
	return p.end()
}

// positions are the places of values, from 1 on, the largest first and equal ones in their order.
func positions(values []float64) []uint32 {
	order := make([]uint32, len(values))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(values[b], values[a]), cmp.Compare(a, b)) })
	places := make([]uint32, len(values))
	for place, i := range order {
		places[i] = uint32(place) + 1
	}
	return places
}
