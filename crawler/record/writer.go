package record

import (
	"context"
	"fmt"
	"io"

	"curtsy/frontier"
	"curtsy/storage"
)

// Writer writes decisions into archive and ledger. Its methods may be called concurrently.
type Writer struct {
	// Rests is called with each line that states a rest, once archive and ledger have it. Nil is not called.
	Rests func(ctx context.Context, l storage.Line)

	archive storage.Recorder
	ledger  storage.Ledger
	dates   *Dates
	limiter *limiter
	flusher flusher
	cpu     CPU
}

// New returns a writer into both.
func New(archive storage.Recorder, ledger storage.Ledger, dates *Dates) *Writer {
	return &Writer{
		archive: archive, ledger: ledger, dates: dates, limiter: newLimiter(maxKinds),
		flusher: newFlusher(), cpu: NewCPU(),
	}
}

// record archives an exchange, with the line of its decision.
func (w *Writer) record(ctx context.Context, l storage.Line, e Evidence) (storage.Receipt, error) {
	ex := e.Exchange
	if err := w.cpu.Acquire(ctx); err != nil {
		return storage.Receipt{}, fmt.Errorf("crawler: archive %s: %w", ex.URL, err)
	}
	defer w.cpu.Release()
	r := storage.Record{
		URL: ex.URL.String(), Time: l.Began, Addr: ex.Addr, Request: ex.Request, Response: ex.Response, HeadSize: ex.HeadSize,
		PayloadDigest: ex.PayloadDigest, PayloadSize: ex.PayloadSize, HasPayload: e.hasPayload(), Protocols: ex.Protocols,
		Truncated: l.Truncated, Repeatable: e.repeatable(), NotModified: e.Confirmed, Line: &l, Outlinks: e.Outlinks,
	}
	if e.cutsBody() {
		r.Response, r.HeadOnly = io.NewSectionReader(ex.Response, 0, ex.HeadSize), true
	}
	return w.archive.Record(ctx, r)
}

// Write writes a decision down: in the archive, as the metadata of its exchange or, where nobody was asked, for itself;
// then in the ledger. It returns the id of the record.
func (w *Writer) Write(ctx context.Context, l storage.Line, e Evidence) (id string, err error) {
	l.Time = w.dates.Of(l.Time)
	switch {
	case e.made():
		l.Began, l.Ahead = w.dates.WithAhead(l.Began)
		kept, err := w.record(ctx, l, e)
		if err != nil {
			return "", err
		}
		l.Record, l.Blocks, l.Heads = kept.ID, kept.Blocks, kept.Heads
	case l.Decision == storage.DecisionRefuse || l.Decision == storage.DecisionHold:
		return "", w.refuseAll(ctx, w.limiter.Add(l))
	case l.Attempt == 0:
		return "", w.refuse(ctx, l)
	}
	if err = w.ledger.Append(ctx, l); err != nil || l.Rest == 0 {
		return l.Record, err
	}
	if w.Rests != nil {
		w.Rests(ctx, l)
	}
	// The run that follows on a kill is to know of it (Pages), and the frontier's commit, which would make it durable, is
	// a while away. The ledger alone is what that run reads, so its sync is enough: that no Done is without its record is
	// held by the Barrier before the commit. Where the computer itself fails in between, the line may outlive its record;
	// that is a line of the last moments without one, which the audit names as in flight (docs/reference/audit-findings.md).
	return l.Record, w.ledger.Sync(ctx)
}

// refuse writes down that a URL is not asked for.
func (w *Writer) refuse(ctx context.Context, l storage.Line) error {
	if err := w.archive.Refuse(ctx, l); err != nil {
		return err
	}
	w.flusher.Note()
	return w.ledger.Append(ctx, l)
}

// refuseAll writes the lines that the limiter let through. It has forgotten its counts, so that these are written
// though ctx be over.
func (w *Writer) refuseAll(ctx context.Context, all []storage.Line) error {
	for _, l := range all {
		within := ctx
		if l.Count > 0 {
			within = context.WithoutCancel(ctx)
		}
		if err := w.refuse(within, l); err != nil {
			return err
		}
	}
	return nil
}

// Flush writes the counting lines of the run's end, and makes them durable.
func (w *Writer) Flush(ctx context.Context) error {
	rest := w.limiter.Rest()
	if len(rest) == 0 {
		return nil
	}
	if err := w.refuseAll(ctx, rest); err != nil {
		return err
	}
	return Barrier(w.archive, w.ledger)(ctx)
}

// SyncIdle has the archive write its refusals while nothing else does, until the run is over.
func (w *Writer) SyncIdle(ctx context.Context, over <-chan struct{}) error {
	return w.flusher.Run(over, func() error { return w.archive.Sync(ctx) })
}

// Barred writes down which of the candidates of an Add were refused because an operator has dropped their host.
func (w *Writer) Barred(ctx context.Context, cs []frontier.Candidate, added frontier.Added) error {
	err := Barred(ctx, w.archive, w.ledger, cs, added)
	w.flusher.Note()
	return err
}
