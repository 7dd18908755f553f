// Package hostlock keeps the delays of hosts between all crawls of one user on one machine (politeness rule 17). They
// need not know of each other: they share a file in the user's cache folder.
//
// # The file
//
// An authority has two places. Its lock is one octet far behind the end of the file, at an offset that its hash gives:
// who holds the lock may talk to the host. Its entry in the table holds the wall time before which nobody may.
//
//	free ─ Take ─▶ ours ─ Release(rest) ─▶ resting ─ rest is over ─▶ free
//	  ▲              │ Take by another process: "come again"
//	  └── kill ──────┘ the system drops the lock; the entry says what Take put there: the pace
//
// Locks are those of the system: it drops them when a process ends, however it ends, so nothing is ever stale and
// nobody cleans up. Wall time is all that processes share. An entry says how long its rest was, so that a clock which is
// set back makes a host rest once more for that long, and no longer.
//
// Addresses have places like authorities (politeness rule 10): Start takes one, and Started, once the request has gone out,
// gives it back and rests it for the pace of the address. A process that is slow between the two is not overtaken.
//
// # What hosts ask for
//
// A second table, behind the first, holds until when hosts asked to be left alone, and with which response (politeness
// rules 11 and 14). Rest writes it when the response is there, before anything else is written of it, and syncs the file;
// Resting reads it. It also binds own hosts, which are asked without a lock. An entry is never replaced by one of the same
// host that ends earlier. One whose checksum is wrong counts as none.
//
// # Size
//
// The table of paces has room for four authorities in each of its 65,536 buckets, that of rests for eight. In a full one
// the entry that ends first gives way, and then the pace between two crawls, or the rest, may be lost for that host; that
// they talk to it at once is excluded all the same. Two authorities with one 62-bit hash take turns.
//
// # Never
//
// No call waits for another process. The file is never shortened, renamed or removed: who holds it open would be alone
// with it. It is opened once in a process: on systems whose locks belong to processes, not to open files, two Locks of
// one process would not see each other.
//
// Across machines and users nothing is shared: only a common frontier could do that.
package hostlock
