// Package record writes requests and decisions into the archive, then into the ledger. It keeps the dates of evidence
// in order, bounds how many refusals of one kind are written one by one, and records what an operator, rather than a turn,
// has closed. Evidence describes what is archived of an exchange: its links, and what is left out of its body because the
// response requests that (politeness rule 19).
//
// Around the writer are what it needs: the limits of requests and processors at work (inflight), the clock (steady), what an
// earlier run left behind (recovery), and the earlier response of a URL (revisit).
//
// The package decides nothing: the caller of Write has decided. Barrier ensures that no result outlives its record.
package record
