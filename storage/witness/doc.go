// Package witness submits checkpoints to witnesses, stores their cosignatures, and compares two views of a log.
//
// A witness states: at this time, this was the largest tree of the log that I have seen, and it continues every one that
// I stated before. So all who believe one witness see one log. A log that shows two people two histories needs two
// witnesses that do not speak to each other.
//
// Client sends a checkpoint by HTTP, learns the size that the witness has from its refusal, and proves consistency from
// there. Relate reports of two Views whether one continues the other. Two notes of one size, signed by one key, with
// different roots are evidence by themselves.
//
// The package reads no lines of a ledger; the caller gives the proofs. It holds no key and starts no goroutine.
package witness
