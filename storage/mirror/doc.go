// Package mirror makes a browsable copy of a site from an archive.
//
// The tree depends only on the set of archived responses, the ledger's reasons and the Options, not on the order of records
// or the previous tree. It is built after a crawl, and can be rebuilt at any time:
//
//  1. The latest response of each URL counts. If that is a failure, truncated or lacks its original, the one before does
//     (Summary.Stale), also for a page that is gone, unless such pages are removed (Vanished). noarchive applies to all
//     earlier responses. robots.txt and proofs of ownership are not pages.
//  2. Redirects are resolved and files named by package layout: HOST/PATH or PATH.
//  3. Files are written. Package markup replaces references in documents: relative for URLs with a file, absolute for the
//     rest. An unreadable body makes the plan start again without it.
//  4. The map (Entry) and the list of missing URLs (Missing) are written, sorted.
//  5. The new tree replaces the old one.
//
// # Invariants
//
//   - There is a whole tree at all times: mirror.new is exchanged with mirror in one system call (renameat2, renamex_np).
//     Without that, a crash between two renames leaves no tree, and the next build restores the previous one. It also
//     removes all other remains of a crash.
//   - Every file is created inside the tree (os.Root), and none is overwritten. Symbolic links are not followed.
//   - Files that users put into the previous tree stay at their place, or the build fails before it replaces anything.
//   - A directory that is not a mirror is not replaced. mirror.new and mirror.old are removed only if mirror.tmp, made first
//     and removed last, shows that a build left them.
//   - A reference is relative if and only if its URL, or the target of its redirects, has a file in the map.
//   - noarchive pages, truncated bodies and statuses other than 200 to 203 have no file.
//
// # Shared files
//
// An unchanged file is a hard link to the previous one: a document if its bytes are equal, any other file if it has the
// same name and record, and still the record's date. A user's edit changes the date, and is reverted.
//
// # Memory
//
// Some 200 bytes for each archived URL, 60 for each missing one; a document of at most 10 MiB for each processor; 8 MiB for
// each sorted list. Bodies are streamed. Check and Handler hold both lists.
//
// The package writes only below Options.Dir, runs no script, and changes in a body only references and markup that would
// block local files. It refuses a second build in one directory on Linux, macOS and Windows; elsewhere users must prevent
// it.
package mirror
