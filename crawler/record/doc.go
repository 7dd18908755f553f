// Package record writes requests and decisions into the archive, then into the ledger. It bounds the lines of refusals,
// keeps the dates of evidence in order, and records the operator's closings outside a turn. It also limits requests and
// processors at work (inflight), recovers after a kill (recovery), and compares responses with earlier ones (revisit).
//
// Callers decide; Barrier ensures that no result outlives its record.
package record
