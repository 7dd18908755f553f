package bolt

import (
	"time"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// refusedAtOnce is how many fingerprints an item holds at most.
const refusedAtOnce = 1 << 12

// urls hands out the URLs, and after them the fingerprints that no record has.
func (e *exporter) urls(tx *bbolt.Tx) error {
	all, err := readFates(tx)
	if err != nil {
		return err
	}
	recorded := &seen{}
	recorded.reserve(len(all.endings))
	err = recordJournal.each(tx, func(seq uint64, body []byte) error {
		b, err := parseBlock(body, e.f.blocks.zip)
		if err != nil {
			return err
		}
		for place := range b.len() {
			id, _ := b.host(place)
			x, err := e.entry(b, makeRef(seq, place), e.f.hosts[id], all.record(seq)[place])
			if err != nil {
				return err
			}
			recorded.add(x.Print)
			if err := e.yield(frontier.Item{URL: x}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.refused(tx, recorded)
}

// entry returns the URL at r with its state. Its reason is taken off the reasons of refused candidates.
func (e *exporter) entry(b *block, r ref, h *host, end ending) (*frontier.Entry, error) {
	c, err := b.entry(r.place(), h.authority)
	if err != nil {
		return nil, err
	}
	x := &frontier.Entry{Candidate: c, Print: e.f.printer.print(c.URL), Outcome: end.outcome()}
	t := e.f.retries[r]
	switch {
	case end != 0:
		if n := end.reason(); n != 0 {
			x.Reason = e.f.totals.reasons[n-1]
		}
		e.closed(x)
	case t == nil:
	case t.dropped:
		x.Outcome, x.Reason = frontier.Dropped, frontier.ReasonOperator
	default:
		x.Reason, x.Attempts, x.Deferred, x.Stops, x.Alone = t.reason, t.attempts, t.deferred(), t.stops, t.alone
		if x.Deferred {
			x.Wait = time.Duration(max(t.due-e.now, 0))
		}
		if t.url != "" {
			if x.Replaced, err = canon.Parse(t.url); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// closed takes a URL that was dropped as a task off the sums of candidates that were refused.
func (e *exporter) closed(x *frontier.Entry) {
	if x.Outcome != frontier.Dropped || x.Reason == "" {
		return
	}
	if e.totals.Reasons[x.Reason]--; e.totals.Reasons[x.Reason] == 0 {
		delete(e.totals.Reasons, x.Reason)
	}
}

// refused hands out the fingerprints of refused candidates: those that are seen and that no record has.
func (e *exporter) refused(tx *bbolt.Tx, recorded *seen) error {
	var ps []frontier.Fingerprint
	flush := func() error {
		if len(ps) == 0 {
			return nil
		}
		defer func() { ps = nil }()
		return e.yield(frontier.Item{Refused: ps})
	}
	err := readSeen(tx, func(p frontier.Fingerprint) error {
		if recorded.has(p) {
			return nil
		}
		if ps = append(ps, p); len(ps) < refusedAtOnce {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}
