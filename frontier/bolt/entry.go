package bolt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/canon"
)

// Entry returns the URL that became a task under the key of u, with its state as Export would have it; ok is false when
// none did. It takes a pass over the heads of all records, and over the texts of those that have some of the host: for
// people who ask about one URL, not for a crawl. It tells what is durable of a running crawl.
func (f *Frontier) Entry(ctx context.Context, u canon.URL) (x frontier.Entry, ok bool, err error) {
	if !f.readOnly {
		if err := f.Sync(ctx); err != nil {
			return x, false, err
		}
	}
	s := entrySearch{f: f, url: u, print: f.printer.Print(u)}
	err = f.scan(ctx, s.meet, func(tx *bbolt.Tx) error { return s.place(ctx, tx) })
	if err != nil || s.at == 0 {
		return x, false, err
	}
	err = f.scan(ctx, s.note, func(tx *bbolt.Tx) (err error) {
		x, err = s.entry(tx)
		return err
	})
	return x, err == nil, err
}

// entrySearch looks for one URL.
type entrySearch struct {
	f     *Frontier
	url   canon.URL
	print frontier.Fingerprint

	known bool
	id    uint32     // of the host
	at    layout.Ref // where the text is; zero when there is none
	text  frontier.Candidate

	now     int64
	closing bool
	retry   retry
	reasons []string
}

// meet notes which host it is, if it is known. The caller holds mu.
func (s *entrySearch) meet(int64) {
	if h := s.f.hosts.byName[s.url.Authority()]; h != nil {
		s.known, s.id = true, h.id
	}
}

// note copies what is in RAM about the URL. The caller holds mu.
func (s *entrySearch) note(now int64) {
	s.now, s.closing = now, s.f.hosts.all[s.id].closing()
	s.reasons = s.f.totals.Reasons // only ever appended to
	if t := s.f.retries.of[s.at]; t != nil {
		s.retry = *t
	}
}

// place looks for the text of the URL.
func (s *entrySearch) place(ctx context.Context, tx *bbolt.Tx) error {
	if !s.known {
		return nil
	}
	var spans []layout.Span
	return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if ctx.Err() != nil {
			return halt{ctx.Err()}
		}
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		if !slices.ContainsFunc(spans, func(x layout.Span) bool { return x.Host == s.id }) {
			return nil
		}
		b, err := layout.ParseBlock(body, s.f.texts.blocks.Zip)
		if err != nil || b.Forgotten() {
			return err
		}
		for place := range b.Len() {
			if id, _ := b.Host(place); id != s.id {
				continue
			}
			c, err := b.Entry(place, s.url.Authority())
			if err != nil {
				return err
			}
			if s.f.printer.Print(c.URL) == s.print {
				s.at, s.text = layout.MakeRef(seq, place), c
				return halt{}
			}
		}
		return nil
	})
}

// entry is the URL with what became of it.
func (s *entrySearch) entry(tx *bbolt.Tx) (x frontier.Entry, err error) {
	x = frontier.Entry{Candidate: s.text, Print: s.print}
	all, err := layout.ReadEndings(tx)
	if err != nil {
		return x, err
	}
	end := all.Of(s.at)
	if end == nil {
		return x, fmt.Errorf("record %d has no entry %d: %w", s.at.Record(), s.at.Place(), frontier.ErrDamaged)
	}
	if *end != 0 {
		x.Outcome = end.Outcome()
		if n := end.Reason(); n != 0 && n <= len(s.reasons) {
			x.Reason = s.reasons[n-1]
		}
		return x, nil
	}
	t := s.retry
	if err := s.stopped(tx, &t); err != nil {
		return x, err
	}
	switch {
	case t.dropped, s.closing:
		x.Outcome, x.Reason = frontier.Dropped, frontier.ReasonOperator
		return x, nil
	case t.condemned():
		x.Outcome, x.Reason = frontier.Failed, frontier.ReasonQuarantined
		return x, nil
	}
	x.Reason, x.Attempts, x.Deferred, x.Stops, x.Alone = t.reason, t.attempts, t.deferred(), t.stops, t.alone
	if x.Deferred {
		x.Wait = time.Duration(max(t.due-s.now, 0))
	}
	if t.url != "" {
		x.Replaced, err = canon.Parse(t.url)
	}
	return x, err
}

// stopped counts an unclean stop that no opening has judged yet.
func (s *entrySearch) stopped(tx *bbolt.Tx, t *retry) error {
	if !s.f.readOnly {
		return nil
	}
	m, _, err := layout.ReadMeta(tx, s.f.clock)
	if err != nil || m.Clean {
		return err
	}
	r, _, err := layout.ReadInFlight(tx)
	if err != nil {
		return err
	}
	if _, yes := slices.BinarySearch(r.Refs, s.at); yes {
		t.stop(r)
	}
	return nil
}
