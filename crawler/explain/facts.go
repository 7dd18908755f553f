package explain

import (
	"time"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/optout"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// Question is a URL to be explained.
type Question struct {
	URL     canon.URL
	Written string // as it was asked for; empty means the URL
	// Found says how the URL was found, if the frontier should not know: of refused ones it keeps no more than that they
	// were met. Its zero Kind means that nobody knows, and it is judged as a link of a seed's page.
	Found frontier.Candidate
}

// Facts are all that an explanation is made of.
type Facts struct {
	Question
	Settings Settings
	Crawl    string        // "running", "draining", "stopped" or "finished"
	Now      time.Time     // in UTC
	Micros   int64         // Now, on the steady clock
	Elapsed  time.Duration // of this run

	Seen  bool
	Entry *frontier.Entry // nil when the URL never became a task
	Stats frontier.Stats

	Host    frontier.Host
	Known   bool  // Host is
	Domain  int64 // pages of the registrable domain, where these are counted
	Memory  host.State
	History trap.History
	Own     bool // the host is the operator's own
	Floor   time.Duration
	Set     host.Overrides // what the operator sets for the host
	Raised  time.Duration  // to what the operator has raised its pace since the run began; zero where that was not done
	State   robots.State
	Rules   gate.Rules // that State holds
	Gate    *gate.Gate
	Sharing status.Sharing // who is at the host's address

	Scope     scope.Verdict
	Requisite scope.Verdict // if pages needed the URL to be complete; where nobody knows how it was found
	Asked     []scope.Opinion
	OptOut    *optout.Hit
}

// Settings are those of a crawl that an explanation names. Zero means no limit.
type Settings struct {
	Traps      trap.Limits
	Depth      *int
	IPDelay    time.Duration
	MaxPages   int64
	MaxPerHost int64

	MaxPerDomain, MaxPerTag int64
	MaxBytes                int64
	MaxTime                 time.Duration
}

// Candidate is the URL as it was found; when nobody knows how, as a link of a seed's page.
func (k *Facts) Candidate() frontier.Candidate {
	c := k.Found
	if c.URL.IsZero() {
		c.URL = k.URL
	}
	if c.Kind == 0 {
		c.Kind, c.Depth = frontier.KindLink, 1
	}
	return c
}
