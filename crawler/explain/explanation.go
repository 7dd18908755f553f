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

// Schema is the version of the JSON form of an Explanation.
const Schema = 1

// Explanation is everything that decides about one URL. Times are in UTC, durations in seconds.
type Explanation struct {
	Schema int        `json:"schema"`
	Crawl  string     `json:"crawl"` // "running", "draining", "stopped" or "finished"
	Now    time.Time  `json:"now"`
	At     *time.Time `json:"at,omitempty"` // the explained instant, if it is not Now

	Generation int64 `json:"generation"` // of the crawl, from 1; State is about this one

	Answer      Answer           `json:"answer"`
	URL         URL              `json:"url"`
	Scope       Scope            `json:"scope"`
	State       State            `json:"state"`
	Host        Host             `json:"host"`
	OptOut      *Entry           `json:"opt_out"` // null: not listed
	Traps       []Rule           `json:"traps"`
	Robots      Robots           `json:"robots"`
	Pace        Pace             `json:"pace"`
	Budgets     []Budget         `json:"budgets"`
	NotFollowed map[string]int64 `json:"not_followed,omitempty"` // rejected links of the whole crawl, by rule
	Notes       []string         `json:"notes,omitempty"`        // gaps in the explanation, with reasons

	over string // the flag of a limit that links exceeded
}

// Answer is the explanation in one line.
type Answer struct {
	Word string     `json:"word"`           // one of Answers
	Text string     `json:"text"`           // for people
	Next *time.Time `json:"next,omitempty"` // the earliest time of a request
}

// The words of an Answer in their order of precedence, the same as in a turn.
const (
	AnswerOptedOut    = "opted out"
	AnswerOutOfScope  = "out of scope"
	AnswerUnknown     = "robots unknown"     // robots.txt is requested first
	AnswerUnreachable = "robots unreachable" // robots.txt is unavailable, so no URL may be fetched
	AnswerDisallowed  = "disallowed"
	AnswerSetAside    = "set aside" // held by a trap, or in quarantine
	AnswerDone        = "done"      // State is the outcome
	AnswerHost        = "host shut" // retired, refused, or held by an operator
	AnswerBudget      = "budget"    // a budget is used up
	AnswerMay         = "may be fetched"
)

// Answers returns the words of an Answer in their order.
func Answers() []string {
	return []string{
		AnswerOptedOut, AnswerOutOfScope, AnswerUnknown, AnswerUnreachable, AnswerDisallowed, AnswerSetAside, AnswerDone,
		AnswerHost, AnswerBudget, AnswerMay,
	}
}

// URL is the URL in its spellings.
type URL struct {
	Written string   `json:"written"`
	Fetch   string   `json:"fetch"`   // as requested
	Key     string   `json:"key"`     // as compared with others
	Changes []string `json:"changes"` // by canonicalisation
	Origin  string   `json:"origin"`
	Domain  string   `json:"domain"` // registrable; empty for none
	Target  string   `json:"target"` // path and query as sent
}

type Scope struct {
	In      bool   `json:"in"`
	Rule    string `json:"rule"`     // the deciding rule
	ForGood bool   `json:"for_good"` // out of scope however the URL is found
	Asked   []Rule `json:"asked"`    // the rules in order, up to the deciding one
	// Requisite is the verdict on the URL as a page requisite, if it is unknown how it was found and that verdict differs.
	Requisite *Rule `json:"as_requisite,omitempty"`
}

// Rule is the result of one rule.
type Rule struct {
	Rule string `json:"rule"`
	Says string `json:"says"`
}

// State is the crawl's state of the URL.
type State struct {
	Seen     bool       `json:"seen"`
	State    string     `json:"state"` // "unknown", "seen", "queued", "deferred", "quarantined" or an outcome
	Reason   string     `json:"reason,omitempty"`
	Attempts int        `json:"attempts,omitempty"` // before a retry
	Due      *time.Time `json:"due,omitempty"`      // of a retry
	Stops    int        `json:"stops,omitempty"`    // unclean stops while it was in flight
	Replaced string     `json:"replaced,omitempty"` // the spelling that a redirect replaced it by

	// How it was found. Assumed means that this is unknown, and the URL is judged as a link on a seed's page.
	Assumed bool   `json:"assumed,omitempty"`
	Kind    string `json:"kind"`
	Via     string `json:"via,omitempty"`
	Depth   int    `json:"depth"`
	Hops    int    `json:"hops,omitempty"`
	Embeds  int    `json:"embeds,omitempty"`
	Seed    string `json:"seed,omitempty"`
	Tag     string `json:"tag,omitempty"`
}

// Host is the crawl's state of the host.
type Host struct {
	Known     bool       `json:"known"`
	Own       bool       `json:"own,omitempty"`
	Condition string     `json:"condition,omitempty"` // "open", "parked", "retired" or "refused"
	Reason    string     `json:"reason,omitempty"`
	Until     *time.Time `json:"until,omitempty"` // its next turn
	Hold      string     `json:"hold,omitempty"`  // by an operator
	HoldWhy   string     `json:"hold_reason,omitempty"`
	HoldUntil *time.Time `json:"hold_until,omitempty"`
	Leased    bool       `json:"leased,omitempty"` // active now
	Queued    int64      `json:"queued"`
	Deferred  int64      `json:"deferred"`
	InFlight  int64      `json:"in_flight"`
	Pages     int64      `json:"pages"`
	Failures  int64      `json:"failures,omitempty"`  // failed exchanges in a row
	Throttles int64      `json:"throttles,omitempty"` // 429 and 503 in a row
	Refusals  int64      `json:"refusals,omitempty"`  // 401, 402, 403, 407, 451 in a row
}

// Entry is the opt-out list's entry for the URL.
type Entry struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Entry  string `json:"entry"`
	Reason string `json:"reason,omitempty"`
	SHA256 string `json:"sha256"` // of the list
}

// Pace is the required delay between two exchanges with the host.
type Pace struct {
	Terms     []PaceTerm     `json:"terms"` // all possible origins of a delay; the first of equal ones wins
	By        storage.PaceBy `json:"by"`    // the winner
	Seconds   float64        `json:"pace_s"`
	RestBy    storage.PaceBy `json:"rest_by,omitempty"` // the origin of a longer delay after the last exchange
	Rest      float64        `json:"rest_s,omitempty"`
	Last      *time.Time     `json:"last_exchange,omitempty"` // its end
	Address   float64        `json:"address_s,omitempty"`     // delay of the address; own hosts have none
	Responses []float64      `json:"responses_s,omitempty"`   // the last response times
}

// PaceTerm is one origin of a delay.
type PaceTerm struct {
	By      storage.PaceBy `json:"by"`
	Seconds *float64       `json:"s"` // null: none
	Note    string         `json:"note,omitempty"`
}

type Budget struct {
	Name  string `json:"name"`
	Used  int64  `json:"used"`
	Limit *int64 `json:"limit"` // null: unlimited
}

// Question is a URL to explain.
type Question struct {
	URL     canon.URL
	Written string // as the user wrote it; empty means the URL
	// Found is how the URL was found, in case the frontier does not know, as of refused URLs. A zero Kind means unknown, and
	// the URL is judged as a link on a seed's page.
	Found frontier.Candidate
}

// Facts are the input of an explanation.
type Facts struct {
	Question
	Settings Settings
	Crawl    string        // "running", "draining", "stopped" or "finished"
	Now      time.Time     // in UTC
	Micros   int64         // Now on the steady clock
	Elapsed  time.Duration // of this run

	Seen  bool
	Entry *frontier.Entry // nil if the URL never became a task
	Stats frontier.Stats

	Host    frontier.Host
	Known   bool  // Host is known
	Domain  int64 // pages of the registrable domain, if counted
	Memory  host.State
	History trap.History
	Own     bool // the operator's own host
	Floor   time.Duration
	Set     hostrule.Overrides // the operator's settings for the host
	Raised  time.Duration      // the delay that the operator has set during this run; zero for none
	State   robots.State
	Rules   gate.Rules // of State
	Gate    *gate.Gate
	Sharing status.Sharing // of the host's address

	Scope     scope.Verdict
	Requisite scope.Verdict // as a page requisite, if it is unknown how the URL was found
	Asked     []scope.Opinion
	OptOut    *optout.Hit
}

// Settings are the crawl's settings for an explanation. Zero means no limit.
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

// Candidate returns the URL as it was found, or as a link on a seed's page if that is unknown.
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

// TakePolicy replaces the crawl's policy by an archived one that was valid at an earlier instant. g determines tokens and
// standards; body is the file that the state refers to, if any.
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

// AsOf makes e an explanation of an earlier instant, without facts that are known only for the present.
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

// LeftOut sets the rule by which links to a URL that is not queued were rejected.
func (e *Explanation) LeftOut(rule string) {
	if e.State.State == stateUnknown {
		e.State.Reason = rule
		e.Conclude()
	}
}

// TakeLine sets the state of the URL from a ledger line: the last one up to the explained instant.
func (e *Explanation) TakeLine(l storage.Line) {
	e.State.Seen, e.State.State, e.State.Reason, e.State.Attempts = true, string(l.Outcome), l.Reason, l.Attempt
	switch {
	case l.Outcome == "": // refused without becoming a task
		e.State.State = frontier.Dropped.String()
	case l.Outcome == storage.OutcomeFetched && l.Change != storage.ChangeFresh, l.Outcome == storage.OutcomeRedirected:
		// the reason is why robots.txt allows it
		e.State.Reason = ""
	}
	e.Conclude()
}
