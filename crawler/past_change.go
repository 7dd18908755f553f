package crawler

import (
	"context"
	"net/http"
	"time"

	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// What became of a URL since the generation before, as a line says it.
const (
	ChangeNew       = string(storage.ChangeNew)
	ChangeChanged   = string(storage.ChangeChanged)
	ChangeUnchanged = string(storage.ChangeUnchanged)
	ChangeFresh     = string(storage.ChangeFresh)
	ChangeGone      = string(storage.ChangeGone)
)

// reasonFresh is why a requisite is not asked for.
const reasonFresh = "fresh, not asked"

// changed notes in d what became of the URL since the generation before. Nothing is said of what comes again, and of
// what neither then nor now was there.
func (c *Crawl) changed(v *visit, m meaning, d *decision) {
	if c.cfg.Past == nil {
		return
	}
	e := d.before.Earlier
	switch {
	case d.outcome == frontier.Gone && e.there():
		d.change = ChangeGone
	case d.outcome != frontier.Fetched && d.outcome != frontier.Redirected:
		return
	case d.holds != nil:
		d.change = ChangeUnchanged
	case !e.there():
		d.change = ChangeNew
	case d.outcome == frontier.Redirected:
		d.change = ChangeChanged
		if e.Status >= 300 && e.Header.Get("Location") == m.Header.Get("Location") {
			d.change = ChangeUnchanged
		}
	case e.Status < 300 && e.HasPayload && e.Payload == m.PayloadDigest:
		d.change = ChangeUnchanged
	default:
		d.change = ChangeChanged
	}
	if d.change != "" {
		v.count(totals.PrefixChanges+d.change, 1)
	}
}

// spared settles a requisite that is not asked for, because the archived answer is fresh by what its server said
// (politeness rule 21). A page is never spared the question, and nothing is guessed about what says nothing.
func (c *Crawl) spared(ctx context.Context, v *visit, task frontier.Task, verdict robots.Verdict) (bool, error) {
	if c.cfg.Past == nil || task.Embeds == 0 || !untried(task) {
		return false, nil
	}
	e, err := c.cfg.Past.Last(ctx, task.URL)
	if err != nil || e == nil || e.Body == nil || e.Status != http.StatusOK {
		return false, err
	}
	if t := mediatype.Of(e.Header); t.Unnamed() || t.IsHTML() || !isFresh(e.Header, e.Date, time.Now()) {
		return false, nil
	}
	if want := c.request(1, task).Want; want != nil && want(e.Status, e.Header) != "" {
		return false, nil
	}
	v.count(totals.PrefixChanges+ChangeFresh, 1)
	d := decision{kind: storage.DecisionAllow, reason: reasonFresh, verdict: verdict, outcome: frontier.Fetched, change: ChangeFresh}
	return true, c.settle(ctx, v, task, d)
}
