// Package postgres implements a frontier that several processes share. It uses plain SQL on three connections per
// member: for heartbeats, for claims and questions, and for commits.
//
// # Slots
//
// A host belongs to one of 256 slots, by a fixed hash of its name; http and https, and names with and without www,
// share one. A slot has at most one owner, and only its owner claims its hosts. The owner leases hosts in memory, so a
// claim is a read, a kill loses only memory, and a task stops being pending only in the transaction that adds its
// links.
//
// Each start of a member inserts a row into member, a session. Its heartbeat keeps the session alive, takes slots that
// are free or whose owner is not alive, and gives those above the fair share. Another member expires a session whose
// heartbeat does not change for a whole TTL of the other's clock.
//
// # Why it is safe
//
//   - A member sends requests only until two thirds of the TTL after it sent its last confirmed heartbeat (MayAsk,
//     Asking). The member that expires it has seen that heartbeat unchanged for a whole TTL, so its last byte was sent
//     before. No wall clock matters, and the rates of two clocks may differ by half.
//   - Every commit holds the session's row in state 0. Expiry changes that row, so nothing of a session is committed
//     after it: the results are ErrStale.
//   - A slot that was taken from a session that is not alive has a gate, the time of taking. No host of it is claimed
//     before the gate and the host's pace. A slot that was given has no lease out, and everything is committed.
//   - The last token of a host is kept with it, so that a transaction whose COMMIT had no reply is not applied twice.
//
// A process that is stopped between MayAsk and the write of the request may send it later, when another owns the host.
//
// # What it does not do yet
//
// Caps, a bound of the size, depth first, turns with Keep, Drop, Retry, suspects: such options and methods return an
// error. Finish returns when its results are durable; Seen returns false.
package postgres
