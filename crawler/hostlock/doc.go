// Package hostlock keeps the delays of hosts between all crawls of one user on one machine (politeness rule 17), by a file in the
// user's cache folder.
//
// An authority has two places in it. Its lock is one byte far behind the end of the file, at an offset by its hash: the holder may
// send requests to the host. Its entry in the table is the wall time before which no process may.
//
//	free ─ Take ─▶ ours ─ Release(rest) ─▶ resting ─ rest is over ─▶ free
//	  ▲              │ Take by another process: try again later
//	  └── kill ──────┘ the system drops the lock; the entry has the delay that Take wrote
//
// The system drops locks when a process ends, so that none is ever stale. An entry has the length of its rest, so that a clock
// that is set back makes a host rest only once more. Addresses have places like authorities (rule 10): Start takes one, and
// Started returns it when the request was sent, so that a slow process is not overtaken.
//
// A second table has the back-offs that hosts asked for, with the response (rules 11 and 14). Rest writes and syncs it before
// anything else is written; Resting reads it. It also binds own hosts, which need no lock. An entry is never replaced by one of
// the same host that ends earlier, and one with a wrong checksum is ignored.
//
// The tables have 65,536 buckets of four delays and of eight back-offs. In a full bucket the entry that ends first is lost, but
// the lock still holds. Two authorities with one 62-bit hash take turns.
//
// No call waits for another process. The file is never truncated, renamed or removed, since others may have it open. A process
// opens it once: where locks belong to processes, two Locks of one process would not see each other.
package hostlock
