// Package witness submits checkpoints to witnesses, stores their cosignatures, and compares two views of a log.
//
// A witness states the largest tree of a log that it has seen, which continues all it stated before. So everyone who trusts
// a witness sees one log: a log with two histories needs two witnesses that do not compare.
//
// Client sends a checkpoint by HTTP, learns the witness's size from its refusal, and proves consistency from there. Relate
// reports whether one View continues the other: two signed notes of one size with different roots are evidence.
package witness
