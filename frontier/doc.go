// Package frontier decides which URL is next, and when. It holds the contract that every engine keeps: the
// types, the states and the invariants. It contains no engine and does no I/O; frontier/bolt is the embedded
// engine, frontier/frontiertest the in-memory model and the conformance suite that both must pass.
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
//	                             └── Deferral ──────┤   attempt counted, due again after a while
//	                             └── not named ─────┤   no attempt counted, head of the queue
//	                             └── lease expired ─┘   likewise
//
//	closed ─ Retry ─▶ pending             Disallowed, Failed, Gone or Dropped; no attempt counted, its old place
//	host refused, retired ─ Retry ─▶ open
//
// A URL is queued, in flight (leased) or deferred while it is pending, and closed for ever after; only an
// operator's command, Retry, opens it again, and likewise a host that is Refused. Discovered is the sum of all of
// them, at every instant.
//
// # Invariants
//
//   - Put-if-new: of all candidates with one key, one is accepted, ever.
//   - An authority has at most one owner. Each claim gets a new Token, (open epoch << 32 | counter), the epoch
//     committed when the frontier is opened. Finish and Renew check it: a stale one is answered with ErrStale and
//     changes nothing. The repeat of an authority's last applied Finish is answered with nil and changes nothing.
//   - What a Result carries is applied whole or not at all: outcomes, deferrals, found links, host state, blobs,
//     counts. Found links are durable no later than the page that carried them.
//   - A task of an expired lease is simply pending.
//   - Retry moves URLs from an outcome, and its reason, to Queued. It adds nothing to Discovered or to what a cap
//     counts, touches no lease, and is durable when it returns. What it forgets of robots it forgets in the same
//     instant, so that no turn judges a URL that is tried again by the old policy.
//   - Finish returns when its results are applied (sealed); they are durable at the next group commit, at most
//     GroupDelay or GroupPages later. Sync waits for it. Before each commit the engine calls Options.Barrier, so
//     that archive and ledger are durable before the frontier says Done.
//   - In flight means claimed and not yet durably finished. Delivery is at least once: a kill repeats at most
//     what was in flight.
//   - Finish never answers "full". A link over a cap is dropped with reason ReasonCap, counted, and not marked seen.
//   - The seen-set is inserted into by the engine alone, after the token check. Seen may err towards "not seen".
//   - After a reopen an authority is due no earlier than max(its stored not-before, now + its stored pace); after an
//     unclean stop an authority with no stored pace waits Options.Pace. Never a burst, no park forgotten.
//   - The API carries durations, never absolute times, so that workers and engine need not share a clock.
//
// # End
//
// A frontier is in one of three states, decided in one step with Add and Finish: Drained (nothing pending, no
// lease out), Waiting (no lease out; everything pending is parked or waiting; the earliest is due after Due), or
// Busy. A crawl ends on Drained, or on Waiting for longer than it cares to.
package frontier
