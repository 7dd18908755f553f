// Package frontiertest tests an engine against the contract of package frontier.
//
// # The suite
//
// Run is the contract as tests: one sub-test per rule, named by the sentence that it tests. Each rule has its own
// directory and testing/synctest bubble, so that an hour's wait takes no time and a Claim that must block differs from
// a slow one. After every step the totals must agree with each other and with the sums over the hosts. The author of an
// engine writes
//
//	func harness() frontiertest.Harness {
//		return frontiertest.Harness{Open: …, Crash: …, Check: …}
//	}
//
//	func TestContract(t *testing.T) { frontiertest.Run(t, harness()) }
//	func TestWorkload(t *testing.T) { frontiertest.Workload(t, 1, 500, harness()) }
//
// Each rule gets a Stage: a directory with an open frontier, and short calls of the contract that fail the test on an
// error. Most rules are scripts, in rules/*.txt by subject. Those that need goroutines, faults or bounds are functions,
// in rules.go.
//
// # Scripts
//
// A script begins with "== " and the sentence that it tests. The next line may have options of the frontier: "with",
// fields of frontier.Options, and "crash" if the script needs Harness.Crash. Each other line is a command, and after
// " = " its required answer, or several with " or " between them.
//
//	== order: a host's tasks come in the order in which they were accepted
//	add a/5 a/1 b/1 a/3
//	turn 1 = a/5
//	finish fetched; found a/0 b/0 a/9
//	of a drain = a/1 a/3 a/0 a/9
//
// URLs are short: "a/1" is http://a.test/1, and "a/0..2" is "a/0 a/1 a/2". As a candidate "^a/1" is a seed and
// "a/1!trap" is refused. script.go lists the commands. Those of turns:
//
//	turn 5              claims one host, which must be due; the answer is its tasks, suspects with their stops: "a/0:2"
//	claim 2 5 1h        claims two hosts within an hour; the answer is "a/0 a/1; b/0", "drained", "full" or "waiting 2h"
//	waiting 1h          begins a claim, which has to wait; "answer" is its answer
//	as old              names the latest turn @old; "@a" is that of host a
//	finish @old fetched a/0; deferred a/1 1h (status 500); keep 2; wait 1s; host parked pace=1m (busy); found b/0
//	                    finishes a turn, without a name the latest; tasks are closed by the word of their outcome, all
//	                    that it has when none is named; the answer is "2 new, 1 known; more a/2; dropped a/3" or "stale"
//	finish @a fetched + @b fetched
//	                    finishes two turns in one call
//
// "stats Queued=3, failed/status 500=1", "host a Wait=1m", "task a/0 Attempts=1" compare facts. "times 3" repeats the
// lines up to "end" three times. "sorted", "of a", "same" and "unchanged" come before a command. A line that would test
// nothing fails: "finish", "alone" and "claim" without " = " must be applied, leased and given a turn, a named turn or
// task must have been given, and a command that only returns an answer needs " = ".
//
// # The workload
//
// Workload drives an engine at random, with crashes in between, and compares it with a model after every step: a state
// in memory, and the steps that led to it. A crash leaves the state after some prefix of the steps.
//
// The model follows the engine, and fails the test where the engine breaks the contract. The engine may choose
//
//   - which of the due hosts comes first; Run requires only that the host which has been due for longest, by 10 ms or
//     more, is served first;
//   - where in its host's order a task comes again whose deferral is over, and whether it then counts as Queued or
//     Deferred;
//   - how many of the changes since the last commit a crash loses. The others must be all changes up to some instant:
//     changes become durable in the order in which they were applied;
//   - which of the tasks that were leased in the last moments before a crash count as in flight: the engine knows them
//     from a record as old as its last commit. After the crash the model reads from the engine how it counts each;
//   - in which order suspects come, and whether one waits while other hosts have something to give;
//   - whether a refused candidate makes its authority known.
//
// # What the contract leaves unsaid
//
//   - A lease makes the frontier Busy: a Claim waits for it, regardless of MaxWait, because it may add links.
//   - With Result.Keep the tasks that the result does not name stay in flight, and Result.Wait counts from that
//     Finish, for the time after the turn.
//   - A Result settles only tasks under its lease. Other tasks in it are ignored: an earlier Finish of the same turn,
//     whose answer was lost, has settled them.
//   - The repeat of a turn's last Finish is known by its token, also after the authority has been leased again. A
//     turn that was kept and then expired has had no last Finish: it is stale.
//   - ClaimAuthority leases a parked authority whose wait is over.
//   - Robots state or memory over their bounds is a mistake of the caller: Finish returns an error that names the
//     authority, applies none of the call's results, and the frontier stays usable, as it does after ErrNotDue
//     and ErrNoBlob, which are answers.
//   - MaxURLs and MaxURLsPerAuthority count candidates that became tasks, seeds among them. A refused candidate
//     neither counts nor is capped, and a URL that is known is Known, not Capped.
//   - After an unclean stop Options.RestartPace applies, for that long after the opening, to every authority, known or
//     not: the crash may have lost its discovery. After a clean stop before its end, the rest applies in the next
//     opening, for no longer than that opening's own RestartPace.
//   - Close releases the engine also when it returns an error; the stop is then unclean.
//   - Keep gives no further tasks in a suspect's turn, for a host that an operator holds, or when the frontier is Full:
//     such a turn would not end.
//   - Depth first, a task has its place by its acceptance, whether a turn has returned it or not.
//   - Park and Drop of a host that is not known make it known. A command replaces the previous one.
//   - A task that is deferred under the lease of a dropped host is Dropped: otherwise it would stay pending.
//   - MaxSize does not cap seeds. Full replaces Busy even while leases are out.
//   - Retry keeps condition and robots state of a host under a lease, but opens its URLs.
//
// The package never sleeps in real time, and has no global state.
package frontiertest
