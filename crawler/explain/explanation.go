package explain

import (
	"time"

	"curtsy/crawler/budget"
	"curtsy/storage"
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
	Changes []string `json:"changes"` // what canonicalisation changed, part by part
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
