// Package repair makes the file of a frontier out of single facts, without the engine: of items that another frontier was
// exported as (Import), or of what is left of a damaged file (Rebuild). All references are new.
//
// A Builder writes a whole file beside the place where it belongs, syncs it, and gives it its name in one step: after an
// error, or a kill, what was there is as it was.
//
// Most of its tests stand beside the engine, which makes the files that they spoil and opens what comes out.
//
// Rebuild believes neither the branches of bbolt nor its meta pages: it looks at every page, and takes the values whose
// checksums prove what they are. Where the file has several versions of one, it takes what the last commit refers to.
package repair
