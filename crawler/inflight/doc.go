// Package inflight bounds the exchanges in flight, so that no number of slow hosts keeps the others from theirs
// (politeness rule 25). It knows nothing of HTTP: what is in flight is told of by a Meter.
//
//	free ─ Take, Try ─▶ quick ─ Patience is over ─▶ slow ─ others need its place ─▶ cut
//	  ▲                   │                          │                               │
//	  └──────── the exchange is over, Leave ─────────┴───────────────────────────────┘
//
// A Limiter has a number of slots. An exchange that lasts longer than Patience gives its slot back and goes on without one:
// it waits, and costs next to nothing while it does. Of those there are at most Slow. Where one more becomes slow, the one
// that has lasted longest is cut, those before others that bring little; so the patience with everybody shrinks with the
// number of those who need it, and whoever answers quickly never waits for more than Patience.
//
// What an exchange waits for on our side (our own rate, the pace of an address) is no part of how long it lasts, and so
// our own bottlenecks make nobody slow.
//
// Press is for those who wait for something else that the slow hold, such as a ticket of a budget.
//
// CPU bounds the work that exchanges make for the processors, so that answers in hand do not fill the memory.
package inflight
