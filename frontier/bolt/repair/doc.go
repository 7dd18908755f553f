// Package repair checks, compacts, imports and rebuilds the file of a frontier that no crawl uses.
//
// It works on the layout of the file, without the engine. Check and Compact read what an open reads, and refuse what an
// open refuses. Import and Rebuild make a frontier out of single facts, with new references. Compact, Import and
// Rebuild write a whole file beside the place where it belongs, sync it, and give it its name in one step: after an
// error, or a kill, what was there is as it was.
//
// Most of its tests stand beside the engine, which makes the files that they spoil and opens what comes out.
//
// Rebuild believes neither the branches of bbolt nor its meta pages: it looks at every page, and takes the values whose
// checksums prove what they are. Where the file has several versions of one, it takes what the last commit refers to.
package repair
