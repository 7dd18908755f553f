// Package cbcp checks a crawl against each clause of the Internet-Draft "Crawler best practices".
//
// # The text
//
// The clauses are those of draft-illyes-webbotauth-cbcp-00 (21 April 2026) and of the editors' copy of 5 October 2026,
// which lowers nearly every MUST to SHOULD. The draft was named draft-illyes-aipref-cbcp before. Version -01 (October
// 2026) came too late to be read for the table. A clause has the level of either text; the higher one counts.
//
// # How it judges
//
// A Judge is a witness of package audit: it sees each exchange, and believes the audit about robots.txt, pauses and
// requests, whose findings it sorts by clause. Caching, X-Robots-Tag and credentials as the draft means them it judges by
// the heads of the exchanges. Each clause has one check, a pure function of these facts.
//
// A clause is kept only where something shows it. An archive without an exchange, or without an answer that asks for
// anything, proves nothing: the clause is not provable, and the evidence says why. A number that the draft
// lacks, such as how often is too often, stands in docs/reference/cbcp.md with its reason.
//
// Memory grows with hosts, and with URLs up to a bound that the evidence names when it is reached.
package cbcp

import (
	"slices"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// Draft names the document.
const Draft = "draft-illyes-webbotauth-cbcp"

// Texts are the versions of it that the clauses are taken from.
const Texts = "-00 (21 April 2026) and the editors' copy of 5 October 2026; -01 was not available"

// Level is how strongly a clause asks.
type Level string

// The levels, from the lowest. A text that asks without the capitals of BCP 14 asks.
const (
	Absent Level = ""
	Asks   Level = "asks"
	Should Level = "SHOULD"
	Must   Level = "MUST"
)

// State says how a crawl stands to a clause.
type State string

// The states.
const (
	Kept        State = "kept"
	Broken      State = "broken"
	NotProvable State = "not provable"
)

// Clause is one thing that the draft asks for.
type Clause struct {
	ID      string `json:"id"`      // stable: scripts may rely on it
	Section string `json:"section"` // of the draft
	First   Level  `json:"level_00"`
	Copy    Level  `json:"level_copy"` // in the editors' copy
	Asks    string `json:"asks"`       // in words of our own

	How   string `json:"-"` // it is checked, as docs/reference/cbcp.md says
	check check
}

// Level is the higher one of both texts.
func (c Clause) Level() Level {
	for _, l := range []Level{Must, Should} {
		if c.First == l || c.Copy == l {
			return l
		}
	}
	return Asks
}

// check judges one clause by the facts and by the audit.
type check func(f *facts, r *audit.Result) finds

// Result says of each clause how the crawl stands to it.
type Result struct {
	Draft   string   `json:"draft"`
	Texts   string   `json:"texts"`
	Kept    int      `json:"kept"`
	Broken  int      `json:"broken"`
	Musts   int      `json:"broken_musts"` // of those broken
	Unknown int      `json:"not_provable"`
	Clauses []Judged `json:"clauses"`
}

// Judged is a clause and how the crawl stands to it.
type Judged struct {
	Clause

	Level    Level     `json:"level"`
	State    State     `json:"state"`
	Evidence string    `json:"evidence"`
	Examples []Example `json:"examples,omitempty"` // of what broke it, a few
}

// Example is a place that shows that a clause is broken. Its texts come from the archive: escape them where they are
// shown.
type Example struct {
	finding.Place

	URL      string    `json:"url,omitempty"`
	Time     time.Time `json:"time,omitzero"`
	Observed string    `json:"observed"`
}

// maxExamples is how many places a clause shows.
const maxExamples = 5

// Conclude judges the clauses, when the audit is done. names are by what names to show files, those that keep their own
// left out.
func (j *Judge) Conclude(r *audit.Result, names map[string]string) *Result {
	out := &Result{Draft: Draft, Texts: Texts}
	for _, c := range clauses {
		f := c.check(&j.facts, r)
		f.examples = slices.Clone(f.examples) // facts may show them twice
		for i := range f.examples {
			e := &f.examples[i]
			e.URL, e.Observed = finding.Short(e.URL), finding.Short(e.Observed)
			if name, ok := names[e.File]; ok {
				e.File = name
			}
		}
		switch f.state {
		case Kept:
			out.Kept++
		case Broken:
			if out.Broken++; c.Level() == Must {
				out.Musts++
			}
		default:
			out.Unknown++
		}
		out.Clauses = append(out.Clauses, Judged{c, c.Level(), f.state, finding.Short(f.evidence), f.examples})
	}
	return out
}
