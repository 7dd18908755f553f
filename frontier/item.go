package frontier

import (
	"time"

	"curtsy/frontier/canon"
)

// Item is a piece of a whole frontier in the form that does not depend on an engine, so that a crawl can move from one
// to another. Exactly one field is set. The order is: one Head, Seeds, Blobs, Hosts, URLs in the order of their
// acceptance (each after its host), Refused, one Totals, which is the end.
type Item struct {
	Head    *Head
	Seed    *Seed
	Blob    []byte
	Host    *Host // its counts of URLs are for people: they follow from the URLs and from Strange
	URL     *Entry
	Refused []Fingerprint // of refused candidates, or URLs whose texts were let go: in the seen-set, nothing else is kept
	Totals  *Totals
}

// Head begins a frontier.
type Head struct {
	Secret   []byte        // of Print
	Openings int64         // so far: tokens of an older frontier must be stale in a newer one
	Unclean  bool          // the last stop was not a Close; what was in flight at it has that in its Stops already
	Floor    time.Duration // what the last Close left of the Options.Pace of an unclean stop before
}

// Entry is a URL that became a task, with its state.
type Entry struct {
	Candidate // as it was accepted
	Print     Fingerprint
	Outcome   Outcome // zero while it is pending
	Reason    string  // of the outcome; of a pending one, why its last attempt was deferred
	Attempts  int
	Deferred  bool
	Wait      time.Duration // of a deferred one, until it is due
	Replaced  canon.URL     // the fetch URL that a redirect to its own key put in its place; zero for none
	Stops     int           // unclean stops at which it was in flight
	Alone     int           // of these, alone
}

// Totals are the sums that do not follow from hosts and URLs.
type Totals struct {
	Refused map[canon.Authority]int64 // refused candidates of known hosts
	Strange int64                     // refused candidates of hosts that are not known
	Reasons map[string]int64          // refused candidates by reason
	Capped  map[string]int64
	Counts  map[string]int64
}
