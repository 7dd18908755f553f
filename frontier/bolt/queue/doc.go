// Package queue is the tasks that one host has to give, by their references. It hides how a million pending URLs cost
// next to no memory, and in which order they are given.
//
// # The order
//
// A host gives what was never tried before what was, lest what fails again and again keep the rest waiting. Among
// those it gives what is due in the order of the references, which is that of acceptance: the first breadth first, the
// last depth first. A task that comes back has its old place; a deferred one has it from when it is due. Suspects are
// given by themselves.
//
// # Invariants
//
// A reference is in the queue once at most. References that were never given are in runs of neighbours, 8 bytes each;
// the others are aside, in heaps. A queue with nothing aside holds no memory for it, and an empty one none at all.
//
// The caller guards a queue: in the engine, by its mutex.
package queue
