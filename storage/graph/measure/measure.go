package measure

import (
	"context"
	"iter"

	"curtsy/storage/graph"
)

// Edges is what is measured. *graph.Graph is one.
type Edges interface {
	Order() int
	Size() int64
	Out() []uint32                     // how many edges each vertex has
	Rows() iter.Seq2[graph.Row, error] // all edges, from the first vertex to the last
}

// Options say how to measure. The zero value is the default.
type Options struct {
	// Damping is the probability to follow an edge. Zero means 0.85.
	Damping float64
	// Tolerance is the L1 distance of two steps of PageRank that ends it. Zero means 1e-10.
	Tolerance float64
	// Memory is how many bytes the counters of HyperBall take, 32 a vertex at least. Zero means 256 MiB.
	Memory int64
	// Exact is how large a graph may be, order × (order + size), whose harmonic centrality is exact. Zero means 4e9, which
	// took seconds; a negative number none.
	Exact int64
	// MaxSteps ends HyperBall. Zero means 128.
	MaxSteps int
}

func (o *Options) damping() float64 {
	if o.Damping > 0 {
		return o.Damping
	}
	return 0.85
}

func (o *Options) tolerance() float64 {
	if o.Tolerance > 0 {
		return o.Tolerance
	}
	return 1e-10
}

func (o *Options) memory() int64 {
	if o.Memory > 0 {
		return o.Memory
	}
	return 256 << 20
}

func (o *Options) maxSteps() int {
	if o.MaxSteps > 0 {
		return o.MaxSteps
	}
	return 128
}

func (o *Options) isExact(e Edges) bool {
	most := o.Exact
	if most == 0 {
		most = 4e9
	}
	order := float64(e.Order())
	return order*(order+float64(e.Size())) <= float64(most)
}

// Harmonic is the harmonic centrality of each vertex.
type Harmonic struct {
	Values []float64
	Exact  bool
	Error  float64 // relative standard deviation of a counter; zero when Exact
	Steps  int     // the longest distance that was counted
	Cut    bool    // there are longer ones
}

// HarmonicOf measures harmonic centrality.
func HarmonicOf(ctx context.Context, e Edges, o Options) (Harmonic, error) {
	if o.isExact(e) {
		return search(ctx, e)
	}
	return hyperBall(ctx, e, &o)
}
