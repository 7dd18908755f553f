// Package record writes requests and decisions into the archive, then into the ledger. It keeps the dates of evidence
// in order, bounds the refusals of one kind, and says what an operator, rather than a turn, has closed.
//
// Of an exchange Evidence says what is archived and how: its links, and what is left out of its body because the answer
// asks for that (politeness rule 19).
//
// The package decides nothing. Whoever calls Write has decided; that no result outlives its record is held by Barrier.
package record
