package bolt

import (
	"slices"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
)

// refusedAtOnce is how many fingerprints an item holds at most.
const refusedAtOnce = 1 << 12

// urls hands out the URLs, and after them the fingerprints that no record has.
func (e *exporter) urls(tx *bbolt.Tx) error {
	all, err := layout.ReadEndings(tx)
	if err != nil {
		return err
	}
	recorded := &dbfile.Set{}
	recorded.Reserve(len(all.All))
	err = layout.RecordJournal.Each(tx, func(seq uint64, body []byte) error {
		b, err := layout.ParseBlock(body, e.f.texts.blocks.Zip)
		if err != nil {
			return err
		}
		if b.Forgotten() {
			e.forgotten(b)
			return nil
		}
		for place := range b.Len() {
			id, _ := b.Host(place)
			x, err := e.entry(b, layout.MakeRef(seq, place), e.f.hosts.all[id], all.Record(seq)[place])
			if err != nil {
				return err
			}
			recorded.Add(x.Print)
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

// ReasonForgotten is the reason in an export of URLs of which Compact had dropped the text.
const ReasonForgotten = "forgotten by compact"

// forgotten counts the URLs of a record without texts as refused: what is left of both is their fingerprints.
func (e *exporter) forgotten(b *layout.Block) {
	for _, s := range b.Spans {
		e.totals.Refused[e.f.hosts.all[s.Host].authority] += int64(s.N)
		e.totals.Reasons[ReasonForgotten] += int64(s.N)
	}
}

// entry returns the URL at r with its state. Its reason is taken off the reasons of refused candidates.
func (e *exporter) entry(b *layout.Block, r layout.Ref, h *host, end layout.Ending) (*frontier.Entry, error) {
	c, err := b.Entry(r.Place(), h.authority)
	if err != nil {
		return nil, err
	}
	x := &frontier.Entry{Candidate: c, Print: e.f.printer.Print(c.URL), Outcome: end.Outcome()}
	if end != 0 {
		if n := end.Reason(); n != 0 {
			x.Reason = e.f.totals.Reasons[n-1]
		}
		e.closed(x)
		return x, nil
	}
	t := retry{}
	if stored := e.f.retries.of[r]; stored != nil {
		t = *stored
	}
	if _, yes := slices.BinarySearch(e.inFlight.Refs, r); yes && !e.stored {
		t.stop(e.inFlight)
	}
	if !e.stored && t.judge(x, h.closing()) {
		return x, nil
	}
	return x, t.describe(x, e.now)
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
func (e *exporter) refused(tx *bbolt.Tx, recorded *dbfile.Set) error {
	var ps []frontier.Fingerprint
	flush := func() error {
		if len(ps) == 0 {
			return nil
		}
		defer func() { ps = nil }()
		return e.yield(frontier.Item{Refused: ps})
	}
	err := layout.ReadPrints(tx, func(p frontier.Fingerprint) error {
		if recorded.Has(p) {
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
