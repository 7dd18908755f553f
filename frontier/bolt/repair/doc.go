// Package repair makes the file of a frontier from single facts, without the engine: from exported items (Import), or
// from the remains of a damaged file (Rebuild). All references are new.
//
// A Builder writes a whole file beside its destination, syncs it, and renames it in one step: after an error or a kill,
// the destination is unchanged.
//
// Rebuild trusts neither the branches of bbolt nor its meta pages: it looks at every page, and takes the values whose
// checksums prove their place. Of several versions of a value, it takes the one that the last commit refers to.
package repair
