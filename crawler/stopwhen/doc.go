// Package stopwhen reads the conditions under which a crawl ends (--stop-when), and watches a crawl for them. It is pure:
// who crawls tells it of each answer, and asks it whether to go on.
//
// # Conditions
//
//	pages=N              N pages were fetched, in all runs of this generation
//	tag:NAME pages=N     likewise, of what descends from the seeds with that tag
//	errors>P%            of this run's last 1,000 exchanges more than P % failed; from 100 exchanges on
//	duplicates>P%        of this run's last 1,000 pages more than P % said what an earlier page of the run says
//	new-hosts<N          of this run's last 1,000 pages fewer than N were the first of their host
//
// A page is an answer of 2xx that is HTML, as in all budgets. What failed is what the ledger's reason says so of: no
// complete answer, or a status of 429 or from 500 on. Two pages say the same by the digest of trap:copy. Counts of pages
// outlive the run, windows begin anew with it: a run that is resumed after its window was full may go on for another one.
//
// # Bounds
//
// Windows are 1,000 bits each. The digests of the last pages are kept in 1,048,576 places, 8 MiB, each of which keeps the
// last digest that fell on it: a duplicate of a page that is forgotten passes for new, so that a crawl ends late, not
// early.
package stopwhen
