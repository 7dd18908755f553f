package report

import (
	"context"
	"time"
)

// Options say what to report on.
type Options struct {
	Dir    string // the crawl directory, for its name alone
	Ledger string // the folder of the ledger
	WARC   string // the folder of the archive; it may be missing

	// Host makes the report of one host: its name, or HOST:PORT, or SCHEME://HOST:PORT. Empty means the whole crawl.
	Host string

	// MaxHosts is how many hosts are told apart, the busiest; the others are summed. Zero means 1,000.
	MaxHosts int

	// Duplicates is asked for the pages that say the same; nil leaves them out.
	Duplicates func(ctx context.Context) (Duplicates, error)

	// Graph reads the archive from one end to the other for the links between hosts, and adds what they come to, if more
	// than one host was asked.
	Graph bool

	Software string    // the program that makes the report, name/version
	Now      time.Time // when it is made

	// Settings are those of the crawl that differ from the default. Remarks are further sentences to print beside them.
	Settings []Setting
	Remarks  []string

	// Audit is asked for the result of an audit; nil leaves it out.
	Audit func(ctx context.Context) (Audit, error)
}

// Setting is a setting of the crawl that differs from its default.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
}

// Audit is the result of an audit.
type Audit struct {
	Level      string         `json:"level"`                 // what it reached, in its words
	Clean      bool           `json:"clean"`                 // no violation was found
	Violations int64          `json:"violations"`            //
	Unprovable int64          `json:"unprovable,omitempty"`  // checks that could not be proved either way
	Findings   []AuditFinding `json:"findings,omitempty"`    // by code
	CannotShow []string       `json:"cannot_show,omitempty"` // what the evidence is silent on
	Failed     string         `json:"failed,omitempty"`      // why there is no result
}

// AuditFinding is what an audit found of one kind.
type AuditFinding struct {
	Code      string   `json:"code"`
	Meaning   string   `json:"meaning"`   // what the code stands for, a sentence
	Violation bool     `json:"violation"` // or else it is named only
	Count     int64    `json:"count"`
	Samples   []string `json:"samples,omitempty"`
}

func (o *Options) maxHosts() int {
	if o.MaxHosts > 0 {
		return o.MaxHosts
	}
	return 1000
}
