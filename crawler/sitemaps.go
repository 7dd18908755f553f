package crawler

import (
	"context"
	"fmt"
	"io"
	"slices"

	"curtsy/crawler/budget"
	"curtsy/crawler/fetch"
	"curtsy/crawler/found"
	"curtsy/crawler/gate"
	"curtsy/crawler/sitemap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/mediatype"
)

// Sitemaps are the sitemaps that a crawl reads. The zero value means no sitemaps.
//
// A sitemap is a candidate of frontier.KindMap, with scope, robots.txt, delay, record and line like any URL, but not counted as
// a page. Its entries are candidates of frontier.KindSitemap, or of KindMap in an index. For KindMap, Depth is the number of
// indexes above it. Via is the robots.txt that names it, or empty if the operator does; after an index or a redirect it is the
// sitemap named there.
type Sitemaps struct {
	Robots bool        // read those named in robots.txt
	URLs   []canon.URL // named by the operator
}

func (s Sitemaps) any() bool { return s.Robots || len(s.URLs) > 0 }

func (c *Config) withoutMaps() bool { return c.DryRun && c.DryMaps == 0 }

const (
	maxSitemaps   = 1000 // exchanges for sitemaps of a host, sitemaps in one robots.txt, and in one index
	maxIndexDepth = 3    // indexes above a sitemap
	sitemapBatch  = 4096 // entries of a sitemap are added in batches of this size
	sitemapAccept = "application/xml,text/xml,application/rss+xml;q=0.9,application/atom+xml;q=0.9,text/plain;q=0.8,*/*;q=0.5"
)

// Reasons for dropped entries, in addition to those of package sitemap.
const (
	prefixSitemap    = "sitemap:"
	reasonOtherHost  = "sitemap:other-host"    // the sitemap may not list the host
	reasonIndexDepth = "sitemap:index-depth"   // over maxIndexDepth
	reasonSitemaps   = "sitemap:too many maps" // over maxSitemaps
)

// requestedSitemap reports whether the operator named c, or a redirect to it.
func requestedSitemap(c frontier.Candidate) bool {
	return c.Kind == frontier.KindMap && c.Depth == 0 && (c.Seed == c.URL.String() || c.Seed == c.Via)
}

// rootSitemap returns the sitemap that robots.txt or the operator named and that led to c.
func rootSitemap(c frontier.Candidate) string {
	if c.Depth == 0 && c.Hops == 0 {
		return c.URL.String()
	}
	return c.Via
}

// addSitemaps adds the sitemaps of the operator.
func (c *settler) addSitemaps(ctx context.Context) error {
	if len(c.cfg.Sitemaps.URLs) == 0 || c.cfg.withoutMaps() {
		return nil
	}
	given := make([]frontier.Candidate, len(c.cfg.Sitemaps.URLs))
	for i, u := range c.cfg.Sitemaps.URLs {
		given[i] = frontier.Candidate{URL: u, Kind: frontier.KindMap, Seed: u.String()}
	}
	_, err := c.addGiven(ctx, given)
	return err
}

// nameSitemaps makes candidates of the sitemaps in a new robots.txt of the host, and in the host's first turn of a run, which
// may be the first run with sitemaps.
func (c *linker) nameSitemaps(ctx context.Context, v *visit) error {
	if !c.cfg.Sitemaps.Robots || c.cfg.withoutMaps() || !v.learned && !v.first {
		return nil
	}
	// A host without pages in scope has no use for sitemaps. The target of a seed's redirect comes into scope only later.
	root, err := v.turn.Authority.URL("/")
	if (err != nil || !c.bounds.scope.Load().Reaches(root)) &&
		!slices.ContainsFunc(v.turn.Tasks, func(task frontier.Task) bool { return found.SeedChain(task.Candidate) }) {
		return nil
	}
	maps, refused := namedSitemaps(v.rules, v.turn.Authority)
	f := v.findings()
	for reason, n := range refused {
		f.count(budget.PrefixLinks+reason, n)
	}
	next := frontier.Candidate{Kind: frontier.KindMap, Via: gate.PolicyURL(v.turn.Authority)}
	if len(v.turn.Tasks) > 0 {
		next.Seed, next.Tag = v.turn.Tasks[0].Seed, v.turn.Tasks[0].Tag
	}
	for _, next.URL = range maps {
		c.bounds.discover(f, next, false)
	}
	if err := c.settler.refuse(ctx, v, f); err != nil {
		return err
	}
	v.accept(f)
	return nil
}

// namedSitemaps returns up to maxSitemaps sitemaps in the rules of a host, and counts the others by reason.
func namedSitemaps(r gate.Rules, a canon.Authority) (maps []canon.URL, refused map[string]int64) {
	if r.Book == nil {
		return nil, nil
	}
	base, err := canon.Parse(gate.PolicyURL(a))
	if err != nil {
		return nil, nil
	}
	refused = map[string]int64{}
	for _, ref := range r.Book.Policies()[0].Sitemaps() { // all policies have them
		u, err := base.Resolve(ref)
		switch {
		case err != nil:
			refused[prefixSitemap+string(canon.ReasonOf(err))]++
		case u == base:
			refused[prefixSitemap+sitemap.ReasonNoURL]++
		case len(maps) == maxSitemaps:
			refused[reasonSitemaps]++
		default:
			maps = append(maps, u)
		}
	}
	return maps, refused
}

// asSitemap makes a sitemap of a task that was found otherwise before it was named as one.
func (c *bounds) asSitemap(v *visit, task frontier.Task) frontier.Task {
	if task.Kind == frontier.KindMap || !c.cfg.Sitemaps.any() {
		return task
	}
	isMap, via := false, ""
	for _, u := range c.cfg.Sitemaps.URLs {
		isMap = isMap || u.Key() == task.URL.Key()
	}
	if c.cfg.Sitemaps.Robots && !isMap {
		maps, _ := namedSitemaps(v.rules, v.turn.Authority)
		for _, u := range maps {
			isMap = isMap || u.Key() == task.URL.Key()
		}
		via = gate.PolicyURL(v.turn.Authority)
	}
	if isMap {
		task.Kind, task.Via, task.Depth, task.Hops, task.Embeds, task.Away = frontier.KindMap, via, 0, 0, 0, 0
	}
	return task
}

// readSitemap makes candidates of the entries of a sitemap. All but the last batch are durable at once, and known if the turn is
// repeated.
func (c *linker) readSitemap(ctx context.Context, v *visit, x *attempt, ex *fetch.Exchange, noFollow bool, f *findings) (says listed, err error) {
	f.count(budget.Sitemaps, 1)
	if ex.Undecoded != "" {
		f.count(budget.PrefixUnparsed+"content coding", 1)
		return listed{reason: prefixSitemap + "content coding"}, nil
	}
	l := &listing{c: c, v: v, f: f, task: x.task, noFollow: noFollow, hosts: map[canon.Authority]bool{}}
	in := sitemap.Input{
		URL: x.task.URL, ContentType: mediatype.Value(ex.Header), Body: io.NewSectionReader(ex.Body, 0, ex.Body.Size()),
	}
	report, err := sitemap.Read(in, func(e sitemap.Entry) error { return l.take(ctx, e) })
	if err != nil {
		return listed{}, err
	}
	entries := report.Entries
	for reason, n := range report.Refused {
		f.count(budget.PrefixLinks+prefixSitemap+reason, int64(n))
		entries += n
	}
	f.count(budget.Listed, int64(entries))
	says = listed{reason: prefixSitemap + string(report.Format), note: fmt.Sprintf("%d of %d entries in scope", l.in, entries)}
	if finding := report.Finding; finding != nil {
		says.reason = prefixSitemap + finding.Reason
		says.note += "; " + finding.String()
		if x.found.Kind == frontier.KindMap && requestedSitemap(x.task.Candidate) && report.Entries == 0 {
			f.unanswered(c.book, x.task.Seed, says.reason)
		}
	}
	return says, nil
}

// pageInstead returns a candidate for a page named as a sitemap: some sites name their HTML sitemap, or even the
// front page.
func (c *bounds) pageInstead(x *attempt, says listed) (page frontier.Candidate, is bool) {
	page = x.found
	if page.Kind == frontier.KindMap {
		page.Kind, page.Depth, page.Hops = frontier.KindLink, 1, 0
	}
	none := says.reason == prefixSitemap+sitemap.FoundNoMap
	return page, none && (x.found.Kind != frontier.KindMap || c.scope.Load().Judge(InScope(page)).In)
}

// listed is the reason of a sitemap in the ledger.
type listed struct{ reason, note string }

// listing takes the entries of a sitemap.
type listing struct {
	c        *linker
	v        *visit
	f        *findings
	task     frontier.Task
	noFollow bool

	in    int                      // entries in scope, new or not
	maps  int                      // listed sitemaps
	hosts map[canon.Authority]bool // whether the sitemap may list these
}

// maxHosts bounds the hosts that a sitemap may list.
const maxHosts = 1000

func (l *listing) take(ctx context.Context, e sitemap.Entry) error {
	next := frontier.Candidate{URL: e.URL, Kind: frontier.KindSitemap, Via: l.task.URL.String(), Depth: 1, Seed: l.task.Seed, Tag: l.task.Tag}
	if e.Map {
		next.Kind, next.Via, next.Depth = frontier.KindMap, rootSitemap(l.task.Candidate), l.task.Depth+1
		l.maps++
	}
	speaks, err := l.speaks(ctx, e.URL.Authority())
	reason := ""
	switch {
	case err != nil:
		return err
	case !speaks:
		reason = reasonOtherHost
	case e.Map && next.Depth > maxIndexDepth:
		reason = reasonIndexDepth
	case e.Map && l.maps > maxSitemaps:
		reason = reasonSitemaps
	}
	if reason != "" {
		l.f.count(budget.PrefixLinks+reason, 1)
		return nil
	}
	if l.c.cfg.DryRun && !e.Map {
		judged := l.c.bounds.scope.Load().Judge(InScope(next))
		if judged.In {
			judged.Rule = ""
			l.in++
		}
		if l.c.cfg.DryListed != nil {
			l.c.cfg.DryListed(e.URL, judged.Rule)
		}
		return nil
	}
	before := len(l.f.urls)
	l.c.bounds.discover(l.f, next, l.noFollow)
	l.in += len(l.f.urls) - before
	if len(l.f.urls)+len(l.f.refused) < sitemapBatch {
		return nil
	}
	return l.flush(ctx)
}

// flush makes the entries so far durable.
func (l *listing) flush(ctx context.Context) error {
	if err := l.c.settler.refuse(ctx, l.v, l.f); err != nil {
		return err
	}
	added, err := l.c.cfg.Frontier.Add(ctx, l.f.urls)
	if err == nil {
		err = l.c.settler.recordBarred(ctx, l.v, l.f.urls, added)
	}
	if err != nil {
		return err
	}
	l.f.urls = nil
	l.f.added += added.New
	return nil
}

// speaks reports whether the sitemap may list a host: its own, that of the robots.txt or sitemap that led to it, or one whose
// known robots.txt names either sitemap (sitemaps.org, "Sitemaps & Cross Submits").
func (l *listing) speaks(ctx context.Context, a canon.Authority) (bool, error) {
	if a.HostPort() == l.task.URL.Authority().HostPort() {
		return true, nil
	}
	if yes, known := l.hosts[a]; known {
		return yes, nil
	}
	if len(l.hosts) == maxHosts {
		return false, nil
	}
	yes, err := l.named(ctx, a)
	if via, bad := canon.Parse(l.task.Via); bad == nil && a.HostPort() == via.Authority().HostPort() {
		yes = true
	}
	l.hosts[a] = yes
	return yes, err
}

// named reports whether the robots.txt of a names the sitemap, or the one that led to it.
func (l *listing) named(ctx context.Context, a canon.Authority) (bool, error) {
	h, ok, err := l.c.cfg.Frontier.Host(ctx, a)
	if err != nil || !ok || len(h.Robots) == 0 {
		return false, err
	}
	var state robots.State
	if err := state.UnmarshalBinary(h.Robots); err != nil {
		return false, err
	}
	r, err := l.c.gate.Of(ctx, state)
	if err != nil {
		return false, err
	}
	root, err := canon.Parse(rootSitemap(l.task.Candidate))
	if err != nil {
		root = l.task.URL
	}
	maps, _ := namedSitemaps(r, a)
	for _, u := range maps {
		if u.Key() == l.task.URL.Key() || u.Key() == root.Key() {
			return true, nil
		}
	}
	return false, nil
}
