package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
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
	kind      storage.Kind
	isHTML    bool // a page, as budgets count them
	holds     time.Duration
	modified  time.Time // lastmod of a sitemap
	frequency string    // changefreq likewise
	payload   string
}

// closed are the outcomes after which a page is asked for again; what was dropped or is held is the operator's.
var closed = map[storage.Outcome]bool{
	storage.OutcomeFetched: true, storage.OutcomeRedirected: true, storage.OutcomeGone: true,
	storage.OutcomeFailed: true, storage.OutcomeDisallowed: true, storage.OutcomeDropped: true, storage.OutcomeHeld: true,
}

// The kinds of sorted lines: in this order for each URL.
const (
	sortedVisit = "1"
	sortedHint  = "2"
)

// addVisit adds a line of the ledger to be sorted, if it closed a URL. n is its place.
func addVisit(to *sorted.Sorter, l *storage.Line, n int64) error {
	if !closed[l.Outcome] || l.Count > 0 {
		return nil
	}
	u, err := canon.Parse(l.URL)
	if err != nil || strings.ContainsAny(l.URL, "\t\n") {
		return nil // no crawl of ours can have it
	}
	modified := int64(0)
	if !l.Modified.IsZero() {
		modified = l.Modified.Unix()
	}
	return to.Add(fmt.Appendf(nil, "%s\t%s\t%s\t%016x\t%d\t%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\n",
		u.Authority().Origin(), l.URL, sortedVisit, n, l.Time.UnixMicro(), l.Outcome, l.Change, l.Kind, l.Status, l.Type,
		modified, int64(l.Holds/time.Second), l.Payload))
}

// addHint adds what a sitemap says of a URL.
func addHint(to *sorted.Sorter, u canon.URL, modified time.Time, frequency string) error {
	at := int64(0)
	if !modified.IsZero() {
		at = modified.Unix()
	}
	return to.Add(fmt.Appendf(nil, "%s\t%s\t%s\t%d\t%s\n", u.Authority().Origin(), u, sortedHint, at, frequency))
}

// pagesOf yields the pages of sorted lines, those of a host one after the other.
func pagesOf(ctx context.Context, from *sorted.Sorter) iter.Seq2[*page, error] {
	return func(yield func(*page, error) bool) {
		var p *page
		for line, err := range from.All() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			f := strings.Split(string(bytes.TrimSuffix(line, []byte("\n"))), "\t")
			if len(f) < 5 {
				yield(nil, errors.New("watch: a sorted line is cut short"))
				return
			}
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
			if err := p.take(f[2:]); err != nil {
				yield(nil, err)
				return
			}
		}
		if p != nil && !p.tried.IsZero() {
			yield(p, nil)
		}
	}
}

func (p *page) take(f []string) error {
	if f[0] == sortedHint {
		at, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return fmt.Errorf("watch: a sorted hint: %w", err)
		}
		if p.frequency = f[2]; at != 0 {
			p.modified = time.Unix(at, 0)
			p.history.Listed(p.modified)
		}
		return nil
	}
	if len(f) != 11 {
		return fmt.Errorf("watch: a sorted line has %d fields", len(f))
	}
	var n [4]int64
	for i, s := range []string{f[2], f[6], f[8], f[9]} {
		var err error
		if n[i], err = strconv.ParseInt(s, 10, 64); err != nil {
			return fmt.Errorf("watch: a sorted line: %w", err)
		}
	}
	v := visit{
		at: time.UnixMicro(n[0]), outcome: storage.Outcome(f[3]), change: storage.Change(f[4]), kind: storage.Kind(f[5]),
		status: n[1], html: mediatype.Type{Name: f[7]}.IsHTML(), holds: time.Duration(n[3]) * time.Second, payload: f[10],
	}
	if n[2] != 0 {
		v.modified = time.Unix(n[2], 0)
	}
	p.add(v)
	return nil
}

// visit is one line of the ledger.
type visit struct {
	at       time.Time
	outcome  storage.Outcome
	change   storage.Change
	kind     storage.Kind
	status   int64
	html     bool
	modified time.Time
	holds    time.Duration
	payload  string
}

// add adds a visit to a page.
func (p *page) add(v visit) {
	p.tried, p.outcome, p.kind = v.at, v.outcome, v.kind
	switch v.outcome {
	case storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeGone:
	default:
		return // nothing was learned of the page
	}
	if v.change == storage.ChangeFresh {
		return // nobody was asked
	}
	confirmed := v.status == 304
	if !confirmed {
		p.isHTML, p.holds = v.outcome == storage.OutcomeFetched && v.html, 0
	}
	if v.holds > 0 {
		p.holds = v.holds
	}
	changed := v.change == storage.ChangeChanged || v.change == storage.ChangeNew || v.change == storage.ChangeGone
	if v.change == "" { // both in the first generation, as after a retry, or gone now as before
		changed = p.told != v.outcome || v.outcome == storage.OutcomeFetched && p.payload != v.payload
	}
	p.told = v.outcome
	if !confirmed {
		p.payload = v.payload
	}
	p.history.Visit(v.at, changed, v.modified)
}
