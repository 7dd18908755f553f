package report

import (
	"cmp"
	"math"
	"slices"
)

// heft is how much an edge of so many links holds together: ten times the links, twice as much.
func heft(weight uint32) float64 { return 1 + math.Log10(float64(max(weight, 1))) }

// network is an undirected graph of groups, whose weights have been summed.
type network struct {
	links []map[int]float64 // of each, to others and to itself
	total float64           // twice the sum of weights
}

// degree is the sum of weights at i.
func (n *network) degree(i int) (d float64) {
	for _, j := range n.neighbours(i) {
		w := n.links[i][j]
		if j == i {
			w *= 2
		}
		d += w
	}
	return d
}

// neighbours are those in a fixed order: sums of doubles depend on theirs.
func (n *network) neighbours(i int) []int {
	list := make([]int, 0, len(n.links[i]))
	for j := range n.links[i] {
		list = append(list, j)
	}
	slices.Sort(list)
	return list
}

// groups finds groups within which there are more edges than by chance: modularity is raised by moving one vertex at a
// time, then the groups are the vertices of the next round (Blondel and others, Fast unfolding of communities in large
// networks, 2008). Groups are numbered from the one with the largest in-degrees on.
func groups(t *Top) []int {
	count := len(t.Vertices)
	n := &network{links: make([]map[int]float64, count)}
	group := make([]int, count)
	for i := range count {
		n.links[i] = map[int]float64{}
		group[i] = i
	}
	for _, e := range t.Edges {
		n.links[e.From][e.To] += heft(e.Weight)
		if e.From != e.To {
			n.links[e.To][e.From] += heft(e.Weight)
		}
		n.total += 2 * heft(e.Weight)
	}
	for n.total > 0 {
		moved, into := n.move()
		for i := range group {
			group[i] = into[group[i]]
		}
		if !moved {
			break
		}
		n = n.merged(into)
	}
	return bySize(t, group)
}

// move moves each vertex to the neighbouring group that raises modularity the most, until none does.
func (n *network) move() (moved bool, into []int) {
	count := len(n.links)
	into = make([]int, count)
	degree, sum := make([]float64, count), make([]float64, count)
	for i := range count {
		into[i] = i
		degree[i] = n.degree(i)
		sum[i] = degree[i]
	}
	for range 50 {
		again := false
		for i := range count {
			to := map[int]float64{}
			for _, j := range n.neighbours(i) {
				if j != i {
					to[into[j]] += n.links[i][j]
				}
			}
			own := into[i]
			sum[own] -= degree[i]
			best, most := own, to[own]-sum[own]*degree[i]/n.total
			for _, j := range n.neighbours(i) {
				g := into[j]
				if gain := to[g] - sum[g]*degree[i]/n.total; j != i && gain > most+1e-9 {
					best, most = g, gain
				}
			}
			sum[best] += degree[i]
			if best != own {
				into[i] = best
				again, moved = true, true
			}
		}
		if !again {
			break
		}
	}
	return moved, dense(into)
}

// dense numbers groups from 0 on, in the order in which they appear.
func dense(group []int) []int {
	numbers := map[int]int{}
	out := make([]int, len(group))
	for i, g := range group {
		if _, ok := numbers[g]; !ok {
			numbers[g] = len(numbers)
		}
		out[i] = numbers[g]
	}
	return out
}

func (n *network) merged(into []int) *network {
	m := &network{total: n.total}
	for range slices.Max(into) + 1 {
		m.links = append(m.links, map[int]float64{})
	}
	for i := range n.links {
		for _, j := range n.neighbours(i) {
			a, b := into[i], into[j]
			switch {
			case i == j:
				m.links[a][a] += n.links[i][j]
			case a == b:
				m.links[a][a] += n.links[i][j] / 2 // it is met from both ends
			default:
				m.links[a][b] += n.links[i][j]
			}
		}
	}
	return m
}

// bySize numbers groups by the sum of the in-degrees of their vertices.
func bySize(t *Top, group []int) []int {
	group = dense(group)
	sums := make([]uint64, len(group))
	order := make([]int, len(group))
	for i, g := range group {
		sums[g] += uint64(t.Vertices[i].In)
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	place := make([]int, len(group))
	for i, g := range order {
		place[g] = i
	}
	for i, g := range group {
		group[i] = place[g]
	}
	return group
}
