package measure

import (
	"context"
	"math"
	"math/bits"
)

const (
	leastLog = 4  // 16 registers
	mostLog  = 10 // 1,024
)

// balls are HyperLogLog counters, one a vertex, side by side: of those from which the vertex can be reached.
type balls struct {
	log         int // of the number of registers
	now, next   []uint8
	grew, grows []uint64 // bits by vertex: whose counter changed in the last step, and in this one
}

func newBalls(n int, memory int64) *balls {
	b := &balls{log: leastLog}
	for b.log < mostLog && int64(n)*2<<(b.log+1) <= memory {
		b.log++
	}
	b.now, b.next = make([]uint8, n<<b.log), make([]uint8, n<<b.log)
	b.grew, b.grows = make([]uint64, n/64+1), make([]uint64, n/64+1)
	for v := range n {
		h := mixed(uint64(v))
		register := h >> (64 - b.log)
		b.now[v<<b.log+int(register)] = uint8(bits.LeadingZeros64(h<<b.log|1<<(b.log-1)) + 1)
		b.grew[v/64] |= 1 << (v % 64)
	}
	copy(b.next, b.now)
	return b
}

// mixed spreads numbers over all words (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// join gives the counter of to what that of from has.
func (b *balls) join(from, to uint32) {
	source := b.now[int(from)<<b.log : (int(from)+1)<<b.log]
	target := b.next[int(to)<<b.log : (int(to)+1)<<b.log][:len(source)]
	changed := false
	for i, r := range source {
		if r > target[i] {
			target[i] = r
			changed = true
		}
	}
	if changed {
		b.grows[to/64] |= 1 << (to % 64)
	}
}

// size estimates how many were counted (Flajolet and others, HyperLogLog, 2007, with linear counting of few).
func (b *balls) size(v int) float64 {
	m := float64(int(1) << b.log)
	sum, empty := 0.0, 0
	for _, r := range b.now[v<<b.log : (v+1)<<b.log] {
		sum += negative[r]
		if r == 0 {
			empty++
		}
	}
	alpha := 0.7213 / (1 + 1.079/m)
	switch b.log {
	case 4:
		alpha = 0.673
	case 5:
		alpha = 0.697
	case 6:
		alpha = 0.709
	}
	if estimate := alpha * m * m / sum; estimate > 2.5*m || empty == 0 {
		return estimate
	}
	return m * math.Log(m/float64(empty))
}

// negative has 2 to the power of -i.
var negative = func() (powers [65]float64) {
	for i := range powers {
		powers[i] = math.Exp2(-float64(i))
	}
	return powers
}()

// hyperBall estimates harmonic centrality.
func hyperBall(ctx context.Context, e Edges, o *Options) (Harmonic, error) {
	n := e.Order()
	b := newBalls(n, o.memory())
	h := Harmonic{Values: make([]float64, n), Error: 1.04 / math.Sqrt(float64(int(1)<<b.log))}
	reached := make([]float32, n) // the size of each counter
	for v := range reached {
		reached[v] = float32(b.size(v))
	}
	for {
		if err := ctx.Err(); err != nil {
			return h, err
		}
		for row, err := range e.Rows() {
			if err != nil {
				return h, err
			}
			if b.grew[row.From/64]>>(row.From%64)&1 == 0 {
				continue // those behind it have all that it has
			}
			for _, to := range row.To {
				b.join(row.From, to)
			}
		}
		grown := b.turn()
		if !grown {
			return h, nil
		}
		if h.Steps == o.maxSteps() {
			h.Cut = true
			return h, nil
		}
		h.Steps++
		b.each(func(v int) {
			size := float32(b.size(v))
			h.Values[v] += float64(max(size-reached[v], 0)) / float64(h.Steps)
			reached[v] = size
		})
	}
}

// turn makes the next generation the present one, and reports whether a counter changed.
func (b *balls) turn() (grown bool) {
	b.now, b.next = b.next, b.now
	b.grew, b.grows = b.grows, b.grew
	clear(b.grows)
	b.each(func(v int) {
		copy(b.next[v<<b.log:(v+1)<<b.log], b.now[v<<b.log:(v+1)<<b.log])
		grown = true
	})
	return grown
}

// each calls do with the vertices whose counters changed in the last step.
func (b *balls) each(do func(v int)) {
	for i, word := range b.grew {
		for ; word != 0; word &= word - 1 {
			do(i*64 + bits.TrailingZeros64(word))
		}
	}
}
