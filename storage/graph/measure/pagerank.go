package measure

import (
	"context"
	"math"
)

// maxPageRank ends PageRank. Damping makes the distance of two steps smaller by that factor each time, so 0.85 comes to
// 1e-10 in 142.
const maxPageRank = 1000

// PageRank measures PageRank, and says after how many steps it ended.
func PageRank(ctx context.Context, e Edges, o Options) (rank []float64, steps int, err error) {
	n := e.Order()
	if n == 0 {
		return nil, 0, nil
	}
	rank, next := make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1 / float64(n)
	}
	for steps < maxPageRank {
		if err := ctx.Err(); err != nil {
			return nil, steps, err
		}
		if err := follow(e, o.damping(), rank, next); err != nil {
			return nil, steps, err
		}
		steps++
		distance := 0.0
		for i := range rank {
			distance += math.Abs(next[i] - rank[i])
		}
		rank, next = next, rank
		if distance < o.tolerance() {
			break
		}
	}
	return rank, steps, nil
}

// follow does one step from rank to next.
func follow(e Edges, damping float64, rank, next []float64) error {
	out := e.Out()
	dangling := 0.0
	for i, r := range rank {
		if out[i] == 0 {
			dangling += r
		}
	}
	clear(next)
	for row, err := range e.Rows() {
		if err != nil {
			return err
		}
		share := rank[row.From] / float64(out[row.From])
		for _, to := range row.To {
			next[to] += share
		}
	}
	n := float64(len(rank))
	anew := (1-damping)/n + damping*dangling/n
	sum := 0.0
	for i := range next {
		next[i] = anew + damping*next[i]
		sum += next[i]
	}
	for i := range next { // rounding must not add up
		next[i] /= sum
	}
	return nil
}
