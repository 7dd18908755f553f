package report

import (
	"fmt"
	"time"

	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
)

// Version is that of the JSON form. It grows when a field changes its meaning or goes; fields may be added without.
const Version = 2

// Report is what was found; docs/guides/report.md describes its JSON form.
type Report struct {
	Version  int       `json:"version"`
	Made     time.Time `json:"made"`
	Software string    `json:"software"`
	Host     string    `json:"host,omitempty"` // the host it is about, as it was asked for; empty for the whole crawl
	HostPort string    `json:"-"`              // and in one spelling, HOST or HOST:PORT: a name for its file

	Crawl  Crawl `json:"crawl"`
	Totals Host  `json:"totals"`

	Hosts   []Host `json:"hosts"`            // own ones first, then by exchanges
	Others  *Host  `json:"others,omitempty"` // the sum of those beyond
	Known   int64  `json:"hosts_known"`      // how many there are in all
	Reached int64  `json:"hosts_asked"`      // of those: that were asked for anything
	More    bool   `json:"hosts_more"`       // and there may be more than that

	Tags []Tag `json:"tags,omitempty"` // by the tag of the seed; empty when no seed has one

	Robots     Robots    `json:"robots"`
	Statuses   []Count   `json:"statuses"`
	Types      []Count   `json:"media_types"`
	Throughput Timeline  `json:"throughput"`
	Gaps       []Pauses  `json:"gaps"`
	Errors     []Count   `json:"errors"`
	Traps      []Count   `json:"traps"`
	Truncated  []Count   `json:"truncated"`
	Empty      []Count   `json:"empty"`            // pages that show nothing without JavaScript
	Scripts    []Count   `json:"named_by_scripts"` // files that scripts alone name, by what became of them
	NotCrawled []Count   `json:"not_crawled"`
	Directives []Count   `json:"directives"`
	Prefs      []Count   `json:"preferences"`
	Asked      []Request `json:"asked,omitempty"`   // with Host: the first exchanges
	Refused    []Refusal `json:"refused,omitempty"` // with Host: URLs not asked for because of robots.txt
	Audit      *Audit    `json:"audit,omitempty"`

	Duplicates *Duplicates `json:"duplicates,omitempty"` // pages that say the same, if they were asked for

	Graph *HostGraph `json:"host_graph,omitempty"` // who links to whom

	Unread  int64    `json:"unreadable_lines"` // of the ledger
	Damage  []string `json:"damage,omitempty"` // what could not be read, the first of it
	Remarks []string `json:"remarks,omitempty"`
}

// Crawl is what was crawled, when, and by whom.
type Crawl struct {
	Name     string     `json:"name"`
	First    *time.Time `json:"first,omitempty"` // the first decision or exchange
	Last     *time.Time `json:"last,omitempty"`  // the end of the last
	Seeds    []Count    `json:"seeds,omitempty"`
	By       []Identity `json:"by"` // who crawled, as the archive says; more than one if that changed
	Settings []Setting  `json:"settings"`
	Runs     []Run      `json:"runs,omitempty"`
	// Generations is how often the whole was crawled, as the archive says: updates and the crawl itself. Zero: not said.
	Generations int64  `json:"generations,omitempty"`
	MoreRuns    int64  `json:"runs_more,omitempty"`
	Acts        []Act  `json:"acts,omitempty"` // what operators did, in the order of the ledger
	MoreActs    int64  `json:"acts_more,omitempty"`
	Ended       string `json:"ended"` // how it ended, in a sentence
	Clean       bool   `json:"ended_cleanly"`
	Head        string `json:"ledger_head,omitempty"` // the ledger's latest checkpoint, SIZE:ROOT
	Key         string `json:"ledger_key,omitempty"`  // verifier key of the last run; empty for none
}

// Run is a run of the crawl: from an opening of its ledger on.
type Run struct {
	Began time.Time `json:"began"`
	Ended string    `json:"ended,omitempty"` // when it was closed; empty when it was not
	Cut   int64     `json:"cut,omitempty"`   // bytes of an unfinished line that the run before left
}

// Act is what an operator did.
type Act struct {
	Time  time.Time `json:"time"`
	Act   string    `json:"act"`
	About string    `json:"about,omitempty"`
	URLs  int64     `json:"urls,omitempty"` // that it concerned
	Note  string    `json:"note,omitempty"`
}

// Identity is what a warcinfo record says.
type Identity struct {
	Since       string    `json:"since"` // its WARC-Date
	Software    string    `json:"software"`
	Operator    string    `json:"operator,omitempty"`
	Contact     string    `json:"contact,omitempty"`
	Agent       string    `json:"user_agent,omitempty"`
	Robots      string    `json:"robots,omitempty"`
	Purpose     string    `json:"purpose,omitempty"`
	Key         string    `json:"verifier_key,omitempty"` // of the ledger, by the archive's word
	Fields      []Setting `json:"-"`
	Generation  int64     `json:"-"` // of the crawl; zero when the archive does not say
	SHA256      [32]byte  `json:"-"` // of the block
	ContactLink string    `json:"-"`
}

// Host is what was done with an authority, or the sum of several.
type Host struct {
	Name        string `json:"host,omitempty"`
	Own         bool   `json:"own,omitempty"`
	Lines       int64  `json:"decisions"` // with what counting lines stand for
	Exchanges   int64  `json:"exchanges"` // robots.txt among them
	RobotsAsked int64  `json:"robots_exchanges"`
	Unreached   int64  `json:"unreached"` // attempts that reached nobody, and so are no exchanges
	Octets      int64  `json:"octets"`
	Pages       int64  `json:"pages"` // fetched, and HTML
	Fetched     int64  `json:"fetched"`
	Redirected  int64  `json:"redirected"`
	Gone        int64  `json:"gone"`
	Failed      int64  `json:"failed"`
	Dropped     int64  `json:"dropped"` // after an exchange, or by a cap
	Deferred    int64  `json:"deferred"`
	Disallowed  int64  `json:"disallowed"`
	Refused     int64  `json:"refused"` // by scope, trap or budget
	Held        int64  `json:"held"`
	OptedOut    int64  `json:"opted_out"`
	Errors      int64  `json:"errors"` // exchanges and attempts that failed, robots.txt among them

	Robots  string  `json:"robots,omitempty"` // what became of robots.txt, in words
	PaceMs  float64 `json:"pace_ms"`          // the longest pause that was due
	PaceBy  string  `json:"pace_by,omitempty"`
	Gaps    int64   `json:"gaps"`
	Short   int64   `json:"gaps_short"` // shorter than what was due
	LeastMs float64 `json:"gap_least_ms"`
	MidMs   float64 `json:"gap_median_ms"`
	State   string  `json:"state,omitempty"` // what the last lines say, in words
}

// Tag is what was done with all that descends from the seeds with one tag.
type Tag struct {
	Tag string `json:"tag"`
	Host
}

// Count is how often something was met.
type Count struct {
	Name    string   `json:"name"`
	Count   int64    `json:"count"`
	Octets  int64    `json:"octets,omitempty"`
	Samples []string `json:"samples,omitempty"`
}

// Robots is what robots.txt decided.
type Robots struct {
	Allowed     int64        `json:"allowed"`
	Disallowed  int64        `json:"disallowed"`
	Unreachable int64        `json:"unreachable"` // of those: because robots.txt could not be had
	Asked       int64        `json:"exchanges"`
	Rules       []Rule       `json:"rules"`
	MoreRules   int64        `json:"decisions_of_other_rules"` // those that Rules leaves out
	Files       []RobotsFile `json:"files,omitempty"`          // with a host: what came of asking for robots.txt
	Standards   []Count      `json:"standards"`
}

// Rule is what a rule, or the want of one, decided for a host.
type Rule struct {
	Host    string `json:"host"`
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason"`
	Line    int    `json:"line,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Group   string `json:"group,omitempty"`
	Count   int64  `json:"count"`
	Sample  string `json:"sample"`
}

// RobotsFile is an exchange for robots.txt.
type RobotsFile struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Status int       `json:"status,omitempty"`
	Reason string    `json:"reason,omitempty"`
	SHA256 string    `json:"sha256,omitempty"`
	Times  int64     `json:"times"` // it was asked for with the same result, in a row
}

// Request is an exchange.
type Request struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Status int       `json:"status,omitempty"`
	Type   string    `json:"type,omitempty"`
	Octets int64     `json:"octets,omitempty"`
	GapMs  float64   `json:"gap_ms,omitempty"`
	PaceMs float64   `json:"pace_ms,omitempty"`
}

// Refusal is a URL that was not asked for.
type Refusal struct {
	Time   time.Time `json:"time"`
	URL    string    `json:"url"`
	Reason string    `json:"reason"`
	Line   int       `json:"line,omitempty"`
	Rule   string    `json:"rule,omitempty"`
	Count  int64     `json:"count"` // URLs it stands for
}

// maxRuns is how many runs are told apart.
const maxRuns = 200

// ending gathers what the marks of a ledger say about the runs of a crawl.
type ending struct {
	runs  []Run
	more  int64     // runs beyond maxRuns
	stop  time.Time // of the last stop
	key   string    // of the last run
	any   bool      // there is a mark of a run
	ended bool      // the last run ended in good order
	torn  int64     // runs that did not end in good order, the last not counted

	acts     []Act
	moreActs int64 // beyond maxActs
}

// maxActs is how many acts of operators are shown.
const maxActs = 500

func (e *ending) mark(m *ledger.Mark) {
	switch m.Kind {
	case ledger.KindRun:
		if e.any && !e.ended {
			e.torn++
		}
		e.any, e.ended, e.key = true, false, m.Key
		if len(e.runs) >= maxRuns {
			e.more++
			return
		}
		e.runs = append(e.runs, Run{Began: m.Time.UTC(), Cut: m.Cut})
	case ledger.KindOperator:
		if len(e.acts) >= maxActs {
			e.moreActs++
			return
		}
		o := m.Operator
		e.acts = append(e.acts, Act{m.Time.UTC(), clean(o.Act), clean(o.About), o.URLs, clean(o.Note)})
	case ledger.KindStop:
		e.ended, e.stop = true, m.Time
		if n := len(e.runs); n > 0 && e.more == 0 {
			e.runs[n-1].Ended = m.Time.UTC().Format(time.RFC3339)
		}
	}
}

// tell says how the crawl ended.
func (e *ending) tell(c *Crawl) {
	c.Acts, c.MoreActs = e.acts, e.moreActs
	c.Runs, c.MoreRuns, c.Clean = e.runs, e.more, e.any && e.ended
	switch {
	case !e.any:
		c.Ended = "Not known: the ledger has no marks of its runs."
	case e.ended:
		c.Ended = "Ended normally, " + instant(e.stop) + "."
	default:
		c.Ended = "Has no end in the ledger: it still runs, or it was killed, or its disk was full."
	}
	if e.torn > 0 {
		c.Ended += fmt.Sprintf(" Of the runs before, %s ended otherwise: by a kill or a crash.", plainly.Grouped(e.torn))
	}
	c.Key = clean(e.key)
}
