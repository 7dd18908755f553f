package crawler

import (
	"context"
	"slices"
	"sync"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// linker is the stage that reads responses and finds URLs in them.
type linker struct {
	cfg     *Config
	gate    *gate.Gate
	reader  *pageReader
	bounds  *bounds
	settler *settler
	book    *seedBook
	tried   script.Tries // of names in scripts
	empty   examples     // pages that are empty without JavaScript
}

// examples are the first URLs of a kind in this run. The ledger has all.
type examples struct {
	mu   sync.Mutex
	urls []string
}

const maxExamples = 5

func (e *examples) add(url string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.urls) < maxExamples {
		e.urls = append(e.urls, url)
	}
}

func (e *examples) named() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.urls))
}

// reading is a response as it was read.
type reading struct {
	page   extract.Page
	html   bool
	copied bool   // a copy, whose links are dropped
	listed listed // of a sitemap
}

// links reads the directives and links of a response, and makes candidates of those in scope. It returns the task, which is a
// page if its sitemap turns out to be one.
func (c *linker) links(ctx context.Context, v *visit, x *attempt, m meaning, f *findings) (r reading, task frontier.Task, err error) {
	task = x.task
	r.page.Robots = extract.HeaderDirectives(m.Header, c.cfg.Identity.Token)
	if m.answer != host.Answered || m.Body == nil || c.bounds.isLeaf(task) {
		r.page.Robots, err = c.reader.directives(ctx, m.Exchange)
		return r, task, err
	}
	if task.Kind == frontier.KindMap {
		if r.listed, err = c.readSitemap(ctx, v, x, m.Exchange, r.page.Robots.NoFollow, f); err != nil {
			return r, task, err
		}
		page, is := c.bounds.pageInstead(x, r.listed)
		if !is || c.cfg.DryRun {
			return r, task, nil
		}
		task.Candidate = page
	}
	if read := x.readAhead(); read != nil && (read.shape || !v.watched(task, c.cfg.Traps)) {
		c.takePage(v, task, *read, &r, f)
	} else if err := c.document(ctx, v, task, m.Exchange, &r, f); err != nil {
		return r, task, err
	}
	return r, task, c.scripted(ctx, task, m.Exchange, &r, f)
}

// document reads a page, or another document with links.
func (c *linker) document(ctx context.Context, v *visit, task frontier.Task, ex *fetch.Exchange, r *reading, f *findings) error {
	kind, err := c.reader.readAs(task, ex)
	switch {
	case err != nil:
		return err
	case ex.Undecoded != "" && (kind != 0 || mediatype.Of(ex.Header).Unnamed()):
		v.undigested(task, ex, c.cfg.Traps)
		f.count(budget.PrefixUnparsed+"content coding", 1)
		r.html = kind == extract.KindPage
		return nil
	case kind == 0:
		v.undigested(task, ex, c.cfg.Traps)
		return nil
	case kind != extract.KindPage: // a style sheet, an SVG document, a script, a feed …
		v.undigested(task, ex, c.cfg.Traps)
		if r.page, err = c.reader.extract.Parts(ctx, c.reader.input(task, ex), kind); err == nil {
			f.unread(r.page)
			c.bounds.follow(task, r.page, f)
		}
		return err
	}
	read, err := c.reader.read(ctx, c.reader.input(task, ex), v.watched(task, c.cfg.Traps))
	if r.page, r.html = read.page, true; err == nil {
		c.takePage(v, task, read, r, f)
	}
	return err
}

func (c *linker) takePage(v *visit, task frontier.Task, read digested, r *reading, f *findings) {
	r.page, r.html = read.page, true
	f.unread(r.page)
	if r.page.NeedsScript {
		f.count(budget.PrefixUnparsed+budget.EmptyWithoutScript, 1)
		c.empty.add(task.URL.String())
	}
	if r.copied = v.digest(task, read, c.cfg.Traps); r.copied {
		f.count(budget.PrefixLinks+trap.RuleCopy, int64(len(r.page.Links)))
		return
	}
	c.bounds.follow(task, r.page, f)
}

// scripted makes candidates of names in scripts and JSON, with Config.Scope.Scripts.
func (c *linker) scripted(ctx context.Context, task frontier.Task, ex *fetch.Exchange, r *reading, f *findings) error {
	if !c.cfg.Scope.Scripts || r.copied || ex.Undecoded != "" || task.Kind == frontier.KindMap {
		return nil
	}
	kind, err := c.reader.readAs(task, ex)
	if err != nil {
		return err
	}
	isScript := (kind == 0 || kind == extract.KindScript) && script.Is(mediatype.Of(ex.Header).Name, task.URL.Path())
	if kind != extract.KindPage && !isScript {
		return nil
	}
	page := canon.URL{}
	if task.Kind == frontier.KindEmbed {
		page, _ = canon.Parse(task.Via) // a canonical URL
	}
	cut, err := c.reader.extract.Scripts(ctx, c.reader.input(task, ex), kind, page, func(name string, u canon.URL) {
		if !c.tried.Try(name, u) {
			f.count(budget.PrefixLinks+"script: tried elsewhere", 1)
			return
		}
		next := frontier.Candidate{
			URL: u, Kind: frontier.KindScript, Via: task.URL.String(), Depth: task.Depth, Embeds: task.Embeds + 1, Away: task.Away,
			Seed: task.Seed, Tag: task.Tag,
		}
		if !c.bounds.scope.Load().Covers(u) {
			next.Away++
		}
		c.bounds.discover(f, next, false)
	})
	if cut != "" {
		f.count(budget.PrefixUnparsed+string(cut), 1)
	}
	return err
}

// unread counts the unread parts of a document, and its invalid links.
func (f *findings) unread(page extract.Page) {
	if page.Unparsed != "" {
		f.count(budget.PrefixUnparsed+page.Unparsed, 1)
	}
	for reason, n := range page.Refused {
		f.count(budget.PrefixLinks+string(reason), int64(n))
	}
	f.count(budget.PrefixLinks+"too many", int64(page.Dropped))
}

func (c *bounds) follow(task frontier.Task, page extract.Page, f *findings) {
	via := task.URL.String()
	f.urls = slices.Grow(f.urls, len(page.Links)) // most are in scope
	for _, l := range page.Links {
		next := frontier.Candidate{URL: l.URL, Kind: frontier.KindLink, Via: via, Depth: task.Depth + 1, Seed: task.Seed, Tag: task.Tag}
		if l.Embed {
			next.Kind, next.Depth, next.Embeds, next.Away = frontier.KindEmbed, task.Depth, task.Embeds+1, task.Away
			if !c.scope.Load().Covers(l.URL) {
				next.Away++
			}
		}
		c.discover(f, next, page.Robots.NoFollow || !l.Rel.Followed(c.rels))
	}
}

// discover makes a candidate of a URL in scope. One refused for good enters the seen-set with its reason; one refused for now
// is counted and gets a line, but another page may still add it.
func (c *bounds) discover(f *findings, next frontier.Candidate, noFollow bool) {
	asked := InScope(next)
	asked.NoFollow = noFollow
	judged := c.scope.Load().Judge(asked)
	if judged.In {
		f.urls = append(f.urls, next)
		return
	}
	if found.SeedChain(next) && judged.Rule != scope.RuleSample {
		f.unanswered(c.book, next.Seed, judged.Rule)
	}
	if !judged.Timeless {
		f.count(budget.PrefixLinks+judged.Rule, 1)
	}
	switch {
	case judged.Timeless || c.named(judged.Rule) && !c.lined.Met(next.URL.Key()):
		next.Refused = judged.Rule
		f.refused = append(f.refused, refusal{next, judged.Timeless})
	case c.named(judged.Rule):
		f.count(budget.RefusedAgain, 1)
	}
}

// named reports whether URLs that a rule refuses for now get lines: all except the requisites of a crawl without them.
func (c *bounds) named(rule string) bool {
	return rule != scope.RuleRequisites || c.cfg.Scope.Requisites != scope.RequisitesNone
}

// InScope returns the scope's view of a candidate.
func InScope(c frontier.Candidate) scope.Candidate {
	return scope.Candidate{
		URL: c.URL, Depth: c.Depth, Embeds: c.Embeds, Away: c.Away, Embed: c.Embeds > 0,
		Redirect: c.Kind == frontier.KindRedirect, Seed: found.SeedChain(c), Map: c.Kind == frontier.KindMap, Script: c.Kind == frontier.KindScript,
	}
}

// refuse writes a line for each refused URL without one, and adds those refused for good to the candidates.
func (c *settler) refuse(ctx context.Context, v *visit, f *findings) error {
	if len(f.refused) == 0 {
		return nil
	}
	us := make([]canon.URL, len(f.refused))
	for i, r := range f.refused {
		us[i] = r.URL
	}
	seen, err := c.cfg.Frontier.Seen(ctx, us)
	if err != nil {
		return err
	}
	for i, r := range f.refused {
		if seen[i] {
			f.count(budget.RefusedAgain, 1)
			continue
		}
		if r.timeless {
			f.urls = append(f.urls, r.Candidate)
		}
		// Two pages may find a URL at the same time, or one page as a link and as an image.
		if !c.lined.First(r.URL.Key()) {
			f.count(budget.RefusedAgain, 1)
			continue
		}
		line := c.lineOf(v, r.Candidate)
		line.Decision, line.Reason, line.Outcome = storage.DecisionRefuse, r.Refused, storage.OutcomeDropped
		if _, err := c.record.Write(ctx, line, record.Evidence{}); err != nil {
			return err
		}
	}
	f.refused = nil
	return nil
}

// findings are the additions of one response to the crawl. The turn accepts them once the response is recorded. A
// panic, or the end of the lease, drops them; the visit counts the cost of the exchange at once.
type findings struct {
	urls    []frontier.Candidate // in scope; earlier ones of the turn come first
	refused []refusal            // without a line yet
	extend  []frontier.Seed      // of the scope
	seeds   []string             // seeds without a usable response, with reasons
	counts  []tallied
	pages   int64 // 2xx HTML responses
	added   int   // new URLs that were added before the end of the turn
}

type tallied struct {
	name string
	n    int64
}

// refusal is a URL that the scope refused and that gets a line.
type refusal struct {
	frontier.Candidate
	timeless bool
}

// findings returns empty findings, valid until the next call.
func (v *visit) findings() *findings {
	f := &v.spare
	*f = findings{urls: v.result.Found, refused: f.refused[:0], counts: f.counts[:0]}
	return f
}

func (v *visit) accept(f *findings) {
	v.result.Found = f.urls
	v.result.Extend = append(v.result.Extend, f.extend...)
	v.seeds = append(v.seeds, f.seeds...)
	for _, c := range f.counts {
		v.count(c.name, c.n)
	}
	v.pages += f.pages
	v.memory.Pages += uint64(f.pages)
	v.added += f.added
}

func (f *findings) count(name string, n int64) {
	if n == 0 {
		return
	}
	if i := slices.IndexFunc(f.counts, func(c tallied) bool { return c.name == name }); i >= 0 {
		f.counts[i].n += n
		return
	}
	f.counts = append(f.counts, tallied{name, n})
}

// settleSeed records the outcome of a seed, or of the end of its redirects.
func (f *findings) settleSeed(b *seedBook, task frontier.Task, d decision) {
	switch {
	case d.outcome == frontier.Redirected:
		return
	case d.outcome == frontier.Fetched:
		b.Answered(task.Seed, f.count)
	case d.reason == scope.RuleSample:
	case d.outcome == frontier.Disallowed:
		f.unanswered(b, task.Seed, "not requested, because robots.txt forbids it")
	default:
		f.unanswered(b, task.Seed, d.outcome.String()+": "+d.reason)
	}
	b.EndOfChain(task)
}

func (f *findings) unanswered(b *seedBook, seed, why string) {
	f.seeds = append(f.seeds, seed+": "+why)
	b.Unanswered(seed, f.count)
}

// extendTo extends the scope to the end of a seed's redirects, before the links of that page are judged. It becomes durable
// with the turn, and is repeated if the turn is lost.
func (c *bounds) extendTo(f *findings, task frontier.Task) {
	c.book.Extend(task.URL, func() bool { return c.scope.Load().Judge(scope.Candidate{URL: task.URL}).In }, func() {
		c.scope.Load().Extend(task.URL)
		f.extend = append(f.extend, frontier.Seed{URL: task.URL, Tag: task.Tag, From: task.Seed})
		c.cfg.Log("seed %s redirects to %s: the scope now includes it", task.Seed, task.URL)
	})
}
