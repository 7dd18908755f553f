// Package frontier decides which URL is next, and when. It is the contract of every engine: types, states and
// invariants. It contains no engine and does no I/O; frontier/bolt is the embedded engine, frontier/postgres one that
// several processes share, frontier/frontiertest the conformance suite.
//
// # Names
//
// A Candidate is a discovered URL. Once accepted, it waits in the host queue of its authority (scheme, host, port),
// breadth first. A Task is one URL under a lease. Its identity is (authority, fingerprint); an engine's own references
// never leave the engine.
//
// # A lease is one turn
//
// Claim blocks until an authority is due and leases it for one turn, with up to K tasks. The tasks are material, not a
// promise. The holder settles those that need no exchange (disallowed, out of scope), makes at most Width exchanges
// (page, robots.txt or sitemap), and finishes. Tasks that the Result does not name return to the head of the queue in
// their order, without a counted attempt. Nobody sleeps under a lease: a delay is Result.Wait, a duration from the call
// of Finish. A turn without an exchange has Wait zero and so does not start the pace.
//
// Width is 1 except for an own host whose effective pace is zero: there Result.Keep requests more tasks under the same
// lease.
//
// # States
//
//	candidate ─ Add, Found ─▶ pending ─ Claim ─▶ leased ─ Done ─────────▶ closed, with an Outcome
//	                             ▲                  │
//	                             └── Deferral ──────┤   attempt counted, due again after a while, behind all untried
//	                             └── not named ─────┤   no attempt counted, head of the queue
//	                             └── lease expired ─┘   no attempt counted, head of the queue
//
//	closed ─ Retry ─▶ pending             Disallowed, Failed, Gone, Dropped or Held; no attempt counted, its old place
//	host refused, retired ─ Retry, Steer(Resume) ─▶ open
//	pending ─ Steer(Drop) ─▶ closed       Dropped with ReasonOperator, reported by Options.Tell
//
// A URL is queued, in flight (leased) or deferred while it is pending, and stays closed once it is closed; only an
// operator's Retry reopens it, like a Refused host. Discovered is the sum of all of them, at every instant. Held is
// closed like the others, and a crawl with only held URLs left is Drained.
//
// The crawl's own turns set a host's Condition, an operator its Hold. Neither changes the other, and a host takes part
// when both allow it.
//
// # Suspects
//
// A URL may crash the process each time it is fetched. The engine therefore records, with each commit, which task of
// each lease is in flight: the first unsettled one, or with a Width above 1 that many. A new lease causes a commit
// within GroupDelay. In a run after an unclean stop a turn with tasks is given only when its record is durable, until
// as many results have been applied as there were hosts at the opening, and GroupPages more.
//
// A recorded task that is still pending after an unclean stop is a suspect, and counts one more stop. A suspect comes
// after all other due tasks of its host, in its own turn with a single task, one suspect in the whole frontier at a
// time, given when the record that names it is durable. A suspect of two stops or more is given only while no other
// lease is out, and no other turn is given while it is out: so the record shows that it is alone. A URL that was alone
// in flight at QuarantineStops unclean stops is closed when the frontier is opened: Failed, with ReasonQuarantined;
// Retry opens it again, without stops. Closing or deferring a suspect ends the suspicion; returning it untried and a
// clean stop do not. A suspect's turn gets no further tasks with Keep, and while one of two stops is out ClaimAuthority
// returns ErrNotDue. So a kill of a healthy crawl only delays its suspects.
//
// # Invariants
//
//   - Put-if-new: of all candidates with one key, only one is ever accepted.
//   - An authority has at most one owner. Each claim gets a new Token, (open epoch << 32 | counter), the epoch
//     committed when the frontier is opened. Finish checks it: a stale one returns ErrStale and changes nothing. A
//     repeat of an authority's last applied Finish returns nil and changes nothing.
//   - A Result is applied whole or not at all: outcomes, deferrals, found links, host state, blobs, counts. Found
//     links are durable no later than the page that carried them.
//   - A task of an expired lease is simply pending.
//   - Within an authority a task that has counted an attempt is given only when no other is due, except suspects: so a
//     few URLs that fail repeatedly, and make the host rest each time, do not block the others.
//   - Retry moves URLs from an outcome, and its reason, to Queued. It adds nothing to Discovered or to the counts of a
//     cap, touches no lease, and is durable when it returns. It forgets robots state in the same instant, so that no
//     turn judges a retried URL by the old policy.
//   - Finish returns when its results are applied (sealed); they are durable at the next group commit, at most
//     GroupDelay or GroupPages later. Sync waits for it. Before each commit the engine calls Options.Tell, if it
//     closes URLs that an operator drops, and Options.Barrier, so that archive and ledger are durable before the
//     frontier records Done.
//   - In flight means claimed and not yet durably finished. Delivery is at least once: a kill repeats at most the
//     requests in flight.
//   - Finish never answers "full". A link over a cap is dropped with the reason of that cap, counted, and not marked
//     seen.
//   - Only the engine inserts into the seen-set, after the token check. Seen may err towards "not seen".
//   - After a reopen an authority is due no earlier than max(its stored not-before, now + its stored pace); after an
//     unclean stop each waits at least Options.RestartPace, because its stored pace may be that of other settings, and
//     its last exchange may be lost. There is never a burst, and no park is forgotten.
//   - The next run learns of an unclean stop (Stats.Unclean), also when an operator opened and closed the frontier in
//     between (Options.Operator). Tasks in flight still count one stop.
//   - The API carries durations, never absolute times, so that workers and engine need not share a clock.
//
// # End
//
// A frontier is in one of three states, decided in one step with Add and Finish: Drained (nothing pending, no lease
// out), Waiting (no lease out; everything pending is parked or waiting; the earliest is due after Due), or Busy. A
// crawl ends on Drained, or on a longer Waiting than it accepts. The fourth, Full, replaces all but Drained once
// Options.MaxSize is reached: nothing is lost, and the next opening with a larger one continues.
package frontier
