package audit

import "time"

// HostLog is how the logs of one host and the archive agree.
type HostLog struct {
	Host       string    `json:"host"`
	Files      []string  `json:"files"`
	Lines      int64     `json:"lines"`                // read
	Unread     int64     `json:"unread,omitempty"`     // in neither format
	Others     int64     `json:"others"`               // lines of other clients
	Ours       int64     `json:"ours"`                 // lines of the crawler, within the time of the archive
	Outside    int64     `json:"outside,omitempty"`    // lines of the crawler before or after the archive
	Copies     int64     `json:"copies,omitempty"`     // lines of the crawler that stand in another of the files, too
	Exchanges  int64     `json:"exchanges"`            // archived, with this host
	Agree      int64     `json:"agree"`                // in both
	Missing    int64     `json:"missing,omitempty"`    // archived and not logged, or with another status
	Extra      int64     `json:"extra,omitempty"`      // logged and not archived
	Crash      int64     `json:"crash,omitempty"`      // logged, and lost in flight when the crawl was killed
	Uncovered  int64     `json:"uncovered,omitempty"`  // archived before the first or after the last line of the log
	Unanswered int64     `json:"unanswered,omitempty"` // archived without a whole answer and not logged
	Agentless  bool      `json:"agentless,omitempty"`  // there are lines that do not tell the user agent
	Confirmed  bool      `json:"confirmed"`            // both say the same
	First      time.Time `json:"first,omitzero"`       // line
	Last       time.Time `json:"last,omitzero"`
}

// Share is how much of what an archive tells somebody else confirms.
type Share struct {
	Hosts       int64 `json:"hosts"`
	OfHosts     int64 `json:"of_hosts"`
	Exchanges   int64 `json:"exchanges"`
	OfExchanges int64 `json:"of_exchanges"`
}

// Product returns the product token that a User-Agent names first, or "" for that of a browser.
func Product(agent string) string { return tokenOf(agent) }
