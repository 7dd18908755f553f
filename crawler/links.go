package crawler

import (
	"context"
	"slices"

	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/crawler/totals"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
)

// page reads what an answer says to robots and what it names, if it is a page or a
// style sheet or the like: those in scope become candidates. ahead, if not nil, is the page as it was read already.
func (c *Crawl) page(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, a host.Answer, ahead *reading) (page extract.Page, isHTML bool, err error) {
	page.Robots = extract.HeaderDirectives(ex.Header, c.cfg.Identity.Token)
	if a != host.Answered || ex.Body == nil {
		page.Robots, err = c.directives(ctx, ex)
		return page, false, err
	}
	if task.Kind == frontier.KindMap {
		if err := c.readMap(ctx, v, task, ex, page.Robots.NoFollow); err != nil || !c.isPage(v, &task.Candidate) {
			return page, false, err
		}
	}
	if ahead != nil && (ahead.shape || !v.watched(c, task)) {
		return c.taken(v, task, *ahead), true, nil
	}
	kind, err := readAs(task, ex)
	switch {
	case err != nil:
		return page, false, err
	case ex.Undecoded != "" && (kind != 0 || mediatype.Of(ex.Header).Unnamed()):
		c.undigested(v, task, ex)
		v.count(totals.PrefixUnparsed+"content coding", 1)
		return page, kind == extract.KindPage, nil
	case kind == 0:
		c.undigested(v, task, ex)
		return page, false, nil
	case kind != extract.KindPage:
		page, err = c.parts(ctx, v, task, ex, c.input(task, ex), kind)
		return page, false, err
	}
	now, err := c.read(ctx, c.input(task, ex), v.watched(c, task))
	if err != nil {
		return now.page, true, err
	}
	return c.taken(v, task, now), true, nil
}

// parts reads what a style sheet, an SVG document or a web manifest names.
func (c *Crawl) parts(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, in extract.Input, kind extract.Kind) (page extract.Page, err error) {
	c.undigested(v, task, ex)
	if page, err = c.extract.Parts(ctx, in, kind); err != nil {
		return page, err
	}
	v.unread(page)
	c.follow(v, task, page)
	return page, nil
}

// unread counts the mentions of URLs in a document that are no links, or that are not read.
func (v *visit) unread(page extract.Page) {
	if page.Unparsed != "" {
		v.count(totals.PrefixUnparsed+page.Unparsed, 1)
	}
	for reason, n := range page.Refused {
		v.count(totals.PrefixLinks+string(reason), int64(n))
	}
	v.count(totals.PrefixLinks+"too many", int64(page.Dropped))
}

// follow judges the links of a page.
func (c *Crawl) follow(v *visit, task frontier.Task, page extract.Page) {
	via := task.URL.String()
	v.result.Found = slices.Grow(v.result.Found, len(page.Links)) // most are in scope
	for _, l := range page.Links {
		next := frontier.Candidate{URL: l.URL, Kind: frontier.KindLink, Via: via, Depth: task.Depth + 1, Seed: task.Seed, Tag: task.Tag}
		if l.Embed {
			next.Kind, next.Depth, next.Embeds, next.Away = frontier.KindEmbed, task.Depth, task.Embeds+1, task.Away
			if !c.scope.Covers(l.URL) {
				next.Away++
			}
		}
		c.found(v, next, page.Robots.NoFollow || !l.Rel.Followed(c.rels))
	}
}

// found judges a discovered URL. In scope it becomes a candidate; refused for good it enters the seen-set with its
// reason, once; refused for now it is only counted, so that another page may bring it under better terms. What lies
// off the scope gets a line of the ledger all the same.
func (c *Crawl) found(v *visit, next frontier.Candidate, noFollow bool) {
	asked := inScope(next)
	asked.NoFollow = noFollow
	judged := c.scope.Judge(asked)
	if judged.In {
		v.result.Found = append(v.result.Found, next)
		return
	}
	if found.SeedChain(next) {
		c.unanswered(v, next, judged.Rule)
	}
	if !judged.Timeless {
		v.count(totals.PrefixLinks+judged.Rule, 1)
	}
	switch {
	case judged.Timeless || c.away(judged.Rule) && !c.lined.Met(next.URL.Key()):
		next.Refused = judged.Rule
		v.refused = append(v.refused, refusal{next, judged.Timeless})
	case c.away(judged.Rule):
		v.count(totals.RefusedAgain, 1)
	}
}

// away reports whether a rule refuses what lies off the scope: by its place, or too many steps away from it.
func (c *Crawl) away(rule string) bool {
	return rule == c.offScope || rule == scope.RuleRequisites && c.cfg.Scope.Requisites == scope.RequisitesAll
}

// inScope puts a candidate as the scope sees it.
func inScope(c frontier.Candidate) scope.Candidate {
	return scope.Candidate{
		URL: c.URL, Depth: c.Depth, Embeds: c.Embeds, Away: c.Away, Embed: c.Embeds > 0,
		Redirect: c.Kind == frontier.KindRedirect, Seed: found.SeedChain(c), Map: c.Kind == frontier.KindMap,
	}
}

// refusal is a discovered URL that the scope refused and that gets a line of the ledger.
type refusal struct {
	frontier.Candidate
	timeless bool
}

// refuse gives each refused URL its ledger line, unless it has one, and enters those that were refused for good.
func (c *Crawl) refuse(ctx context.Context, v *visit) error {
	if len(v.refused) == 0 {
		return nil
	}
	us := make([]canon.URL, len(v.refused))
	for i, r := range v.refused {
		us[i] = r.URL
	}
	seen, err := c.cfg.Frontier.Seen(ctx, us)
	if err != nil {
		return err
	}
	for i, r := range v.refused {
		if seen[i] {
			v.count(totals.RefusedAgain, 1)
			continue
		}
		if r.timeless {
			v.result.Found = append(v.result.Found, r.Candidate)
		}
		// Two pages may find a URL at one time, one page find it as a link and as an image.
		if !c.lined.First(r.URL.Key()) {
			v.count(totals.RefusedAgain, 1)
			continue
		}
		line := c.lineOf(v, r.Candidate)
		line.Decision, line.Reason, line.Outcome = storage.DecisionRefuse, r.Refused, storage.OutcomeDropped
		if _, err := c.write(ctx, line, evidence{}); err != nil {
			return err
		}
	}
	v.refused = nil
	return nil
}
