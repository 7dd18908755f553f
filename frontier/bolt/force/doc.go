// Package force tests frontier/bolt with kills, failing system calls and torn files.
//
// A child, which is the test binary started again, works on a frontier and tells its parent each intent before the call
// and each acknowledgement after it: an Add that has returned, a Finish that a Sync has followed. The parent keeps a
// model of the states in which each URL and each host may be: the one that was acknowledged last, and those that the
// calls under way since then lead to. After the child's end, however that came, the file must be clean and every URL and
// host be in one of these states.
//
//   - kill: the child is killed at random instants.
//   - fault: a write, sync or truncation of a commit ends the process, fails, or is cut short. The fault is put below
//     bbolt: the child is built with a copy of bbolt's source files that has a hook there. The system's own limits do
//     the same: the size of a file (RLIMIT_FSIZE), and a file system that is full.
//   - torn: images of the file with a part of the pages that a commit wrote.
//   - lock: two processes on one file.
//   - clock: the wall clock steps between runs, and within one: there an overlay has the engine read another clock.
//
// Sizes are short unless CURTSY_LONG is set. With CURTSY_MUST_RUN a test that cannot run on this machine fails.
package force
