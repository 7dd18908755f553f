// Package force tests frontier/bolt with kills, failing system calls and torn files.
//
// A script of commits is the same in every process. A child, which is the test binary started again, runs it and
// reports each acknowledged step to its parent. After the child has ended, the file must be clean and hold the state
// after the last of these steps, or after the next one.
//
//   - kill: the child is killed within a step.
//   - fault: a write, sync or truncation of a commit ends the process, fails, or is cut short. The fault is put below
//     bbolt: the child is built with a copy of bbolt's source files that has a hook there. The system's own limits do
//     the same: the size of a file (RLIMIT_FSIZE), and a file system that is full.
//   - crowd: images of the file as each commit of several concurrent workers finds it, with the acknowledged calls.
//   - torn: images of the file with a part of the pages that a commit wrote.
//   - lock: two processes on one file.
//   - clock: the wall clock steps between runs, and within one: there an overlay has the engine read another clock.
//
// Sizes are short unless CURTSY_LONG is set. With CURTSY_MUST_RUN a test that cannot run on this machine fails.
package force
