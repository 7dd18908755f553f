package crawler

import (
	"context"
	"net/http"
	"time"

	"curtsy/crawler/revisit"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// reasonFresh is why a requisite is not asked for.
const reasonFresh = "fresh, not asked"

// changed counts and returns what became of the URL since the generation before.
func (c *Crawl) changed(v *visit, m meaning, d *decision) {
	if c.cfg.Past == nil {
		return
	}
	if d.change = d.before.Change(d.outcome, d.holds != nil, m.Header, m.PayloadDigest); d.change != "" {
		v.count(totals.PrefixChanges+string(d.change), 1)
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
	if t := mediatype.Of(e.Header); t.Unnamed() || t.IsHTML() || !revisit.Fresh(e.Header, e.Date, time.Now()) {
		return false, nil
	}
	if want := c.request(1, task).Want; want != nil && want(e.Status, e.Header) != "" {
		return false, nil
	}
	v.count(totals.PrefixChanges+string(storage.ChangeFresh), 1)
	d := decision{kind: storage.DecisionAllow, reason: reasonFresh, verdict: verdict, outcome: frontier.Fetched, change: storage.ChangeFresh}
	return true, c.settle(ctx, v, task, d)
}
