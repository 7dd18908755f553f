package changes

import (
	"context"
	"errors"
	"strings"
	"time"

	"curtsy/crawler/export"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// told is what the ledger says of a URL in one line, as it is sorted.
type told struct {
	Generation int64           `json:"g"`
	Time       time.Time       `json:"t"`
	Outcome    storage.Outcome `json:"o"`
	Change     storage.Change  `json:"c,omitempty"`
	Status     int             `json:"s,omitempty"`
	Type       string          `json:"m,omitempty"`
	Payload    string          `json:"p,omitempty"`
	Record     string          `json:"r,omitempty"`
	Truncated  string          `json:"u,omitempty"`
	Why        string          `json:"w,omitempty"`
}

// sortMemory is how many bytes of lines are sorted in memory at once.
const sortMemory = 16 << 20

// A reading of a ledger: its lines by URL, and its generations.
type ledgerReading struct {
	lines       *sorted.Rows[told]
	generations map[int64]*Generation
	latest      int64
	bad         int64
}

// maxGenerations is how many generations are told apart: more than anybody makes.
const maxGenerations = 1 << 20

func readLedger(ctx context.Context, temp string, c *export.Crawl) (r *ledgerReading, err error) {
	r = &ledgerReading{lines: sorted.NewRows[told](temp, sortMemory), generations: map[int64]*Generation{}}
	last := int64(1)
	err = c.Decisions(ctx, func(l *storage.Line, generation int64) error {
		if generation <= 0 || generation > maxGenerations {
			generation = last // it does not say: it is that of the lines before
		}
		last = generation
		g := r.generations[generation]
		if g == nil {
			g = &Generation{Number: generation, Began: l.Time}
			r.generations[generation] = g
		}
		g.Ended = l.Time
		r.latest = max(r.latest, generation)
		return r.add(l, generation)
	})
	if err != nil {
		return nil, errors.Join(err, r.lines.Close())
	}
	return r, nil
}

// add adds a line that says what became of a URL. Refusals that never became a task have no outcome.
func (r *ledgerReading) add(l *storage.Line, generation int64) error {
	if l.Outcome == "" || l.Outcome == storage.OutcomeDeferred || l.Count > 0 ||
		l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner || l.Kind == storage.KindMap {
		return nil
	}
	if strings.ContainsFunc(l.URL, func(c rune) bool { return c <= ' ' }) {
		r.bad++ // no URL of ours
		return nil
	}
	if _, err := canon.Parse(l.URL); err != nil {
		r.bad++
		return nil //nolint:nilerr // it is counted
	}
	return r.lines.Add(l.URL, told{
		Generation: generation, Time: l.Time, Outcome: l.Outcome, Change: l.Change, Status: l.Status, Type: l.Type,
		Payload: l.Payload, Record: l.Record, Truncated: l.Truncated, Why: why(l),
	})
}

// telling reports whether an outcome says what is there.
func telling(o storage.Outcome) bool {
	return o == storage.OutcomeFetched || o == storage.OutcomeRedirected || o == storage.OutcomeGone
}

// why says why nothing is known of what is there.
func why(l *storage.Line) string {
	if telling(l.Outcome) {
		return ""
	}
	if l.Reason == "" {
		return string(l.Decision)
	}
	return l.Reason
}

// state is what the crawl has of a URL at the end of a generation.
type state struct {
	told
	there bool // something was fetched, or it redirects
}

// take takes in a line. What an answer confirms stays as it is, by the record that has its body.
func (s *state) take(t *told) {
	if s.there && (t.Change == storage.ChangeUnchanged || t.Change == storage.ChangeFresh) {
		s.Generation = t.Generation
		return
	}
	*s = state{told: *t, there: t.Outcome != storage.OutcomeGone}
}

// page reports whether it is a page or a text, as far as the server says.
func (s *state) page() bool {
	t := mediatype.Parse(s.Type)
	return s.Outcome == storage.OutcomeFetched && (t.Name == "" || t.IsHTML() || t.IsXHTML() || t.Name == "text/plain")
}

func (s *state) answer() *Answer {
	return &Answer{Time: s.Time, Status: s.Status, Type: s.Type, Record: s.Record}
}

// A history is what the ledger says of a URL, up to a generation and up to another.
type history struct {
	url        string
	was, is    state
	had        bool  // was says something
	met        int64 // the last generation up to the first that has a line of it
	asked, now bool  // the later ones have a line of it; one that tells
	lost       told  // the last one that tells nothing
}

func (h *history) take(t *told, from, to int64) {
	switch {
	case t.Generation > to:
	case t.Generation <= from:
		h.met = t.Generation
		if telling(t.Outcome) {
			h.had = true
			h.was.take(t)
			h.is = h.was
		}
	default:
		h.asked = true
		if telling(t.Outcome) {
			h.now = true
			h.is.take(t)
		} else {
			h.lost = *t
		}
	}
}
