package explain

import (
	"time"

	"curtsy/crawler/budget"
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

// Schema is the version of the form of an Explanation.
const Schema = 1

// Explanation is all that decides about one URL. It is data: whoever asks, a running crawl or one that is stopped gives the
// same. Times are in UTC, durations in seconds.
type Explanation struct {
	Schema int        `json:"schema"`
	Crawl  string     `json:"crawl"`        // "running", "draining", "stopped" or "finished"
	Now    time.Time  `json:"now"`          // when it was made
	At     *time.Time `json:"at,omitempty"` // the instant that it is about, if that is not now

	Generation int64 `json:"generation"` // of the crawl, from 1: what became of the URL is said of this one

	Answer      Answer           `json:"answer"`
	URL         URL              `json:"url"`
	Scope       Scope            `json:"scope"`
	State       State            `json:"state"`
	Host        Host             `json:"host"`
	OptOut      *Entry           `json:"opt_out"` // null: it is on no list
	Traps       []Rule           `json:"traps"`
	Robots      Robots           `json:"robots"`
	Pace        Pace             `json:"pace"`
	Budgets     []Budget         `json:"budgets"`
	NotFollowed map[string]int64 `json:"not_followed,omitempty"` // links of the whole crawl that were not followed, by rule
	Notes       []string         `json:"notes,omitempty"`        // what is not known, and why

	over string // the flag of a limit that links of the crawl were over
}

// Answer is the explanation in a line.
type Answer struct {
	Word string     `json:"word"`           // one of the words of Answers
	Text string     `json:"text"`           // for people
	Next *time.Time `json:"next,omitempty"` // the earliest instant at which it may be asked for
}

// The words of an Answer, the one that holds first: what comes first wins, as it does in a turn.
const (
	AnswerOptedOut    = "opted out"
	AnswerOutOfScope  = "out of scope"
	AnswerUnknown     = "robots unknown"     // robots.txt was never had; it is asked for before anything else
	AnswerUnreachable = "robots unreachable" // it cannot be had, and so nothing may be fetched
	AnswerDisallowed  = "disallowed"
	AnswerSetAside    = "set aside" // held by a trap, or in quarantine
	AnswerDone        = "done"      // it ended; State says how
	AnswerHost        = "host shut" // the host is retired, refused, or stopped by an operator
	AnswerBudget      = "budget"    // a budget is used up
	AnswerMay         = "may be fetched"
)

// Answers are the words of an Answer in their order.
func Answers() []string {
	return []string{
		AnswerOptedOut, AnswerOutOfScope, AnswerUnknown, AnswerUnreachable, AnswerDisallowed, AnswerSetAside, AnswerDone,
		AnswerHost, AnswerBudget, AnswerMay,
	}
}

// URL is the URL in its spellings.
type URL struct {
	Written string   `json:"written"`
	Fetch   string   `json:"fetch"`   // what is asked for
	Key     string   `json:"key"`     // what tells it from others
	Changes []string `json:"changes"` // by canonicalisation: the URL before and after
	Origin  string   `json:"origin"`
	Domain  string   `json:"domain"` // registrable; empty without one
	Target  string   `json:"target"` // path and query, as they are sent
}

// Scope is the verdict of the scope.
type Scope struct {
	In      bool   `json:"in"`
	Rule    string `json:"rule"`     // the one that decides
	ForGood bool   `json:"for_good"` // no other way to the URL can make it in
	Asked   []Rule `json:"asked"`    // the rules in the order in which they are asked, up to the one that decides
	// Requisite is the verdict on the URL as a page requisite, if nobody knows how it was found and that differs.
	Requisite *Rule `json:"as_requisite,omitempty"`
}

// Rule is what one rule says.
type Rule struct {
	Rule string `json:"rule"`
	Says string `json:"says"`
}

// State is what the crawl knows of the URL itself.
type State struct {
	Seen     bool       `json:"seen"`
	State    string     `json:"state"` // "unknown", "seen", "queued", "deferred", "quarantined" or an outcome
	Reason   string     `json:"reason,omitempty"`
	Attempts int        `json:"attempts,omitempty"` // of one that comes again
	Due      *time.Time `json:"due,omitempty"`      // of one that comes again
	Stops    int        `json:"stops,omitempty"`    // unclean stops at which it was in flight
	Replaced string     `json:"replaced,omitempty"` // the spelling that a redirect put in its place

	// How it was found. Assumed says that nothing is known of that, and it is judged as a link of a seed's page.
	Assumed bool   `json:"assumed,omitempty"`
	Kind    string `json:"kind"`
	Via     string `json:"via,omitempty"`
	Depth   int    `json:"depth"`
	Hops    int    `json:"hops,omitempty"`
	Embeds  int    `json:"embeds,omitempty"`
	Seed    string `json:"seed,omitempty"`
	Tag     string `json:"tag,omitempty"`
}

// Host is what the crawl knows of the host.
type Host struct {
	Known     bool       `json:"known"`
	Own       bool       `json:"own,omitempty"`
	Condition string     `json:"condition,omitempty"` // "open", "parked", "retired" or "refused"
	Reason    string     `json:"reason,omitempty"`
	Until     *time.Time `json:"until,omitempty"` // when its next turn is due
	Hold      string     `json:"hold,omitempty"`  // what an operator commanded
	HoldWhy   string     `json:"hold_reason,omitempty"`
	HoldUntil *time.Time `json:"hold_until,omitempty"`
	Leased    bool       `json:"leased,omitempty"` // it has its turn right now
	Queued    int64      `json:"queued"`
	Deferred  int64      `json:"deferred"`
	InFlight  int64      `json:"in_flight"`
	Pages     int64      `json:"pages"`
	Failures  int64      `json:"failures,omitempty"`  // exchanges in a row that failed
	Throttles int64      `json:"throttles,omitempty"` // 429 and 503 in a row
	Refusals  int64      `json:"refusals,omitempty"`  // 401, 402, 403, 407, 451 in a row
}

// Entry is the entry of an opt-out list that a URL is under.
type Entry struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Entry  string `json:"entry"`
	Reason string `json:"reason,omitempty"`
	SHA256 string `json:"sha256"` // of the list
}

// Pace is the pause that must lie between two exchanges with the host.
type Pace struct {
	Terms     []PaceTerm     `json:"terms"` // all that may ask for a pause; of equal ones the first wins
	By        storage.PaceBy `json:"by"`    // who wins
	Seconds   float64        `json:"pace_s"`
	RestBy    storage.PaceBy `json:"rest_by,omitempty"` // who asked for more after the last exchange
	Rest      float64        `json:"rest_s,omitempty"`
	Last      *time.Time     `json:"last_exchange,omitempty"` // its end
	Address   float64        `json:"address_s,omitempty"`     // between two starts at one address; own hosts have none
	Responses []float64      `json:"responses_s,omitempty"`   // the last response times
}

// PaceTerm is one of those who may ask for a pause.
type PaceTerm struct {
	By      storage.PaceBy `json:"by"`
	Seconds *float64       `json:"s"` // null: it asks for none
	Note    string         `json:"note,omitempty"`
}

// Budget is a bound and how much of it is used.
type Budget struct {
	Name  string `json:"name"`
	Used  int64  `json:"used"`
	Limit *int64 `json:"limit"` // null: there is none
}

// spent reports whether nothing is left. A depth that is reached is not: only one beyond it is refused, by the scope.
func (b Budget) spent() bool {
	return b.Limit != nil && b.Used >= *b.Limit && b.Name != budget.Depth && b.Name != budget.MaxTime
}

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

// TakePolicy replaces the policy that the crawl knows by one of the archive, which was valid at an instant of the past. g says
// which tokens and standards bind; body is the file that the state names, if it names one.
func (e *Explanation) TakePolicy(g *gate.Gate, u canon.URL, s robots.State, body []byte, record string, now time.Time) {
	var r gate.Rules
	if all, ok := s.Verdict(); ok {
		r.All = all
	} else if digest, ok := s.Body(); ok {
		r.Book = g.Learn(digest, body)
	}
	e.Robots = robotsOf(g, PolicyArchive, u, s, r, record, now.UTC())
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
