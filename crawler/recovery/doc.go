// Package recovery has what a run must know of the one before that was killed.
//
// Archive and ledger are durable before the frontier's commit (record.Barrier), so that a kill between the two leaves
// exchanges which the frontier does not know of. That they are made again cannot be helped; but the rests that their answers
// asked for, a Retry-After above all, are in the ledger and bind the run that follows (politeness rule 17: no park is
// forgotten), their cost is counted by the next turn that is finished, and pages among them by the next turn of their host: a
// budget of pages counts what hosts sent, so that a page which is fetched again counts twice (rule 15).
package recovery
