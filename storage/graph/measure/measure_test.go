package measure_test

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"curtsy/storage/graph"
	"curtsy/storage/graph/measure"
)

// matrix is a graph as lists of where edges lead.
type matrix [][]uint32

func (m matrix) Order() int { return len(m) }

func (m matrix) Size() (n int64) {
	for _, to := range m {
		n += int64(len(to))
	}
	return n
}

func (m matrix) Out() (out []uint32) {
	for _, to := range m {
		out = append(out, uint32(len(to)))
	}
	return out
}

// Rows splits long rows, as a graph does.
func (m matrix) Rows() iter.Seq2[graph.Row, error] {
	return func(yield func(graph.Row, error) bool) {
		for from, to := range m {
			for len(to) > 0 {
				n := min(len(to), 3)
				if !yield(graph.Row{From: uint32(from), To: to[:n], Weight: make([]uint32, n)}, nil) {
					return
				}
				to = to[n:]
			}
		}
	}
}

// random is a graph of so many vertices with so many edges; some vertices have none, and few are linked to by many.
func random(r *rand.Rand, n, edges int) matrix {
	m := make(matrix, n)
	has := map[[2]int]bool{}
	for range edges {
		e := [2]int{r.IntN(n), int(float64(n) * math.Pow(r.Float64(), 3))}
		if e[0]%4 != 1 && e[0] != e[1] && !has[e] {
			has[e] = true
			m[e[0]] = append(m[e[0]], uint32(e[1]))
		}
	}
	return m
}

// distances are those between all vertices, by Floyd and Warshall; far is none.
func distances(m matrix) [][]int {
	const far = math.MaxInt32
	d := make([][]int, len(m))
	for i := range d {
		d[i] = make([]int, len(m))
		for j := range d[i] {
			d[i][j] = far
		}
		for _, to := range m[i] {
			d[i][to] = 1
		}
		d[i][i] = 0
	}
	for k := range d {
		for i := range d {
			for j := range d {
				d[i][j] = min(d[i][j], d[i][k]+d[k][j])
			}
		}
	}
	return d
}

func harmonicOf(t *testing.T, e measure.Edges, o measure.Options) measure.Harmonic {
	t.Helper()
	h, err := measure.HarmonicOf(t.Context(), e, o)
	if err != nil || len(h.Values) != e.Order() {
		t.Fatalf("%d values of %d vertices: %v", len(h.Values), e.Order(), err)
	}
	return h
}

func TestExactHarmonicCentralityIsThatOfAllDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	for _, size := range []struct{ n, edges int }{{1, 0}, {2, 1}, {63, 100}, {64, 64}, {65, 300}, {150, 1200}, {200, 150}} {
		m := random(r, size.n, size.edges)
		got := harmonicOf(t, m, measure.Options{})
		longest := 0
		for x := range m {
			want := 0.0
			for y, d := range distances(m) {
				if y != x && d[x] < math.MaxInt32 {
					want += 1 / float64(d[x])
					longest = max(longest, d[x])
				}
			}
			if math.Abs(got.Values[x]-want) > 1e-9 {
				t.Fatalf("%v: vertex %d has %v, want %v", size, x, got.Values[x], want)
			}
		}
		if !got.Exact || got.Error != 0 || got.Cut || got.Steps != longest {
			t.Errorf("%v: exact %v, error %v, %d steps of %d", size, got.Exact, got.Error, got.Steps, longest)
		}
	}
}

// Boldi and Vigna 2013: the relative standard deviation of a value is near that of a counter, 1.04 / √m, and smaller
// with more registers.
func TestHyperBallIsAsExactAsItSays(t *testing.T) {
	m := random(rand.New(rand.NewPCG(16, 2)), 3000, 12000)
	want := harmonicOf(t, m, measure.Options{})
	for _, registers := range []int64{16, 64, 256, 1024} {
		got := harmonicOf(t, m, measure.Options{Exact: -1, Memory: 2 * registers * int64(len(m))})
		squares, bias, n := 0.0, 0.0, 0
		for x, v := range want.Values {
			if v > 20 {
				off := got.Values[x]/v - 1
				squares, bias, n = squares+off*off, bias+off, n+1
			}
		}
		deviation, mean := math.Sqrt(squares/float64(n)), bias/float64(n)
		t.Logf("%d registers: relative deviation %.4f, mean %+.4f, of %d vertices; a counter's is %.4f", registers, deviation, mean, n, got.Error)
		if got.Exact || got.Error != 1.04/math.Sqrt(float64(registers)) || n < 1000 {
			t.Errorf("%d registers: exact %v, error %v, %d vertices", registers, got.Exact, got.Error, n)
		}
		if deviation > 2*got.Error || got.Steps > want.Steps { // a far vertex may have a register that is taken
			t.Errorf("%d registers: deviation %v, %d steps; a counter's is %v, and the longest distance %d", registers, deviation, got.Steps, got.Error, want.Steps)
		}
	}
}

// With more registers than vertices a counter is exact but for registers that two share.
func TestHyperBallOfFewVertices(t *testing.T) {
	m := matrix{{1}, {2}, {3}, {0}, {}, {4}}
	got := harmonicOf(t, m, measure.Options{Exact: -1})
	for x, want := range []float64{1 + 1./2 + 1./3, 1 + 1./2 + 1./3, 1 + 1./2 + 1./3, 1 + 1./2 + 1./3, 1, 0} {
		if math.Abs(got.Values[x]-want) > 0.02*want {
			t.Errorf("vertex %d has %v, want %v", x, got.Values[x], want)
		}
	}
}

// A chain that somebody laid does not cost a pass for each of its vertices.
func TestHyperBallEndsAfterMaxSteps(t *testing.T) {
	chain := make(matrix, 500)
	for i := range len(chain) - 1 {
		chain[i] = []uint32{uint32(i + 1)}
	}
	h := harmonicOf(t, chain, measure.Options{Exact: -1, MaxSteps: 10})
	if h.Steps != 10 || !h.Cut {
		t.Errorf("%d steps, cut %v", h.Steps, h.Cut)
	}
	if h := harmonicOf(t, chain, measure.Options{Exact: -1, MaxSteps: 499}); h.Cut || h.Steps < 480 {
		t.Errorf("the whole chain: %d steps, cut %v", h.Steps, h.Cut)
	}
}

// solved is PageRank by solving its equations, as Gauss and Jordan do.
func solved(m matrix, damping float64) []float64 {
	n := len(m)
	a := make([][]float64, n)
	for i := range a {
		a[i] = make([]float64, n+1)
		a[i][i] = 1
		a[i][n] = (1 - damping) / float64(n)
	}
	for from, to := range m {
		if len(to) == 0 {
			for i := range a {
				a[i][from] -= damping / float64(n)
			}
		}
		for _, x := range to {
			a[x][from] -= damping / float64(len(to))
		}
	}
	for c := range n {
		for r := c + 1; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[c][c]) {
				a[r], a[c] = a[c], a[r]
			}
		}
		for r := range n {
			if f := a[r][c] / a[c][c]; r != c && f != 0 {
				for k := c; k <= n; k++ {
					a[r][k] -= f * a[c][k]
				}
			}
		}
	}
	rank := make([]float64, n)
	for i := range rank {
		rank[i] = a[i][n] / a[i][i]
	}
	return rank
}

func TestPageRankSolvesItsEquations(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 4))
	for _, c := range []struct {
		n, edges int
		damping  float64
	}{{1, 0, 0}, {2, 1, 0}, {50, 120, 0}, {200, 1500, 0.5}, {120, 60, 0.95}} {
		m := random(r, c.n, c.edges)
		damping := c.damping
		if damping == 0 {
			damping = 0.85 // the default
		}
		got, steps, err := measure.PageRank(t.Context(), m, measure.Options{Damping: c.damping})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for x, want := range solved(m, damping) {
			sum += got[x]
			if math.Abs(got[x]-want) > 1e-8 {
				t.Fatalf("%+v: vertex %d has %v, want %v", c, x, got[x], want)
			}
		}
		if math.Abs(sum-1) > 1e-12 || steps < 1 {
			t.Errorf("%+v: the sum is %v after %d steps", c, sum, steps)
		}
	}
}

func TestNoVerticesHaveNoMeasures(t *testing.T) {
	rank, _, err := measure.PageRank(t.Context(), matrix{}, measure.Options{})
	if len(rank) != 0 || err != nil {
		t.Errorf("%v %v", rank, err)
	}
	harmonicOf(t, matrix{}, measure.Options{})
	harmonicOf(t, matrix{}, measure.Options{Exact: -1})
}

// broken is a graph that cannot be read.
type broken struct{ matrix }

var errDisk = errors.New("the disk is gone")

func (broken) Rows() iter.Seq2[graph.Row, error] {
	return func(yield func(graph.Row, error) bool) { yield(graph.Row{}, errDisk) }
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	e := broken{matrix{{1}, {}}}
	if _, _, err := measure.PageRank(t.Context(), e, measure.Options{}); !errors.Is(err, errDisk) {
		t.Errorf("PageRank: %v", err)
	}
	for _, exact := range []int64{0, -1} {
		if _, err := measure.HarmonicOf(t.Context(), e, measure.Options{Exact: exact}); !errors.Is(err, errDisk) {
			t.Errorf("harmonic centrality: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := measure.PageRank(ctx, e.matrix, measure.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("PageRank: %v", err)
	}
	if _, err := measure.HarmonicOf(ctx, e.matrix, measure.Options{Exact: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("harmonic centrality: %v", err)
	}
}
