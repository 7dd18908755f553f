package ndjson

import (
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Format is the number of the form that this package writes, and the only one that it reads.
const Format = 1

// maxList is how many fingerprints, or hosts of a tally, stand in a line.
const maxList = 1000

// line is a line. One member is set.
type line struct {
	Head    *head                     `json:"head,omitempty"`
	Seed    *seed                     `json:"seed,omitempty"`
	Blob    *blob                     `json:"blob,omitempty"`
	Host    *host                     `json:"host,omitempty"`
	URL     *entry                    `json:"url,omitempty"`
	Refused []print                   `json:"refused,omitempty"`
	Tally   map[canon.Authority]int64 `json:"tally,omitempty"`
	Totals  *totals                   `json:"totals,omitempty"`
	End     *end                      `json:"end,omitempty"`
}

type head struct {
	Format   int    `json:"format"`
	Secret   []byte `json:"secret"`
	Openings int64  `json:"openings"`
	Unclean  bool   `json:"unclean,omitempty"`
	Floor    span   `json:"floor,omitempty"`
}

type seed struct {
	URL  canon.URL `json:"url"`
	Tag  text      `json:"tag,omitempty"`
	From text      `json:"from,omitempty"`
}

type blob struct {
	Body []byte `json:"body"`
}

type host struct {
	Authority canon.Authority    `json:"authority"`
	Condition frontier.Condition `json:"condition,omitempty"`
	Reason    text               `json:"reason,omitempty"`
	Pace      span               `json:"pace,omitempty"`
	Width     int                `json:"width,omitempty"`
	Robots    []byte             `json:"robots,omitempty"`
	Memory    []byte             `json:"memory,omitempty"`
	Hold      *hold              `json:"hold,omitempty"`
	Wait      span               `json:"wait,omitempty"`
	Leased    bool               `json:"leased,omitempty"`
	Queued    int64              `json:"queued,omitempty"`
	InFlight  int64              `json:"in_flight,omitempty"`
	Deferred  int64              `json:"deferred,omitempty"`
	Outcomes  map[string]int64   `json:"outcomes,omitempty"`
}

type hold struct {
	Act    frontier.Act `json:"act"`
	Reason text         `json:"reason,omitempty"`
	Wait   span         `json:"wait,omitempty"`
}

type entry struct {
	URL      canon.URL     `json:"url"`
	Kind     frontier.Kind `json:"kind"`
	Via      text          `json:"via,omitempty"`
	Depth    int           `json:"depth,omitempty"`
	Hops     int           `json:"hops,omitempty"`
	Embeds   int           `json:"embeds,omitempty"`
	Away     int           `json:"away,omitempty"`
	Seed     text          `json:"seed,omitempty"`
	Tag      text          `json:"tag,omitempty"`
	Print    print         `json:"print"`
	State    state         `json:"state"`
	Reason   text          `json:"reason,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
	Wait     span          `json:"wait,omitempty"`
	Replaced *canon.URL    `json:"replaced,omitempty"`
	Stops    int           `json:"stops,omitempty"`
	Alone    int           `json:"alone,omitempty"`
}

// state is the outcome of a closed URL, or how a pending one waits.
type state struct {
	outcome  frontier.Outcome
	deferred bool
}

type totals struct {
	Strange int64 `json:"strange,omitempty"`
	Reasons sums  `json:"reasons,omitempty"`
	Capped  sums  `json:"capped,omitempty"`
	Counts  sums  `json:"counts,omitempty"`
}

// Ended are the counts of a whole export, as its last line has them.
type Ended struct {
	Lines   int64 `json:"lines"` // before the last
	Seeds   int64 `json:"seeds"`
	Blobs   int64 `json:"blobs"`
	Hosts   int64 `json:"hosts"`
	URLs    int64 `json:"urls"`
	Refused int64 `json:"refused"` // fingerprints
}

type end struct {
	Ended
	SHA256 string `json:"sha256"`
}
