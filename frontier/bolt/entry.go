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
	return s.f.eachText(ctx, tx, s.id, s.url.Authority(), func(r layout.Ref, c frontier.Candidate) error {
		if s.f.printer.Print(c.URL) != s.print {
			return nil
		}
		s.at, s.text = r, c
		return halt{}
	})
}

// eachText calls see for the URLs of the host with that id, pending or closed, in the order of acceptance: one pass over
// the heads of the records, and over the texts of those that have some of the host. URLs that Compact has dropped the
// texts of are passed over: they are closed.
func (f *Frontier) eachText(ctx context.Context, tx *bbolt.Tx, host uint32, at canon.Authority, see func(layout.Ref, frontier.Candidate) error) error {
	var spans []layout.Span
	return layout.RecordJournal.Each(tx, func(seq uint64, body []byte) (err error) {
		if ctx.Err() != nil {
			return halt{ctx.Err()}
		}
		if spans, _, err = layout.ParseHead(body, spans[:0]); err != nil {
			return err
		}
		if !slices.ContainsFunc(spans, func(x layout.Span) bool { return x.Host == host }) {
			return nil
		}
		b, err := layout.ParseBlock(body, f.texts.blocks.Zip)
		if err != nil || b.Forgotten() {
			return err
		}
		for place := range b.Len() {
			if id, _ := b.Host(place); id != host {
				continue
			}
			c, err := b.Entry(place, at)
			if err == nil {
				err = see(layout.MakeRef(seq, place), c)
			}
			if err != nil {
				return err
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
	if t.judge(&x, s.closing) {
		return x, nil
	}
	return x, t.describe(&x, s.now)
}

// judge closes a URL that the next opening would close, and reports whether it does; closing says that its host is dropped.
func (t *retry) judge(x *frontier.Entry, closing bool) bool {
	switch {
	case t.Dropped, closing:
		x.Outcome, x.Reason = frontier.Dropped, frontier.ReasonOperator
	case t.condemned():
		x.Outcome, x.Reason = frontier.Failed, frontier.ReasonQuarantined
	default:
		return false
	}
	return true
}

// describe fills in what is known of a pending URL.
func (t *retry) describe(x *frontier.Entry, now int64) (err error) {
	x.Reason, x.Attempts, x.Deferred, x.Stops, x.Alone = t.Reason, t.Attempts, t.deferred(), t.Stops, t.Alone
	if x.Deferred {
		x.Wait = time.Duration(max(t.Due-now, 0))
	}
	if t.URL != "" {
		x.Replaced, err = canon.Parse(t.URL)
	}
	return err
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
