package witness

import (
	"slices"
	"time"

	"curtsy/storage/ledger/checkpoint"
)

// A Cosigner is a witness that cosigned a checkpoint, and when it says that it did.
type Cosigner struct {
	Key checkpoint.Key
	At  time.Time
}

// Cosigners are those of the known witnesses that cosigned n, the earliest first. Cosignatures that claim to be by one of
// them and are not count for nothing, as do those of others. Each witness counts once, with its latest cosignature.
func Cosigners(n *checkpoint.Note, known []checkpoint.Key) (all []Cosigner) {
	for _, k := range known {
		at, ok := n.Cosigned(k)
		if ok && !slices.ContainsFunc(all, func(c Cosigner) bool { return c.Key == k }) {
			all = append(all, Cosigner{k, at})
		}
	}
	slices.SortStableFunc(all, func(a, b Cosigner) int { return a.At.Compare(b.At) })
	return all
}
