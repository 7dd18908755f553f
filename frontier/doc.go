// Package frontier decides which URL is next, and when. It holds the contract that every engine keeps: the types, the
// states and the invariants. It contains no engine and does no I/O; frontier/bolt is the embedded engine,
// frontier/postgres one that several processes share, frontier/frontiertest the conformance suite.
//
// # Names
//
// A Candidate is a discovered URL. Accepted once, it waits in the host queue of its authority (scheme, host,
// port), breadth first. A Task is one URL under a lease. Its identity is (authority, fingerprint); an engine's
// own references never leave the engine.
//
// # A lease is one turn
//
// Claim blocks until an authority is due and leases it for one turn, with up to K tasks. The tasks are
// material, not a promise. The holder settles those that need no exchange (disallowed, out of scope), makes at
// most Width exchanges (page, robots.txt or sitemap alike), and finishes. Tasks that it does not name in the
// Result return to the head of the queue in their order, no attempt counted. Nobody sleeps under a lease: a
// pause is Result.Wait, a duration that begins when Finish is called. A turn without an exchange carries Wait
// zero and so does not start the pace.
//
// Width is 1 except for an own host whose effective pace is zero: there Result.Keep asks for more tasks under
// the same lease.
//
// # States
//
//	candidate ─ Add, Found ─▶ pending ─ Claim ─▶ leased ─ Done ─────────▶ closed, with an Outcome
//	                             ▲                  │
//	                             └── Deferral ──────┤   attempt counted, due again after a while, behind all untried
//	                             └── not named ─────┤   no attempt counted, head of the queue
//	                             └── lease expired ─┘   likewise
//
//	closed ─ Retry ─▶ pending             Disallowed, Failed, Gone, Dropped or Held; no attempt counted, its old place
//	host refused, retired ─ Retry, Steer(Resume) ─▶ open
//	pending ─ Steer(Drop) ─▶ closed       Dropped with ReasonOperator, told by Options.Tell
//
// A URL is queued, in flight (leased) or deferred while it is pending, and closed for ever after; only an
// operator's command, Retry, opens it again, and likewise a host that is Refused. Discovered is the sum of all of
// them, at every instant. Held is closed like the others, and a crawl whose rest is held is Drained.
//
// A Condition is what the crawl's own turns say of a host, a Hold what an operator says of it. Neither changes the
// other, and a host takes part when both let it.
//
// # Suspects
//
// A URL may bring the process down each time it is fetched. The engine therefore records, with each commit, which task
// of each lease is in flight: the first that is not settled, or with a Width above 1 so many of them. A lease alone is
// reason enough for a commit within GroupDelay. In a run after an unclean stop a turn with tasks is given only when its
// record is durable, until so many results have been applied as there were hosts at the opening, and GroupPages more.
//
// What the record names after an unclean stop, and is pending still, is a suspect, and counts one more stop. A suspect
// comes after all other tasks of its host that are due, in a turn of its own with a single task, one suspect in the
// whole frontier at a time, given when the record that names it is durable. A suspect of two stops or more is given only
// while no other lease is out, and no other turn is given while it is out: so the record says that it is alone. One that
// was alone in flight at QuarantineStops unclean stops is closed when the frontier is opened: Failed, with
// ReasonQuarantined; Retry opens it again, with no stops counted. A suspect that is closed or deferred is a suspect no
// more; one that its holder returns untried, or that a clean stop leaves, stays one. A suspect's turn brings no tasks with
// Keep, and while one of two stops is out ClaimAuthority answers ErrNotDue. A kill of a healthy crawl therefore costs its
// suspects some delay and nothing else.
//
// # Invariants
//
//   - Put-if-new: of all candidates with one key, one is accepted, ever.
//   - An authority has at most one owner. Each claim gets a new Token, (open epoch << 32 | counter), the epoch
//     committed when the frontier is opened. Finish checks it: a stale one is answered with ErrStale and
//     changes nothing. The repeat of an authority's last applied Finish is answered with nil and changes nothing.
//   - What a Result carries is applied whole or not at all: outcomes, deferrals, found links, host state, blobs,
//     counts. Found links are durable no later than the page that carried them.
//   - A task of an expired lease is simply pending.
//   - Within an authority a task that has counted an attempt is given only when no other is due, suspects apart: a few URLs
//     that fail again and again, and make the host rest each time, keep the others from nothing.
//   - Retry moves URLs from an outcome, and its reason, to Queued. It adds nothing to Discovered or to what a cap
//     counts, touches no lease, and is durable when it returns. What it forgets of robots it forgets in the same
//     instant, so that no turn judges a URL that is tried again by the old policy.
//   - Finish returns when its results are applied (sealed); they are durable at the next group commit, at most
//     GroupDelay or GroupPages later. Sync waits for it. Before each commit the engine calls Options.Tell, if it closes what an
//     operator drops, and Options.Barrier, so
//     that archive and ledger are durable before the frontier says Done.
//   - In flight means claimed and not yet durably finished. Delivery is at least once: a kill repeats at most
//     what was in flight.
//   - Finish never answers "full". A link over a cap is dropped with the reason of that cap, counted, and not marked seen.
//   - The seen-set is inserted into by the engine alone, after the token check. Seen may err towards "not seen".
//   - After a reopen an authority is due no earlier than max(its stored not-before, now + its stored pace); after an
//     unclean stop each waits Options.RestartPace at least, for its stored pace may be that of other settings, and the
//     exchange that was last may be lost. Never a burst, no park forgotten.
//   - The next run learns of an unclean stop (Stats.Unclean), also when an operator opened the frontier meanwhile and closed
//     it cleanly (Options.Operator). What was in flight counts one stop all the same.
//   - The API carries durations, never absolute times, so that workers and engine need not share a clock.
//
// # End
//
// A frontier is in one of three states, decided in one step with Add and Finish: Drained (nothing pending, no
// lease out), Waiting (no lease out; everything pending is parked or waiting; the earliest is due after Due), or
// Busy. A crawl ends on Drained, or on Waiting for longer than it cares to. The fourth, Full, takes the place of any
// but Drained once Options.MaxSize is reached: nothing is lost, and the next opening with a larger one goes on.
package frontier
