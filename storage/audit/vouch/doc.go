// Package vouch determines who confirms a ledger, and since when: keys, witnesses, submitted checkpoints.
//
// The entries of the ledger are given to a Log one by one. It makes the tree of the lines as they are, and keeps its root
// at each size of which a checkpoint or a lodged head tells. Who vouches for another root vouches for another ledger:
// there are two then, or this one was changed since.
//
// Package ledger holds the lines against the checkpoints for itself. Here each signature of somebody else is checked,
// by keys that the caller names; nothing is believed because it stands in the directory.
package vouch
