package bolt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Entry returns the URL that became a task under the key of u, with its state as Export would have it; ok is false when
// none did. It takes a pass over the heads of all records, and over the texts of those that have some of the host: for
// people who ask about one URL, not for a crawl. Of a running crawl it tells what is durable.
func (f *Frontier) Entry(ctx context.Context, u canon.URL) (x frontier.Entry, ok bool, err error) {
	if !f.readOnly {
		if err := f.Sync(ctx); err != nil {
			return x, false, err
		}
	}
	s := entrySearch{f: f, url: u, print: f.printer.print(u)}
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
	id    uint32 // of the host
	at    ref    // where the text is; zero when there is none
	text  frontier.Candidate

	now     int64
	closing bool
	retry   retry
	reasons []string
}

// meet notes which host it is, if it is known. The caller holds mu.
func (s *entrySearch) meet(int64) {
	if h := s.f.byName[s.url.Authority()]; h != nil {
		s.known, s.id = true, h.id
	}
}

// note copies what is in RAM about the URL. The caller holds mu.
func (s *entrySearch) note(now int64) {
	s.now, s.closing = now, s.f.hosts[s.id].closing()
	s.reasons = s.f.totals.reasons // only ever appended to
	if t := s.f.retries[s.at]; t != nil {
		s.retry = *t
	}
}

// place looks for the text of the URL.
func (s *entrySearch) place(ctx context.Context, tx *bbolt.Tx) error {
	if !s.known {
		return nil
	}
	var spans []span
	return recordJournal.each(tx, func(seq uint64, body []byte) (err error) {
		if ctx.Err() != nil {
			return halt{ctx.Err()}
		}
		if spans, _, err = parseHead(body, spans[:0]); err != nil {
			return err
		}
		if !slices.ContainsFunc(spans, func(x span) bool { return x.host == s.id }) {
			return nil
		}
		b, err := parseBlock(body, s.f.blocks.zip)
		if err != nil || b.forgotten() {
			return err
		}
		for place := range b.len() {
			if id, _ := b.host(place); id != s.id {
				continue
			}
			c, err := b.entry(place, s.url.Authority())
			if err != nil {
				return err
			}
			if s.f.printer.print(c.URL) == s.print {
				s.at, s.text = makeRef(seq, place), c
				return halt{}
			}
		}
		return nil
	})
}

// entry is the URL with what became of it.
func (s *entrySearch) entry(tx *bbolt.Tx) (x frontier.Entry, err error) {
	x = frontier.Entry{Candidate: s.text, Print: s.print}
	all, err := readFates(tx)
	if err != nil {
		return x, err
	}
	end := all.of(s.at)
	if end == nil {
		return x, fmt.Errorf("record %d has no entry %d: %w", s.at.record(), s.at.place(), frontier.ErrDamaged)
	}
	if *end != 0 {
		x.Outcome = end.outcome()
		if n := end.reason(); n != 0 && n <= len(s.reasons) {
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
	m, _, err := readMeta(tx, s.f.clock)
	if err != nil || m.clean {
		return err
	}
	r, _, err := readFlight(tx)
	if err != nil {
		return err
	}
	if _, yes := slices.BinarySearch(r.refs, s.at); yes {
		t.stop(r)
	}
	return nil
}
