// Package model is an in-memory frontier, used as a reference in tests. What a crash leaves is the state that the
// durable part of the journal leads to. Engines are compared with it, and it is the engine in tests of the crawler and
// in measurements that a durable one is compared with. It is the wrong choice for anything large: it scans where an
// engine has an index.
//
//	state     what a frontier knows, leases included; every method that changes it is a step
//	journal   the steps so far, and the state
//	Model     a journal behind a lock, with waiting claims and a group commit: an engine
//	Follower  a journal of what another engine has done, which reports what that engine may not do
//
// Where the contract leaves a choice to the engine the Follower follows it, provided that the choice is lawful. The
// engine may choose
//
//   - which of the hosts that are due comes first; frontiertest.Run requires only that hosts take turns, that is, that the
//     host which has been due for longest, by 10 ms or more, is served first;
//   - where in its host's order a task comes again whose deferral is over, and whether it then counts as Queued or
//     Deferred;
//   - how much of what was applied since the last commit a crash loses. What is left must be what was applied up to
//     some instant: everything becomes durable in the order in which it was applied;
//   - which of the tasks that were leased in the last moments before a crash count as in flight: the engine knows them
//     from a record as old as its last commit. After the crash the Follower reads from the engine how it counts each;
//   - in which order suspects come, and whether one waits while other hosts have something to give;
//   - whether a refused candidate makes its authority known.
//
// The package never does I/O.
package model
