package canon

import "strings"

// Slots is the number of groups that Slot divides hosts into.
const Slots = 256

// Slot returns the group of a host, whose members of a fleet have it together. http and https, and a name with and without
// www, share one; each port of an address or of localhost has its own.
func (a Authority) Slot() int {
	key := strings.TrimPrefix(a.Host(), "www.")
	if _, ok := a.Addr(); ok || key == "localhost" {
		key += ":" + a.Port()
	}
	h := uint32(2166136261) // FNV-1a, which no later version may change
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	return int((h ^ h>>8 ^ h>>16 ^ h>>24) % Slots)
}
