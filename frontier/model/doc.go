// Package model is a frontier in memory, made to be read: a journal of events and the state that they lead to. What a
// crash leaves is the state that the durable part of the journal leads to. Engines are compared with it, and it is the
// engine in tests of the crawler and in the measurements that a durable one is held against. It is the wrong choice for
// anything large: it scans where an engine has an index.
//
// # Inside
//
//	state     what a frontier knows, leases and clock apart: a fold over events
//	dealer    a state with the leases that are out; knows nothing of waiting, locks or durability
//	Model     a dealer behind a lock, with waiting claims and a group commit: an engine
//	Follower  a dealer that does what another engine has done, and finds fault with what that may not do
//
// # The follower
//
// Where the contract leaves a choice to the engine the Follower follows it, provided that the choice is a lawful one. The
// engine may choose
//
//   - which of the hosts that are due comes first; frontiertest.Run asks only that hosts take turns, that is, that the
//     host which has been due for longest, by 10 ms or more, is served first;
//   - where in its host's order a task comes again whose deferral is over, and whether it then counts as Queued or
//     Deferred;
//   - how much of what was applied since the last commit a crash loses. What is left must be what was applied up to
//     some instant: everything becomes durable in the order in which it was applied;
//   - which of the tasks that were leased in the last moments before a crash count as in flight: the engine knows them
//     from a record as old as its last commit. The Follower keeps every number of stops that is possible for a task, until
//     Task.Stops or a quarantine tells which one the engine has, and holds the engine to that one from then on;
//   - in which order suspects come, and whether one waits while other hosts have something to give;
//   - whether a refused candidate makes its authority known.
//
// The package never does I/O, and keeps nothing beyond its own memory.
package model
