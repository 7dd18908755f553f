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

// maxTags bounds the tags by which pages are counted.
const maxTags = 1000

// quotaWait is the wait of a host while pages under way may use up the budget of its domain or tag.
const quotaWait = time.Second

// quotas keep the pages of registrable domains and tags within their budgets, and watch Config.StopWhen. Pages of earlier runs
// come from the frontier, and after a kill from the ledger (record.Pages).
type quotas struct {
	domains, tags *budget.Groups
	watch         *budget.Watch
	missed        map[string]int64 // pages by domain that the frontier does not count
	held          *atomic.Bool     // a task was held because of its tag
}

// newQuotas counts the pages. counts include those that the frontier has missed.
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

// countDomains counts the pages of each domain from now on. Pages of turns under way may count twice, or not at all.
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

func (c *Config) limitsPages() bool {
	return c.MaxPages > 0 || c.MaxPerHost > 0 || c.MaxPerDomain > 0 || c.MaxPerTag > 0 || len(c.StopWhen) > 0 || len(c.Hosts) > 0
}

// checkTags rejects limits by tag if pages are not counted by tag.
func (t *Terms) checkTags(tagged bool) error {
	if !tagged && (t.MaxPerTag > 0 || slices.ContainsFunc(t.StopWhen, func(s budget.Condition) bool { return s.Tag() != "" })) {
		return fmt.Errorf("crawler: the seeds have more than %d tags: pages are counted for so many at most", maxTags)
	}
	return nil
}

// room is whether the budgets allow another page.
type room uint8

const (
	roomBooked room = iota
	roomLater       // depends on pages under way
	roomTag         // its tag has all its pages
	roomDomain      // its domain has all its pages
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

// give returns booked room, with the pages it was used for.
func (q *quotas) give(v *visit, task frontier.Task, pages int64) {
	q.domains.Give(v.turn.Authority.RegistrableDomain(), pages)
	if task.Tag != "" {
		q.tags.Give(task.Tag, pages)
	}
}

// exhausted returns the budget whose pages a host has all, or "".
func (q *quotas) exhausted(cfg *Config, v *visit) string {
	switch {
	case full(int64(v.memory.Pages), cfg.maxPerHost(v.turn.Authority)):
		return reasonMaxPerHost
	case q.domains.Full(v.turn.Authority.RegistrableDomain()):
		return reasonMaxPerDomain
	}
	return ""
}

// full reports whether a limit is reached; zero is unlimited.
func full(n, most int64) bool { return most > 0 && n >= most }

// admit takes room for a task's page. Without room the task stays pending or is settled, and ok is false.
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

// noted counts the pages of an attempt; before is the number of pages of the host until then.
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

func (c *Crawl) endIfMet() {
	if why := c.quotas.watch.Met(); why != "" {
		c.stopper.end(EndedStopWhen + why)
	}
}
