// Package mirror makes a browsable copy of a site from an archive.
//
// # A function of the archive
//
// The tree is derived: which files there are, their names, their bytes and dates depend on the set of archived
// answers, the ledger's reasons and the Options, and on nothing else: not on the order of records or segments, nor on
// the tree before. It is built when a crawl has ended, with everything known, and can be built again at any time.
//
//  1. The index is merged, and of each URL the answer that counts is chosen: the latest. A failure, a cut body or a
//     missing original says nothing about the answer before, which then counts (Summary.Stale); nor does a page that is
//     gone, unless vanished pages are to leave (Vanished). A wish not to be archived holds for all answers before it.
//     Answers that the crawler asked for itself, robots.txt and proofs of ownership, are no pages.
//  2. Redirects are followed to their end, and files are named: see Names.
//  3. Files are written, documents with their references replaced by package markup: relative for what has a file,
//     absolute for the rest. A body that turns out to be unreadable leaves the plan, which is made again without it.
//  4. The map (Entry) and the list of what is missing (Missing) are written into the tree, sorted.
//  5. The new tree takes the place of the old one.
//
// # Invariants
//
//   - The tree is whole at every instant: mirror.new is written apart and exchanged with mirror in one system call
//     (renameat2, renamex_np). Where there is none two renames do it; a death between them leaves no tree, and the next
//     build takes up the one before. The next build removes everything else that a death leaves.
//   - Every file is created inside the tree (os.Root), and no file is written over: a name never leaves the tree, and a
//     symbolic link in it is neither followed nor kept.
//   - Files of the tree before that its map does not name are somebody else's: they are in the new tree, too, at their
//     place, or the build ends with an error before anything is replaced.
//   - A directory that is no mirror is not replaced, and mirror.new and mirror.old are not touched unless a build left
//     them: mirror.tmp, made first and removed last, tells. It is known by the names of what it holds.
//   - A reference is relative if and only if its URL, or what that redirects to, has a file in the map.
//   - Pages that ask not to be archived, cut bodies and statuses other than 200 to 203 have no file.
//
// # Names
//
// Package layout makes them: HOST/PATH or PATH, readable, on any file system.
//
// # What is shared with the tree before
//
// A file that is the same is a hard link to the one before. The file of a document is the same if its bytes are, which are
// made anew in memory each time. Any other file is the same if its name is, if the map before names the same record for
// it, and if its date is still that of the record. Anybody who edits a file of the mirror changes its date, and gets the
// file back as it was.
//
// # Memory
//
// Some 200 bytes for each archived URL, and while the list of missing URLs is made some 60 for each of those; a
// document of at most 10 MiB for each processor; 8 MiB for each list that is sorted. Bodies are streamed. Check and
// Handler have both lists in memory.
//
// # What the package never does
//
// It fetches nothing, writes nothing but below Options.Dir, runs no script, and changes no byte of a body but
// references and what would block local files. The second of two builds in one directory at once is refused (Linux,
// macOS, Windows); elsewhere it is for the user to start one alone.
package mirror
