// Package measure says how central each vertex of a graph is: PageRank and harmonic centrality. (Degrees are known to the
// graph itself.)
//
// # PageRank
//
// The chance to be at a vertex, for someone who follows an edge with probability Damping, whichever of a vertex's edges as
// likely as any other, and else begins anew anywhere. A vertex without edges is left by beginning anew (dangling mass is
// spread evenly). Weights do not count: a page could raise them by repeating a link. Steps go on until the L1 distance of
// two is below Tolerance. The sum is 1.
//
// # Harmonic centrality
//
// The sum over all other vertices y of 1 / d(y, x), where d is the number of edges on the shortest path from y to x, and
// 1 / ∞ is 0 (Boldi and Vigna, Axioms for Centrality, 2014): a vertex that many reach in few steps is central.
//
// A graph whose order times order and size is at most Exact is searched breadth first from every vertex, 64 at a time.
// A larger one is estimated as WebGraph does (Boldi and Vigna, In-Core Computation of Geometric Centralities with
// HyperBall, 2013): each vertex has a HyperLogLog counter of those that reach it within t steps, and takes over the
// counters of those before it at each step. With m registers a counter's relative standard deviation is 1.04 / √m; the
// number of registers is the largest power of two, from 16 to 1,024, for which both generations of counters fit into
// Options.Memory. Harmonic.Error says what it came to. Registers are drawn by a hash that is the same in every process,
// of the numbers of vertices: the same graph has the same estimates. Estimation ends after MaxSteps at the latest; what
// is further away would add less than 1 / MaxSteps each.
//
// # Memory
//
// All read the edges from disk, step by step, and hold 20 bytes a vertex (PageRank), 8 bytes a vertex and
// Options.Memory (HyperBall), or 28 bytes a vertex and 4 an edge (exact, of graphs within Exact).
package measure
