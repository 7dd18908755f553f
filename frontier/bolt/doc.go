// Package bolt implements package frontier in one bbolt file.
//
// # The idea
//
// A B+tree pays for random insertion: a fact of 8 bytes under a random key costs up to a page of 4 KiB, and a crawler
// has forty such facts per page. So bbolt serves here as a transactional log. RAM has the facts that are looked up at
// random, in compact tables; facts that must survive are appended, in one transaction for many pages. Opening the
// frontier reads the log once.
//
// # The file
//
// Package layout defines the contents: journals, of which the last word counts. Package dbfile opens, creates and locks
// the file. Check and Compact load a file that no crawl holds as an open does; package repair makes a new one from
// single facts. A reference to a URL is known before its record is written, never leaves the engine, and grows in the
// order of acceptance: a host's URLs in the order of their references are in breadth-first order. Depth first is the
// same queue taken from the other end.
//
// # In RAM
//
// The seen-set is a table of fingerprints, 10 to 12.5 bytes per URL. The queue of a host is a list of runs of
// references, 8 bytes for a run of neighbours; the text of a URL is read when it is claimed. Hosts (about 250 bytes)
// wait in a heap by due time. Nothing else is kept per pending URL. The writer is the only goroutine; Close waits for
// it.
//
// # Parts
//
// A Frontier is made of parts, which are its fields:
//
//	seen, hosts, retries        knowledge of URLs, of authorities, of tasks that were claimed before
//	queue (one of each host)    which task is next
//	scheduler, leases, waiting  which host is next, which turns are out, which claims wait
//	suspects, caps              tasks that must not be given now, candidates without room
//	groups, writer              applied changes that are not durable, and the goroutine that commits them
//	blocks                      texts, read for turns
//
// The steps of a candidate are in intake.go, those of a turn in turns.go, those of an operator in operator.go.
//
// One mutex guards them. The callers of the contract and the writer take it; no part does, and no goroutine reads or
// writes the file under it. The seen-set and texts are read without it. The index of names has its own lock, taken
// before the mutex and never after.
//
// # From Finish to disk
//
//	apply    under the mutex: tasks closed, links entered into seen-set and queues, totals, host; they can be claimed
//	         from now on. The open group takes the facts to be written.
//	seal     the open group is closed: after 1,000 results, 200 ms after its first, or at once when Add, Sync or Close
//	         waits. Applying never waits for a commit, except that Finish waits while eight groups are queued.
//	commit   the writer takes the sealed groups in order, each in one transaction: the barrier first, then seen, records,
//	         done, states, seeds, blobs, flight, totals, perhaps a fold of done, and last the stamp; two fsyncs.
//	settle   the contents of the group are from now on read from the file.
//
// Retry reads the endings from the file, since RAM has only their numbers, and applies the reopened URLs in groups like
// other changes.
//
// A closed URL is always sealed with, or after, the link that led to it, and groups are committed in order. So a
// crash leaves a prefix of the applied changes, cut between two groups, and no result is in two of them. When a barrier
// or a commit fails, nothing after it is committed, and every call returns that error: RAM is ahead of the disk. A
// claim writes only the tasks in flight when its group is sealed: after a crash the tasks that were out are
// pending, in their old place, and those in the record are suspects.
//
// # Suspects
//
// Each commit records the tasks in flight (package frontier gives the reason). Open reads that record, and writes its
// consequences in the transaction that also begins the new epoch: so a stop counts once. Stops are in the retry record
// of the task, which other URLs do not have; in RAM a host's suspects wait beside its queue. A host that has only
// suspects is in the schedule like any other; while its suspect cannot be given, it waits in a list until a lease ends,
// and then returns to its old place. A claim that must wait for its record waits for that group's commit, without the
// mutex.
//
// # The operator
//
// A Hold is a field at the end of the host's state record. A park with a time is another wait in the schedule;
// any other takes the host out of it. A drop first sets the hold and then closes the pending URLs, from RAM and in
// batches; until it is through, the hold is marked, and after a crash the next opening does the rest. A task under a
// lease is marked in its retry record: it is closed when the lease ends, or by the next opening. Survey is one pass
// over RAM; Hosts pages through an index of names, which the first call makes and sorts without holding up a turn.
// Export reads a frontier without a writer, as the next opening would see it; Snapshot copies one that is in use, in
// one read transaction.
//
// # Time
//
// Within a run all times are on the monotonic clock. A wait is stored as the wall-clock time of its end and as its
// length. A reopen waits for the rest by the wall clock and at most the length: a clock that was set back neither
// shortens a park nor lengthens it. A lease expires lazily, in the next call that looks.
//
// # Choice of the next host
//
// A host is in the schedule when it has a task to give and is neither leased, retired, refused nor held by an operator.
// Its key is the time when it became due; hosts due at the same time take turns. A host whose due time becomes earlier
// is entered again, and the older entry is recognised as stale when it comes up; one that a command makes due later, or
// never, has its entry taken out. Claims that find nothing wait in a line; only the first holds a timer. A task that a
// turn gives back returns to its old place by reference, and so does a deferred task that is due, unless it has counted
// an attempt: such tasks are given when no other is due.
//
// # Guarantees
//
// The engine never exposes a bbolt type, nor an iterator or a callback that runs under its lock, never holds a read
// transaction for longer than one call, never reuses a key of a journal, never changes a file that it refuses to open,
// and never fetches, parses or judges anything.
package bolt
