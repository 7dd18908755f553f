package cbcp

import (
	"context"
	"slices"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

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

// Conclude judges the clauses, when the audit is done. It reads the heads of the files' messages. names are by what names
// to show files, those that keep their own left out.
func (j *Judge) Conclude(ctx context.Context, r *audit.Result, names map[string]string) (*Result, error) {
	if err := j.facts.readHeads(ctx, j.files); err != nil {
		return nil, err
	}
	out := &Result{Draft: Draft, Texts: Texts}
	for _, c := range Clauses() {
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
	return out, nil
}
