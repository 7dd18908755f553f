package crawler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/host"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
)

// maxTags is how many tags are told apart where pages are counted by tag.
const maxTags = 1000

// quotaWait is how long a host waits when other hosts may yet use up what a domain or a tag has left.
const quotaWait = time.Second

// quotas keep the pages of registrable domains and of tags within their budgets, and watch for the conditions under which
// the run ends. Pages of earlier runs are read from the frontier: of a domain from its hosts, of a tag from the totals.
// record.Pages adds those that the ledger names and the frontier does not count, so that a kill forgets no page.
type quotas struct {
	domains, tags *budget.Groups
	watch         *budget.Watch
	missed        map[string]int64 // pages of domains that the frontier does not count
	held          *atomic.Bool     // a task was set aside because of its tag
}

// newQuotas reads how many pages there are. The frontier has missed some, by domain; counts are with them.
func newQuotas(ctx context.Context, cfg *Config, counts, missed map[string]int64) (quotas, error) {
	tags := map[string]int64{}
	for name, n := range counts {
		if tag, ok := budget.Tag(name); ok {
			tags[tag] = n
		}
	}
	q := quotas{
		held: &atomic.Bool{}, missed: missed,
		domains: budget.NewGroups(cfg.MaxPerDomain, nil), tags: budget.NewGroups(cfg.MaxPerTag, tags),
	}
	q.watch = budget.NewWatch(cfg.StopWhen, counts[budget.Pages], q.tags.Pages)
	if cfg.MaxPerDomain > 0 {
		return q, q.countDomains(ctx, cfg.Frontier)
	}
	return q, nil
}

// countDomains counts the pages of each domain from now on, with those that the frontier has. Pages of turns under way
// may be counted twice, or not at all.
func (q *quotas) countDomains(ctx context.Context, f frontier.Reader) error {
	q.domains.Add(q.missed)
	pages := map[string]int64{}
	var bad error
	err := status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		memory, err := host.Read(h.Memory)
		if err != nil {
			bad = fmt.Errorf("%s: %w", h.Authority, err)
		} else if memory.Pages > 0 {
			pages[h.Authority.RegistrableDomain()] += int64(memory.Pages)
		}
		return bad == nil
	})
	q.domains.Add(pages)
	return errors.Join(err, bad)
}

// change has the budgets and conditions of next hold.
func (q *quotas) change(ctx context.Context, f frontier.Reader, next *Terms) error {
	if next.MaxPerDomain > 0 && !q.domains.Counts() {
		if err := q.countDomains(ctx, f); err != nil {
			return err
		}
	}
	q.domains.Limit(next.MaxPerDomain)
	q.tags.Limit(next.MaxPerTag)
	q.watch.Set(next.StopWhen)
	return nil
}

// limitsPages reports whether the crawl may have a limit of pages.
func (c *Config) limitsPages() bool {
	return c.MaxPages > 0 || c.MaxPerHost > 0 || c.MaxPerDomain > 0 || c.MaxPerTag > 0 || len(c.StopWhen) > 0 || len(c.Hosts) > 0
}

// checkTags refuses a limit that goes by the pages of a tag where tags are not told apart.
func (t *Terms) checkTags(tagged bool) error {
	if !tagged && (t.MaxPerTag > 0 || slices.ContainsFunc(t.StopWhen, func(s budget.Condition) bool { return s.Tag() != "" })) {
		return fmt.Errorf("crawler: the seeds have more than %d tags: pages are counted for so many at most", maxTags)
	}
	return nil
}

// tellApart refuses more tags than are counted.
func (c *Config) tellApart(tags map[string]bool) error {
	delete(tags, "")
	c.tagged = len(tags) <= maxTags
	t := c.terms()
	return t.checkTags(c.tagged)
}

// room is whether a page may be asked for.
type room uint8

const (
	roomBooked room = iota // it may
	roomLater              // pages under way may take what is left, or not
	roomTag                // its tag has all its pages
	roomDomain             // its domain has all its pages
)

// book takes room for a task's page.
func (q *quotas) book(v *visit, task frontier.Task) room {
	domain := v.turn.Authority.RegistrableDomain()
	switch booked, full := q.domains.Book(domain); {
	case full:
		return roomDomain
	case !booked:
		return roomLater
	}
	if task.Tag == "" {
		return roomBooked
	}
	booked, full := q.tags.Book(task.Tag)
	if booked {
		return roomBooked
	}
	q.domains.Give(domain, 0)
	if full {
		return roomTag
	}
	return roomLater
}

// give returns room that was booked, with the pages that came of it.
func (q *quotas) give(v *visit, task frontier.Task, pages int64) {
	q.domains.Give(v.turn.Authority.RegistrableDomain(), pages)
	if task.Tag != "" {
		q.tags.Give(task.Tag, pages)
	}
}

// exhausted is why a host has no turn: every page that its budgets allow is there. It is empty while there is room.
func (q *quotas) exhausted(cfg *Config, v *visit) string {
	switch {
	case full(int64(v.memory.Pages), cfg.maxPerHost(v.turn.Authority)):
		return reasonMaxPerHost
	case q.domains.Full(v.turn.Authority.RegistrableDomain()):
		return reasonMaxPerDomain
	}
	return ""
}

// full reports whether a limit is reached, of which zero is none.
func full(n, most int64) bool { return most > 0 && n >= most }

// admit takes room for a task's page, or says what becomes of the task instead: ok is false, and the task stays pending or
// is settled.
func (p *parallel) admit(ctx context.Context, task frontier.Task, d decision) (ok bool, err error) {
	switch p.c.quotas.book(p.v, task) {
	case roomTag:
		p.c.quotas.held.Store(true)
		d.kind, d.reason, d.outcome = storage.DecisionHold, reasonMaxPerTag, frontier.Held
		return false, p.c.settler.settle(ctx, p.v, task, d, p.v.findings())
	case roomDomain:
		p.closing = true
		if p.inFlight == 0 {
			p.v.leaveAlone(frontier.Retired, reasonMaxPerDomain, 0)
		}
		return false, nil
	case roomLater:
		p.later, p.closing = true, p.width > 1
		return false, nil
	}
	return true, nil
}

// noted tells what came of an attempt to those who count pages; the host had so many before.
func (p *parallel) noted(x *attempt, before uint64) {
	pages := int64(p.v.memory.Pages - before)
	p.c.quotas.give(p.v, x.task, pages)
	if x.ex == nil || stopped(x.ex) {
		return
	}
	p.c.quotas.watch.Note(budget.Answer{
		Failed: p.v.blamed, Page: pages > 0, First: before == 0 && pages > 0, Text: p.v.text,
	})
	p.c.endIfMet()
}

// endIfMet ends the run when a condition of StopWhen is met.
func (c *Crawl) endIfMet() {
	if why := c.quotas.watch.Met(); why != "" {
		c.stopper.end(EndedStopWhen + why)
	}
}
