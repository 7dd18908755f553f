package crawler

import (
	"context"

	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
)

// isPolicy reports whether a URL is that of its authority's robots.txt, in any spelling.
func isPolicy(u canon.URL) bool { return u.Key() == gate.PolicyURL(u.Authority()) }

// askPolicy settles a task whose URL is that of the host's robots.txt. The robots gate makes the exchange, so that what it says
// becomes the host's policy: the archive never has a newer one than the crawl obeys. It is the only exchange of its turn.
func (p *parallel) askPolicy(ctx context.Context, task frontier.Task) error {
	c, v := p.c, p.v
	if p.begun {
		p.closing = true
		return nil
	}
	if v.state.Hops() > 0 { // the gate follows redirects of an earlier answer, by way of another host
		p.later, p.closing = true, true
		return nil
	}
	p.begun, p.closing = true, true
	u, err := v.turn.Authority.URL("/robots.txt")
	if err != nil {
		return err
	}
	w := gate.Request{
		From: v.turn.Authority, URL: u, Attempt: v.state.Failures() + 1, Kind: storage.Kind(task.Kind.String()),
		Need: robots.Need{Action: robots.Refresh, URL: u.String()},
	}
	got, err := c.policies.askPolicy(ctx, v, w)
	switch {
	case err != nil || got.optOut == nil && !got.asked:
		return err
	case got.optOut != nil:
		return c.settler.dropAll(ctx, v, got.optOut)
	}
	v.learned = false
	if c.policies.learn(v, got.Answer, v.end); v.learned {
		if err := c.linker.nameSitemaps(ctx, v); err != nil {
			return err
		}
	}
	d := decision{kind: storage.DecisionAllow, verdict: v.rules.Judge(task.URL.RequestURI()), attempt: task.Attempts + 1, reason: got.page.why}
	if got.page.Exchange == nil || !d.verdict.Allowed {
		return nil // the task waits until robots.txt is available
	}
	d.status, d.ended = got.page.Status, got.page.End
	f := v.findings()
	if d.outcome = frontier.Failed; got.page.answer != host.Refused { // which concerns no page
		c.outcomes.outcome(v, task, got.page, reading{}, &d, f)
	}
	if c.cfg.Past != nil {
		earlier, err := c.cfg.Past.Last(ctx, task.URL)
		if err != nil {
			return err
		}
		d.change = earlier.Change(d.outcome, false, got.page.Header, got.page.PayloadDigest)
	}
	if err := c.settler.refuse(ctx, v, f); err != nil {
		return err
	}
	return c.settler.settle(context.WithoutCancel(ctx), v, task, d, f)
}
