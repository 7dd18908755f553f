// Package bolt implements package frontier in one bbolt file.
//
// # The idea
//
// A B+tree pays for random insertion: a fact of 8 bytes under a random key costs a page of 4 KiB, or nearly, and a
// crawler has forty such facts per page. So bbolt serves here as a transactional log. RAM has the facts that must be
// found at random, in tables as tight as they can be made; facts that must survive are appended, by one transaction
// for many pages. Opening the frontier reads the log once.
//
// # The file
//
// Package layout says what is in it: journals, of which the last word counts. How it is opened, made and kept from
// others is package dbfile. Check and Compact load a file that no crawl holds as an open does; package repair makes a
// new one out of single facts. A reference to a URL is known before its record is written, never leaves the engine, and
// grows in the order of acceptance: a host's URLs in the order of their references are in breadth-first order. Depth
// first is the same queue taken from the other end.
//
// # In RAM
//
// The seen-set is a table of fingerprints, 10 to 12.5 bytes per URL. The queue of a host is a list of runs of
// references, 8 bytes for a run of neighbours; the text of a URL is read when it is claimed. Hosts (about 250 bytes)
// wait in a heap ordered by when they are due; nothing else is kept per pending URL. There is no goroutine, timer or
// channel per host, and one goroutine in all, the writer, which Close waits for.
//
// # Parts
//
// A Frontier is made of parts, which are its fields. Each says in its comment what it holds and what is always true of
// it; a part with a narrow door is a package.
//
//	seen, hosts, retries        what is known: of URLs, of authorities, of tasks that were claimed before
//	queue (one of each host)    which task is next
//	scheduler, leases, waiting  which host is next, which turns are out, which claims wait
//	suspects, caps              what must not be given now, and what there is no room for
//	groups, writer              what is applied and not durable, and the goroutine that makes it so
//	blocks                      texts, read for turns
//
// The steps of a candidate are in intake.go, those of a turn in turns.go, those of an operator in operator.go.
//
// One mutex guards them. Only the callers of the contract take it, among them people's commands, and the writer; no part
// does, and nobody reads or writes the file under it. The seen-set is looked at, and texts are read, without it. The
// index of names has a lock of its own, taken before the mutex and never after.
//
// # From Finish to disk
//
//	apply    under the mutex: tasks closed, links entered into seen-set and queues, totals, host; they can be claimed
//	         from now on. The open group takes what is to be written.
//	seal     the open group is closed: after 1,000 results, 200 ms after its first, or at once when Add, Sync or Close
//	         waits. Applying never waits for a commit, except that Finish waits while eight groups are queued.
//	commit   the writer takes the sealed groups in order, each in one transaction: the barrier first, then seen, records,
//	         done, states (those that layout.Sweeper moves before those of the group), seeds, blobs, flight, totals, perhaps
//	         a fold of done, and last the stamp; two fsyncs. Package layout explains these names.
//	settle   what the group brought is from now on read from the file.
//
// Retry reads the endings from the file, since RAM has only their numbers, and applies what it opens in groups like any
// other.
//
// A closed URL is always sealed with, or after, the link that brought it, and groups are committed in order. So a
// crash leaves a prefix of what was applied, cut between two groups, and no result is in two of them. When a barrier
// or a commit fails, nothing after it is committed, and every call returns that error: RAM is ahead of the disk. A
// claim writes no more than what is in flight when its group is sealed: after a crash the tasks that were out are
// pending, in their old place, and those in the record are suspects.
//
// # Suspects
//
// Each commit records what is in flight (package frontier says why). Open reads that record, and writes what
// follows from it in the transaction that also begins the new epoch: so a stop counts once. Stops are in the retry
// record of the task, which other URLs do not have; in RAM a host's suspects stand aside from its queue. A host
// with nothing else to give comes up in the schedule as if it had any task; when its suspect cannot be given yet,
// it is taken out and kept in a list until a lease ends that was in the way, and then has the place that it had. A
// claim that must wait for its record waits for that group's commit, without the mutex.
//
// # A bound on the size
//
// Options.MaxSize is held against the high-water mark of the file and an estimate of what is on its way; what the
// reserve is, and why it suffices, is in intake.go.
//
// # The operator
//
// A Hold is a field at the end of the host's state record. A park that ends by itself is a wait more in the schedule;
// any other takes the host out of it. A drop enters the hold first and then closes what is pending, from RAM and in
// batches; until it is through, the hold is marked, and the opening after a death does the rest. A task under a lease
// is marked in its retry record: it is closed when the lease ends, or by the opening after a death. Survey is one pass
// over RAM; Hosts pages through an index of names that is made when it is first asked for, and sorted without holding
// up a turn. Export reads a frontier that nobody writes, and tells what the next opening would make of it; Snapshot
// copies one that is in use, in one read transaction.
//
// # Time
//
// Within a run all times are on the monotonic clock. A wait is stored as the time of the wall clock when it ends and
// as its length. A reopen waits for what is left by the wall clock and at most the length: a clock that was set
// back neither shortens a park nor lengthens it. A lease expires lazily, in the next call that looks.
//
// # Who is next
//
// A host is in the schedule when it has a task to give and is neither leased, retired, refused nor held by an
// operator. Its key is the time when it became due; hosts due at the same time take turns. A host whose due time
// becomes earlier is entered again, and the older entry is recognised as stale when it comes up; one that a command
// makes due later, or never, has its entry taken out. Claims that find nothing wait in a line, of which the first
// alone holds a timer. A task that a turn gives back goes to its old place by reference, and so does a deferred task
// when its time has come, unless it has counted an attempt: such tasks have a heap of their own, which is given from
// when there is nothing else.
//
// # Never
//
// The engine never lets a bbolt type out, nor an iterator or a callback that runs under its lock, never holds a read
// transaction for longer than one call, never reuses a key of a journal, never changes a file that it refuses to open,
// and never fetches, parses or judges anything.
package bolt
