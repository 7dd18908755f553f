package measure

import (
	"context"
	"math/bits"
)

// search finds all distances, breadth first from 64 vertices at a time: a bit of a word is one of them.
func search(ctx context.Context, e Edges) (Harmonic, error) {
	n := e.Order()
	h := Harmonic{Values: make([]float64, n), Exact: true}
	s, err := load(e)
	if err != nil {
		return h, err
	}
	for first := 0; first < n; first += 64 {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		h.Steps = max(h.Steps, s.from(first, h.Values))
	}
	return h, nil
}

// searching is a graph in memory, and how far a search came.
type searching struct {
	begin []uint32 // of the edges of each vertex in to, and where the last end
	to    []uint32

	seen, here, there []uint64 // by vertex: who has been there, who came in this step, who comes in the next
	now, next         []uint32 // the vertices with something in here and there
}

func load(e Edges) (*searching, error) {
	n := e.Order()
	s := &searching{
		begin: make([]uint32, n+1), to: make([]uint32, 0, e.Size()),
		seen: make([]uint64, n), here: make([]uint64, n), there: make([]uint64, n),
	}
	for row, err := range e.Rows() {
		if err != nil {
			return nil, err
		}
		s.to = append(s.to, row.To...)
	}
	at := uint32(0)
	for i, d := range e.Out() {
		s.begin[i] = at
		at += d
	}
	s.begin[n] = at
	return s, nil
}

// from searches from the 64 vertices from first on, adds what they give to values, and returns the longest distance.
func (s *searching) from(first int, values []float64) (steps int) {
	clear(s.seen)
	s.now = s.now[:0]
	for i := first; i < min(first+64, len(values)); i++ {
		s.seen[i], s.here[i] = 1<<(i-first), 1<<(i-first)
		s.now = append(s.now, uint32(i))
	}
	for {
		s.step()
		if len(s.now) == 0 {
			return steps
		}
		steps++
		for _, v := range s.now {
			values[v] += float64(bits.OnesCount64(s.here[v])) / float64(steps)
		}
	}
}

// step goes on by one edge.
func (s *searching) step() {
	s.next = s.next[:0]
	for _, v := range s.now {
		came := s.here[v]
		s.here[v] = 0
		for _, to := range s.to[s.begin[v]:s.begin[v+1]] {
			if fresh := came &^ s.seen[to]; fresh != 0 {
				if s.there[to] == 0 {
					s.next = append(s.next, to)
				}
				s.there[to] |= fresh
			}
		}
	}
	for _, v := range s.next {
		s.seen[v] |= s.there[v]
	}
	s.here, s.there = s.there, s.here
	s.now, s.next = s.next, s.now
}
