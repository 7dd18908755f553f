package trap

import "math/bits"

const (
	span       = 200 // pages that are looked at
	maxWindows = 16  // groups whose pages are looked at at one time
)

// window says of the last pages of a group which of them brought something new.
type window struct {
	group group
	n     int                 // pages, at most span
	fresh [span/64 + 1]uint64 // a bit a page, the last one lowest
}

// add enters a page.
func (w *window) add(fresh bool) {
	for i := len(w.fresh) - 1; i > 0; i-- {
		w.fresh[i] = w.fresh[i]<<1 | w.fresh[i-1]>>63
	}
	w.fresh[0] <<= 1
	if fresh {
		w.fresh[0] |= 1
	}
	w.fresh[len(w.fresh)-1] &= 1<<(span%64) - 1
	w.n = min(w.n+1, span)
}

// barren reports whether there were pages enough, and less than 5 % of them brought something new.
func (w *window) barren(limit int) bool {
	look := min(limit, span)
	if w.n < look {
		return false
	}
	fresh := 0
	for i, b := range w.fresh {
		if left := look - 64*i; left < 64 {
			b &= 1<<max(left, 0) - 1
		}
		fresh += bits.OnesCount64(b)
	}
	return 20*fresh < look
}
