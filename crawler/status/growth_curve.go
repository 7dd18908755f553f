package status

import "math"

// points is how many points of itself a Curve keeps.
const points = 16

// growthCurve is how the known URLs of a host grew with those that are done. The zero value knows nothing.
type growthCurve struct {
	n    int
	step int32 // least distance of two points
	at   [points]point
}

type point struct{ done, known int32 }

// Note takes in how many URLs are done and known. One that goes back begins the curve anew: an operator has opened what was
// closed, or an update has begun.
func (c *growthCurve) Note(done, known int64) {
	p := point{clip(done), clip(known)}
	if c.n > 0 {
		last := c.at[c.n-1]
		if p.done < last.done || p.known < last.known {
			*c = growthCurve{}
		} else if p.done < last.done+c.step {
			return
		}
	}
	if c.n == points {
		for i := range points / 2 {
			c.at[i] = c.at[2*i+1]
		}
		c.n, c.step = points/2, 2*c.step
	}
	c.step = max(c.step, 1)
	c.at[c.n] = p
	c.n++
}

func clip(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }

// What a curve must have before it is believed.
const (
	leastDone   = 7    // pages since its first point
	leastPoints = 5    // of it
	leastBarren = 20   // pages that find nothing more, where that is all
	nearer      = 0.97 // of the squares that a straight line is off
	mostEach    = 0.6  // URLs that a page finds, where they grow no fewer
	mostOfKnown = 4.0  // more than this many times the known ones are never expected
)

// Expect says how many URLs there will be when done and known are those of now. It is known itself where nothing more is
// found, or too little was seen. open says that there is no end in sight: more are found, and no fewer than before, or only a
// few pages were seen.
func (c *growthCurve) Expect(done, known int64) (total int64, open bool) {
	var xs, ys []float64
	first := c.at[0]
	for _, p := range c.at[:c.n] {
		if 4*(int64(p.done)-int64(first.done)) >= done-int64(first.done) { // what the home page brought says little
			xs, ys = append(xs, float64(p.done)), append(ys, float64(p.known))
		}
	}
	if len(xs) == 0 || done > int64(xs[len(xs)-1]) {
		xs, ys = append(xs, float64(done)), append(ys, float64(known))
	}
	grown := ys[len(ys)-1] - ys[0]
	if done-int64(first.done) < leastDone || len(xs) < leastPoints {
		return known, c.n > 0 && (known > int64(first.known) || done > 0 && known > done)
	}
	if grown <= 0.01*ys[len(ys)-1] {
		return known, done-int64(first.done) < leastBarren
	}
	if sawn(xs, ys) {
		return known, true
	}
	more, ok := fit(xs, ys)
	if each := grown / (xs[len(xs)-1] - xs[0]); !ok && each <= mostEach {
		more, ok = float64(known-done)*each/(1-each), true // as many as before, of pages that grow fewer
	}
	if !ok || more > (mostOfKnown-1)*float64(known) {
		return known, true
	}
	return known + int64(math.Round(more)), false
}

// bends are the curvatures that are tried: how many times a curve falls to 1/e of its distance to the end within what was
// seen of it.
var bends = [...]float64{0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 13, 16}

// sharp is how much more a curve counts that lies closer: the power of the ratio of what two are off.
const sharp = 3

// fit finds the curves y = end - b·exp(-kx) that lie close to the points, and returns how far they are from their end at the
// last of them, each by how close it lies: with few points several do, and the flattest of them would have no end. It is
// false when a straight line lies as close as any.
func fit(xs, ys []float64) (more float64, ok bool) {
	x0 := xs[0]
	span := xs[len(xs)-1] - x0
	us := make([]float64, len(xs))
	for i, x := range xs {
		us[i] = x - x0
	}
	_, straight := line(us, ys)
	var sum, weights float64
	for _, bend := range bends {
		for i, x := range xs {
			us[i] = -math.Exp(-bend * (x - x0) / span)
		}
		b, off := line(us, ys)
		if b <= 0 {
			continue
		}
		ok = ok || off < nearer*straight
		weight := math.Pow(straight/max(off, 1e-9), sharp)
		sum, weights = sum+weight*math.Log(b*math.Exp(-bend)), weights+weight
	}
	return math.Exp(sum / weights), ok
}

// sawn reports whether what was pending fell by half and rose again, as where pages are found list by list. Where a curve
// levels off it rises once and falls once.
func sawn(xs, ys []float64) bool {
	peak, trough := 0.0, math.Inf(1)
	for i := range xs {
		pending := ys[i] - xs[i]
		if peak = max(peak, pending); pending <= peak/2 {
			trough = min(trough, pending)
		}
		if pending >= trough+peak/2 {
			return true
		}
	}
	return false
}

// line returns the slope of the straight line that lies closest to the points (u, y), and the sum of squares it is off.
func line(us, ys []float64) (slope, off float64) {
	n := float64(len(us))
	var su, sy, suu, suy float64
	for i, u := range us {
		su, sy, suu, suy = su+u, sy+ys[i], suu+u*u, suy+u*ys[i]
	}
	if d := n*suu - su*su; d > 0 {
		slope = (n*suy - su*sy) / d
	}
	at := (sy - slope*su) / n
	for i, u := range us {
		off += (ys[i] - at - slope*u) * (ys[i] - at - slope*u)
	}
	return slope, off
}
