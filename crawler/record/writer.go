package record

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// Writer writes decisions into archive and ledger. Its methods may be called concurrently.
type Writer struct {
	// Rests, if not nil, is called with each line with a back-off, after archive and ledger have it.
	Rests func(ctx context.Context, l storage.Line)

	archive storage.Recorder
	ledger  storage.Ledger
	dates   *Dates
	limiter *limiter
	flusher flusher
	cpu     CPU
}

func New(archive storage.Recorder, ledger storage.Ledger, dates *Dates) *Writer {
	return &Writer{
		archive: archive, ledger: ledger, dates: dates, limiter: newLimiter(maxKinds),
		flusher: make(flusher, 1), cpu: NewCPU(),
	}
}

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

// Write writes a decision into the archive, with its exchange if there is one, then into the ledger. It returns the id of the
// record.
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
	// The run after a kill reads the ledger, so its sync makes the back-off durable before the frontier's commit. Barrier ensures
	// that no Done lacks its record. If the computer fails in between, a last line may lack its record, which the audit reports
	// as in flight (docs/reference/audit-findings.md).
	return l.Record, w.ledger.Sync(ctx)
}

func (w *Writer) refuse(ctx context.Context, l storage.Line) error {
	if err := w.archive.Refuse(ctx, l); err != nil {
		return err
	}
	w.flusher.Note()
	return w.ledger.Append(ctx, l)
}

// refuseAll writes lines of the limiter. Counting lines are written even if ctx is over, since the limiter has forgotten them.
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

// SyncIdle syncs refusals in the archive until the run is over.
func (w *Writer) SyncIdle(ctx context.Context, over <-chan struct{}) error {
	return w.flusher.Run(over, func() error { return w.archive.Sync(ctx) })
}

// Barred is the function Barred, for a run.
func (w *Writer) Barred(ctx context.Context, cs []frontier.Candidate, added frontier.Added) error {
	err := Barred(ctx, w.archive, w.ledger, cs, added)
	w.flusher.Note()
	return err
}

// Evidence is archived with a decision. The zero value has no exchange.
type Evidence struct {
	Exchange  *fetch.Exchange
	Outlinks  []storage.Outlink
	HeadOnly  bool              // leave out the body, but keep its digest (politeness rule 19)
	Page      bool              // a page, which may be archived as a repeat
	Confirmed *storage.Original // the response that a 304 confirms
}

// made reports whether a request was sent.
func (e Evidence) made() bool { return e.Exchange != nil && len(e.Exchange.Request) > 0 }

// Describe adds the exchange to a line.
func (e Evidence) Describe(l *storage.Line) {
	ex := e.Exchange
	if ex == nil {
		return
	}
	if e.made() {
		l.Began, l.Took = ex.Start, ex.End.Sub(ex.Start)
	}
	l.Interim = ex.Interim
	l.FirstByte, l.Addr, l.Status, l.Type = ex.ResponseTime, ex.Addr, ex.Status, mediatype.Of(ex.Header).Name
	l.Proxy = ex.Proxy
	if ex.Response != nil {
		l.Octets = ex.Response.Size()
	}
	if e.hasPayload() {
		l.Payload = hex.EncodeToString(ex.PayloadDigest[:])
	}
	l.Truncated = ex.Truncated
	if e.cutsBody() {
		l.Truncated = fetch.CutOther
	}
}

// hasPayload reports whether the digest is valid: there is a head, and not a 304 for another response.
func (e Evidence) hasPayload() bool { return e.Exchange.Status != 0 && e.Confirmed == nil }

func (e Evidence) cutsBody() bool {
	return e.HeadOnly && e.Exchange.Response != nil && e.Exchange.Response.Size() > e.Exchange.HeadSize
}

// repeatable reports whether the response may be archived as a repeat of one with the same payload, or be repeated: a complete
// page. An error page is archived as it is, so that no index confuses it with a page.
func (e Evidence) repeatable() bool {
	ex := e.Exchange
	return e.Page && !e.HeadOnly && ex.Failure == nil && ex.Truncated == "" && ex.Status >= 200 && ex.Status <= 299 && ex.PayloadSize > 0
}

// Outlinks returns the links of a response, followed or not.
func Outlinks(ex *fetch.Exchange, page extract.Page) []storage.Outlink {
	var out []storage.Outlink
	if a, _ := host.Classify(ex); a == host.Redirected {
		if to, err := ex.URL.Resolve(ex.Header.Get("Location")); err == nil {
			out = append(out, storage.Outlink{URL: to.String(), Kind: storage.KindRedirect})
		}
	}
	out = slices.Grow(out, len(page.Links))
	for _, l := range page.Links {
		kind := storage.KindLink
		if l.Embed {
			kind = storage.KindEmbed
		}
		out = append(out, storage.Outlink{URL: l.URL.String(), Kind: kind})
	}
	return out
}

// Plain returns valid UTF-8, since JSON and WARC would differ on anything else.
func Plain(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Barrier returns the function that the frontier must call before each commit: it syncs the records, then the lines.
func Barrier(r storage.Recorder, l storage.Ledger) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := r.Sync(ctx); err != nil {
			return err
		}
		return l.Sync(ctx)
	}
}

// Closed returns the function for frontier.Options that records closings by the operator: a line for each URL, or one
// that counts the pending URLs of a host, with its root as the URL.
func Closed(r storage.Recorder, l storage.Ledger) func(context.Context, frontier.Closings) error {
	return func(ctx context.Context, closed frontier.Closings) error {
		var all []storage.Line
		for _, c := range closed.URLs {
			all = append(all, Dropped(found.Line(c)))
		}
		hosts := slices.SortedFunc(maps.Keys(closed.Hosts), func(a, b canon.Authority) int { return cmp.Compare(a.String(), b.String()) })
		for _, a := range hosts {
			all = append(all, Dropped(storage.Line{Time: time.Now(), URL: a.Origin() + "/", Count: closed.Hosts[a]}))
		}
		return writeAll(ctx, r, l, all)
	}
}

// Quarantined records the URLs that the frontier set aside when it was opened.
func Quarantined(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate) error {
	var all []storage.Line
	for _, c := range cs {
		line := found.Line(c)
		line.Decision, line.Reason, line.Outcome = storage.DecisionRefuse, frontier.ReasonQuarantined, storage.OutcomeFailed
		all = append(all, line)
	}
	return writeAll(ctx, r, l, all)
}

// Barred records the candidates of an Add that were refused because the operator has dropped their host.
func Barred(ctx context.Context, r storage.Recorder, l storage.Ledger, cs []frontier.Candidate, added frontier.Added) error {
	var all []storage.Line
	for _, place := range added.Barred {
		all = append(all, Dropped(found.Line(cs[place])))
	}
	return writeAll(ctx, r, l, all)
}

// Dropped makes l the line of a URL that the operator dropped.
func Dropped(l storage.Line) storage.Line {
	l.Decision, l.Reason, l.Outcome = storage.DecisionRefuse, frontier.ReasonOperator, storage.OutcomeDropped
	return l
}

// writeAll writes lines into both, durably.
func writeAll(ctx context.Context, r storage.Recorder, l storage.Ledger, all []storage.Line) error {
	if len(all) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.Begin(ctx); err != nil { // before the archive has a file
		return err
	}
	for _, line := range all {
		if err := r.Refuse(ctx, line); err != nil {
			return err
		}
		if err := l.Append(ctx, line); err != nil {
			return err
		}
	}
	return Barrier(r, l)(ctx)
}
