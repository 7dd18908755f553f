package plan

import (
	"time"

	"curtsy/storage"
)

// Plan is what is known of a crawl before it is begun.
type Plan struct {
	Made      time.Time   `json:"made"`
	Seeds     int64       `json:"seeds"`
	Hosts     []Host      `json:"hosts"`               // of the seeds, and of what sitemaps list
	Forbidden []Forbidden `json:"forbidden"`           // seeds that the crawl will not ask for, at most MaxForbidden
	More      int64       `json:"forbidden_more"`      // those beyond
	Requests  int64       `json:"requests_made"`       // for this plan
	Ended     string      `json:"ended_by,omitempty"`  // what ended the asking before every host was done; empty for nothing
	Elsewhere int64       `json:"listed_out_of_scope"` // URLs that sitemaps list and the scope leaves out
	Uncounted int64       `json:"listed_not_judged"`   // URLs that sitemaps list beyond MaxListed
	Estimate  Estimate    `json:"estimate"`
}

// Bounds of a plan.
const (
	DefaultMaps  = 10      // sitemaps of a host that are read
	MaxListed    = 200_000 // URLs of sitemaps that are told apart
	MaxForbidden = 1000    // seeds that are named
)

// Host is a host of the crawl to come.
type Host struct {
	Host     string         `json:"host"`             // its origin
	Robots   string         `json:"robots"`           // what its robots.txt means, in words
	Status   int            `json:"status,omitempty"` // of the answer for it
	Pace     float64        `json:"pace_s"`
	PaceBy   storage.PaceBy `json:"pace_by"`
	Response float64        `json:"response_s,omitempty"` // usual response time
	Own      bool           `json:"own,omitempty"`
	Address  string         `json:"address,omitempty"` // whose pace it shares with other hosts
	Left     string         `json:"left,omitempty"`    // why it is left alone: nothing is asked of it

	Seeds     int64 `json:"seeds"`           // of the operator's
	Forbidden int64 `json:"seeds_forbidden"` // of these
	Maps      int64 `json:"sitemaps_read"`
	MapsLeft  bool  `json:"sitemaps_left,omitempty"` // it may have more than were read
	Listed    int64 `json:"listed"`                  // URLs in scope that sitemaps list here, seeds not counted
	Disallow  int64 `json:"listed_forbidden"`        // of these, by robots.txt

	Pages    int64   `json:"pages"`    // known, allowed and within the budgets
	Requests int64   `json:"requests"` // that these take, robots.txt and sitemaps among them
	Takes    float64 `json:"takes_s"`  // at the host's pace
}

// Forbidden is a seed that the crawl will not ask for, with who says so.
type Forbidden struct {
	URL    string `json:"url"`
	By     string `json:"by"`     // one of the words below
	Reason string `json:"reason"` // the scope's rule, the robots verdict's reason, or the entry of the opt-out list
	Rule   string `json:"rule,omitempty"`
	Line   int    `json:"line,omitempty"` // of that rule in robots.txt
	Group  string `json:"group,omitempty"`
}

// Who forbids a seed.
const (
	ByOptOut = "opt-out"
	ByScope  = "scope"
	ByRobots = "robots.txt"
	ByHost   = "host" // it is left alone: see Host.Left
)

// Estimate is how long a crawl takes, as far as it is known.
type Estimate struct {
	Requests int64   `json:"requests"`
	Pages    int64   `json:"pages"`
	Bytes    int64   `json:"bytes"`
	Takes    float64 `json:"takes_s"`
	By       string  `json:"decided_by"` // one of the words below
	Host     string  `json:"host,omitempty"`

	Basis   []string `json:"basis"`   // what it reckons with
	Unknown []string `json:"unknown"` // what it cannot know
}

// What decides how long a crawl takes.
const (
	DecidedByHost    = "host"
	DecidedByAddress = "address"
	DecidedByWorkers = "workers"
	DecidedByRate    = "max-rate"
	DecidedByDaily   = "per-host-per-day"
	DecidedByPages   = "max-pages"
	DecidedByTime    = "max-time"
)

// Duration is how long the crawl takes.
func (e Estimate) Duration() time.Duration { return time.Duration(e.Takes * float64(time.Second)) }

// Expect is what the operator expects where nothing is known.
type Expect struct {
	Pages int64 // of a host whose sitemaps name none; 0 for no more than the seeds
	Files int64 // images, styles, scripts and the like with each page
	Size  int64 // bytes of a page; 0 for DefaultSize
}

// DefaultSize is what a page is taken for in bytes where nobody says otherwise: an assumption, not a measurement.
const DefaultSize = 32 << 10
