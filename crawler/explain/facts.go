package explain

import (
	"time"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/optout"
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
	Set     hostrule.Overrides // what the operator sets for the host
	Raised  time.Duration      // to what the operator has raised its pace since the run began; zero where that was not done
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

// TakePolicy puts another policy in the place of the one that the crawl knows: one that was asked for just now, or was
// valid at an instant of the past. g says which tokens and standards bind; source is PolicyLive or PolicyArchive; body is
// the file that the state names, if it names one.
func (e *Explanation) TakePolicy(g *gate.Gate, source string, u canon.URL, s robots.State, body []byte, record string, now time.Time) {
	var r gate.Rules
	if all, ok := s.Verdict(); ok {
		r.All = all
	} else if digest, ok := s.Body(); ok {
		r.Book = g.Learn(digest, body)
	}
	e.Robots = robotsOf(g, source, u, s, r, record, now.UTC())
	e.Pace.ask(storage.ByCrawlDelay, e.Robots.delay)
	e.Pace.ask(storage.ByRequestRate, e.Robots.rate)
	e.Conclude()
}

// AsOf makes e one about an instant that is over: what is known of now alone is left out. How the URL and the policy stood
// is said by TakeLine, TakePolicy and TakeResponses then.
func (e *Explanation) AsOf(at time.Time) {
	at = at.UTC()
	e.At = &at
	e.Pace.ask(storage.ByAddress, nil)
	e.Host = Host{Known: e.Host.Known, Own: e.Host.Own}
	e.Budgets = []Budget{}
	e.State.Seen, e.State.State, e.State.Reason = false, stateUnknown, ""
	e.State.Attempts, e.State.Due, e.State.Stops, e.State.Replaced = 0, nil, 0, ""
	for i := range e.Traps {
		if e.Traps[i].Says == trapHolds {
			e.Traps[i].Says = scope.SaysNothing
		}
	}
	e.Notes = append(e.Notes, "scope, opt-out lists and settings are those of now; what the host was owed, and the budgets, are not told for the past")
	e.Conclude()
}

// LeftOut says by which rule the links to a URL that is not queued were not followed.
func (e *Explanation) LeftOut(rule string) {
	if e.State.State == stateUnknown {
		e.State.Reason = rule
		e.Conclude()
	}
}

// TakeLine says what became of the URL by a line of the ledger: the last one up to the instant that e is about.
func (e *Explanation) TakeLine(l storage.Line) {
	e.State.Seen, e.State.State, e.State.Reason, e.State.Attempts = true, string(l.Outcome), l.Reason, l.Attempt
	switch {
	case l.Outcome == "": // a refusal that never became a task
		e.State.State = frontier.Dropped.String()
	case l.Outcome == storage.OutcomeFetched && l.Change != storage.ChangeFresh, l.Outcome == storage.OutcomeRedirected:
		// its reason is why robots.txt allows it
		e.State.Reason = ""
	}
	e.Conclude()
}
