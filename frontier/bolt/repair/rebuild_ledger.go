package repair

import (
	"errors"
	"io"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// fromLedger lets the ledger mend what was lost, and then completes the seen-set. When texts were lost, the ledger
// tells which of their URLs have ended; fingerprints of which it knows nothing are let go, so that a pending URL whose
// text was lost is accepted when it is found again.
func (r *rebuilding) fromLedger() error {
	for r.ledger != nil {
		line, err := r.ledger()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = r.ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := r.line(line); err != nil {
			return err
		}
	}
	if r.relearn {
		r.salvage.LetGo = max(int64(r.seen.Len()-r.into.seen.Len()), 0)
		return nil
	}
	for p := range r.seen.All() {
		if _, err := r.into.mark(p); err != nil {
			return err
		}
	}
	return nil
}

// line takes a line of the ledger.
func (r *rebuilding) line(x Ended) error {
	if x.URL.IsZero() || x.Outcome == 0 || int(x.Outcome) >= len(frontier.Outcomes{}) || r.salvage.Whole() {
		r.salvage.LedgerUnneeded++
		return nil
	}
	a := r.into
	p := a.print.Print(x.URL)
	n, known := r.known[p]
	switch {
	case known && !r.reopen[n]:
		e := a.ending(n)
		if *e != 0 {
			r.salvage.LedgerUnneeded++
			return nil
		}
		*e = layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason))
		r.salvage.LedgerClosed++
		return nil
	case known, !r.relearn && r.seen.Len() > 0 && r.seen.Has(p):
		r.salvage.LedgerUnneeded++
		return nil
	case x.Outcome == frontier.Dropped:
		_, err := a.mark(p) // a refused candidate, it seems; if it was a task, it is none any more
		return err
	}
	h := a.byName[x.URL.Authority()]
	if h == nil {
		var err error
		if h, err = a.host(x.URL.Authority()); err != nil {
			return err
		}
	}
	r.salvage.LedgerAdded++
	c := frontier.Candidate{URL: x.URL, Kind: frontier.KindLink}
	return r.accept(h, c, layout.MakeEnding(x.Outcome, a.totals.Number(x.Reason)), false, nil)
}
