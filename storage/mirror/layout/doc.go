// Package layout names the files of a mirror. It does no I/O.
//
// # Names
//
// A name is HOST/PATH (Host) or PATH without its first folders (Flat), readable, and taken by any file system: see
// docs/guides/mirror.md. Names that a file system takes for equal are told apart: they are compared folded and normalised, and
// the one with the smaller URL keeps the plain name, the other has a hash of its URL in it. No URL is ever "handled":
// path segments are names by construction, with what is unsafe in them escaped.
//
// # Invariants
//
//   - Two answers have one name only if they are the same answer, and with Flat only if their folders and hosts are the
//     same, too: else relative references in the one file would have to lead to two places.
//   - No name is also that of a folder, or of a file of the mirror's own.
//   - Names do not depend on the order of the set. An answer that joins the set can take a plain name from another.
package layout
