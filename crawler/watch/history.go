package watch

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"curtsy/crawler/freshness"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// page is a URL with all that the ledger and sitemaps say of it.
type page struct {
	url       string
	authority canon.Authority
	history   freshness.History
	tried     time.Time       // the last line that closed it
	outcome   storage.Outcome // of that line
	told      storage.Outcome // of the last line that said what is there
	isHTML    bool            // a page, as budgets count them
	holds     time.Duration
	modified  time.Time // lastmod of a sitemap
	frequency string    // changefreq likewise
	payload   string
}

// The kinds of sorted lines: in this order for each URL.
const (
	sortedVisit = "1"
	sortedHint  = "2"
)

// closed are the outcomes after which a page is asked for again; what was dropped or is held is the operator's.
var closed = map[storage.Outcome]bool{
	storage.OutcomeFetched: true, storage.OutcomeRedirected: true, storage.OutcomeGone: true,
	storage.OutcomeFailed: true, storage.OutcomeDisallowed: true, storage.OutcomeDropped: true, storage.OutcomeHeld: true,
}

// addVisit adds a line of the ledger to be sorted, if it closed a URL.
func addVisit(to *sorted.Rows[visit], l *storage.Line) error {
	if !closed[l.Outcome] || l.Count > 0 {
		return nil
	}
	u, err := canon.Parse(l.URL)
	if err != nil || strings.ContainsAny(l.URL, "\t\n\x00") {
		return nil // no crawl of ours can have it
	}
	return to.Add(strings.Join([]string{u.Authority().Origin(), l.URL, sortedVisit}, "\t"), visit{
		At: l.Time, Outcome: l.Outcome, Change: l.Change, Status: l.Status,
		HTML: mediatype.Type{Name: l.Type}.IsHTML(), Modified: l.Modified, Holds: l.Holds.Truncate(time.Second), Payload: l.Payload,
	})
}

// addHint adds what a sitemap says of a URL. The later modification comes last.
func addHint(to *sorted.Rows[visit], u canon.URL, modified time.Time, frequency string) error {
	if y := modified.Year(); y < 0 || y > 9999 { // JSON has no such time, and a sitemap can have any
		modified = time.Time{}
	}
	key := fmt.Sprintf("%s\t%s\t%s%011d", u.Authority().Origin(), u, sortedHint, max(modified.Unix(), 0))
	return to.Add(key, visit{Modified: modified, Frequency: frequency})
}

// pagesOf yields the pages of sorted rows, those of a host one after the other.
func pagesOf(ctx context.Context, from *sorted.Rows[visit]) iter.Seq2[*page, error] {
	return func(yield func(*page, error) bool) {
		var p *page
		for row, err := range from.All() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			f := strings.Split(row.Key, "\t")
			if p == nil || p.url != f[1] {
				if p != nil && !p.tried.IsZero() && !yield(p, nil) {
					return
				}
				u, err := canon.Parse(f[1])
				if err != nil {
					yield(nil, fmt.Errorf("watch: %w", err))
					return
				}
				p = &page{url: f[1], authority: u.Authority()}
			}
			if f[2] == sortedVisit {
				p.add(row.Value)
				continue
			}
			if p.frequency = row.Value.Frequency; !row.Value.Modified.IsZero() {
				p.modified = row.Value.Modified
				p.history.Listed(p.modified)
			}
		}
		if p != nil && !p.tried.IsZero() {
			yield(p, nil)
		}
	}
}

// visit is one line of the ledger.
type visit struct {
	At       time.Time
	Outcome  storage.Outcome
	Change   storage.Change `json:",omitempty"`
	Status   int            `json:",omitempty"`
	HTML     bool           `json:",omitempty"`
	Modified time.Time      `json:",omitzero"`
	Holds    time.Duration  `json:",omitempty"`
	Payload  string         `json:",omitempty"`

	Frequency string `json:",omitempty"` // of a hint
}

// add adds a visit to a page.
func (p *page) add(v visit) {
	p.tried, p.outcome = v.At.Local(), v.Outcome
	switch v.Outcome {
	case storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeGone:
	default:
		return // nothing was learned of the page
	}
	if v.Change == storage.ChangeFresh {
		return // nobody was asked
	}
	confirmed := v.Status == 304
	if !confirmed {
		p.isHTML, p.holds = v.Outcome == storage.OutcomeFetched && v.HTML, 0
	}
	if v.Holds > 0 {
		p.holds = v.Holds
	}
	changed := v.Change == storage.ChangeChanged || v.Change == storage.ChangeNew || v.Change == storage.ChangeGone
	if v.Change == "" { // both in the first generation, as after a retry, or gone now as before
		changed = p.told != v.Outcome || v.Outcome == storage.OutcomeFetched && p.payload != v.Payload
	}
	p.told = v.Outcome
	if !confirmed {
		p.payload = v.Payload
	}
	p.history.Visit(v.At, changed, v.Modified)
}
