package crawler

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// lineOf begins the line of a candidate.
func (c *Crawl) lineOf(v *visit, of frontier.Candidate) storage.Line {
	l := found.Line(of)
	l.Own = c.isOwn(v, of.URL.Authority())
	return l
}

// isOwn reports whether a is known to be the operator's own: the host of v, whose proof is at hand, or one that needs none.
func (c *Crawl) isOwn(v *visit, a canon.Authority) bool {
	if a == v.turn.Authority {
		return v.own
	}
	return c.cfg.own(a)
}

// ruled puts a verdict of the host's policy into a line.
func (v *visit) ruled(l *storage.Line, verdict robots.Verdict) {
	l.RobotsLine, l.RobotsRule, l.RobotsGroup, l.RunnerUp = verdict.Line, plain(verdict.Rule), plain(verdict.Group), plain(verdict.RunnerUp)
	l.Standard, l.RobotsRecord = verdict.Standard.String(), v.memory.Source.Record
	if verdict.Digest != ([32]byte{}) {
		l.RobotsSHA256 = hex.EncodeToString(verdict.Digest[:])
	}
}

// plain is a text of a site as evidence tells it: what is no UTF-8 would be spelled in one way by JSON and in another by WARC.
func plain(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// evidence is what is archived with a decision. The zero value is no exchange.
type evidence struct {
	ex       *fetch.Exchange
	outlinks []storage.Outlink
	headOnly bool              // the answer asks not to be archived: its body is left out, its digest stays (politeness rule 19)
	page     bool              // of a page, which may be kept as a repeat of an earlier one
	holds    *storage.Original // with a 304: the answer that still holds
}

// made reports whether something was sent: an exchange without a connection leaves nothing to archive.
func (e evidence) made() bool { return e.ex != nil && len(e.ex.Request) > 0 }

// exchanged puts an exchange into a line.
func (e evidence) exchanged(l *storage.Line) {
	ex := e.ex
	if ex == nil {
		return
	}
	if e.made() {
		l.Began, l.Took = ex.Start, ex.End.Sub(ex.Start)
	}
	l.Interim = ex.Interim
	l.FirstByte, l.Addr, l.Status, l.Type = ex.ResponseTime, ex.Addr, ex.Status, mediatype.Of(ex.Header).Name
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

// hasPayload reports whether the digest says something: there was a head, and the answer stands for no other.
func (e evidence) hasPayload() bool { return e.ex.Status != 0 && e.holds == nil }

// cutsBody reports whether headOnly leaves something out.
func (e evidence) cutsBody() bool {
	return e.headOnly && e.ex.Response != nil && e.ex.Response.Size() > e.ex.HeadSize
}

// repeatable reports whether the answer may be archived as a repeat of one with the same payload, or be repeated: a whole
// page that was there. An error page is kept as it is, so that no index takes it for the page that it repeats.
func (e evidence) repeatable() bool {
	ex := e.ex
	return e.page && !e.headOnly && ex.Failure == nil && ex.Truncated == "" && ex.Status >= 200 && ex.Status <= 299 && ex.PayloadSize > 0
}

// record archives an exchange, with the line of its decision.
func (c *Crawl) record(ctx context.Context, l storage.Line, e evidence) (storage.Receipt, error) {
	ex := e.ex
	if err := c.writers.Acquire(ctx); err != nil {
		return storage.Receipt{}, fmt.Errorf("crawler: archive %s: %w", ex.URL, err)
	}
	defer c.writers.Release()
	r := storage.Record{
		URL: ex.URL.String(), Time: l.Began, Addr: ex.Addr, Request: ex.Request, Response: ex.Response, HeadSize: ex.HeadSize,
		PayloadDigest: ex.PayloadDigest, PayloadSize: ex.PayloadSize, HasPayload: e.hasPayload(), Protocols: ex.Protocols,
		Truncated: l.Truncated, Repeatable: e.repeatable(), NotModified: e.holds, Line: &l, Outlinks: e.outlinks,
	}
	if e.cutsBody() {
		r.Response, r.HeadOnly = io.NewSectionReader(ex.Response, 0, ex.HeadSize), true
	}
	return c.cfg.Recorder.Record(ctx, r)
}

// write writes a decision down: in the archive, as the metadata of its exchange or, where nobody was asked, for itself;
// then in the ledger. It returns the id of the record.
func (c *Crawl) write(ctx context.Context, l storage.Line, e evidence) (id string, err error) {
	l.Time = c.dates.Of(l.Time)
	switch {
	case e.made():
		l.Began, l.Ahead = c.dates.WithAhead(l.Began)
		kept, err := c.record(ctx, l, e)
		if err != nil {
			return "", err
		}
		l.Record, l.Blocks = kept.ID, kept.Blocks
	case l.Decision == storage.DecisionRefuse || l.Decision == storage.DecisionHold:
		return "", c.writeRefusals(ctx, c.limiter.Add(l))
	case l.Attempt == 0:
		return "", c.writeRefusal(ctx, l)
	}
	if err = c.cfg.Ledger.Append(ctx, l); err != nil || l.Rest == 0 {
		return l.Record, err
	}
	// The run that follows on a kill is to know of it (unheard), and the frontier's commit, which would make it durable, is
	// a while away. The ledger alone is what that run reads, so its sync is enough: that no Done is without its record is
	// held by the Barrier before the commit. Where the computer itself fails in between, the line may outlive its record;
	// that is a line of the last moments without one, which the audit names as in flight (docs/audit.md).
	return l.Record, c.cfg.Ledger.Sync(ctx)
}

// writeRefusal writes down that a URL is not asked for.
func (c *Crawl) writeRefusal(ctx context.Context, l storage.Line) error {
	if err := c.cfg.Recorder.Refuse(ctx, l); err != nil {
		return err
	}
	c.flusher.Note()
	return c.cfg.Ledger.Append(ctx, l)
}

// outlinksOf are the links of an answer as they were found: whether they are followed is another matter.
func outlinksOf(ex *fetch.Exchange, page extract.Page) []storage.Outlink {
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
