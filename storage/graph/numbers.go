package graph

import "math/bits"

// numbers gives each fingerprint the number that it was first met with: open addressing, 12 bytes a slot. Zero is no
// fingerprint.
type numbers struct {
	keys  []uint64
	vals  []uint32
	count int
}

const firstSlots = 1 << 10

// get returns the number of a fingerprint.
func (n *numbers) get(key uint64) (uint32, bool) {
	if n.count == 0 {
		return 0, false
	}
	i := n.slot(key)
	return n.vals[i], n.keys[i] != 0
}

// put adds a fingerprint that is not there.
func (n *numbers) put(key uint64, val uint32) {
	if n.count >= len(n.keys)/4*3 {
		n.grow()
	}
	i := n.slot(key)
	n.keys[i], n.vals[i] = key, val
	n.count++
}

// slot is the place of key, or the free one where it belongs.
func (n *numbers) slot(key uint64) int {
	mask := len(n.keys) - 1
	i := int(key>>(64-bits.Len(uint(mask)))) & mask
	for n.keys[i] != 0 && n.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (n *numbers) grow() {
	keys, vals := n.keys, n.vals
	size := max(2*len(keys), firstSlots)
	n.keys, n.vals = make([]uint64, size), make([]uint32, size)
	for i, key := range keys {
		if key != 0 {
			at := n.slot(key)
			n.keys[at], n.vals[at] = key, vals[i]
		}
	}
}
