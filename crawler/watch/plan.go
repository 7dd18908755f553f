package watch

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/freshness"
	"curtsy/crawler/sitemap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/hostrule"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// Options are what a watch goes by. The zero value of each field means its default.
type Options struct {
	Policy freshness.Policy
	// PerDay is how many requests a host gets within 24 hours; it is the setting of the crawl. Zero means DefaultPerDay.
	PerDay int64
	// Hosts are those of the crawl: some may get fewer.
	Hosts hostrule.Rules
	// Gather is the shortest time from one round to the next, so that a round has several pages. Zero means an hour.
	Gather time.Duration
}

// DefaultPerDay is how many requests a host gets within 24 hours by default.
const DefaultPerDay = 1000

func (o Options) withDefaults() Options {
	o.Policy = o.Policy.WithDefaults()
	if o.PerDay == 0 {
		o.PerDay = DefaultPerDay
	}
	if o.Gather <= 0 {
		o.Gather = crawldir.DefaultGather
	}
	return o
}

// reserve is the share of a host's budget that is left for robots.txt, redirects and new pages.
const reserve = 0.1

// retiredFor is for how long a host that was given up is left alone.
const retiredFor = 24 * time.Hour

// An Entry is what is planned of one URL.
type Entry struct {
	URL      string        `json:"url"`
	Visits   int           `json:"visits"`  // that told what is there
	Changes  int           `json:"changes"` // of these, with a change
	Rate     float64       `json:"rate"`    // changes a day, estimated
	Interval time.Duration `json:"-"`
	Seconds  float64       `json:"interval_seconds"`
	Last     time.Time     `json:"last,omitzero"` // the last visit, or attempt
	Due      time.Time     `json:"due,omitzero"`  // zero for never
	Why      string        `json:"why"`           // a freshness.By, or why the host is not asked

	html bool
}

// Plan is what is planned of a crawl, as of one instant.
type Plan struct {
	Now  time.Time
	URLs int       // that are watched
	Due  []Entry   // to be asked for now
	Next time.Time // when there is more to be asked for; zero for never

	why, first string                    // what decided Next, and the URL that is due then
	kept       int64                     // pages that are not due
	keptOf     map[canon.Authority]int64 // of a host
	retired    map[canon.Authority]bool  // hosts that may be tried again
	asked      map[string]bool           // URLs of Due
}

// MakePlan plans what is to be asked for in the crawl in dir, which no process has. Each is told of all that is watched,
// host by host; nil for nobody.
func MakePlan(ctx context.Context, dir string, o Options, each func(Entry) error) (_ *Plan, err error) {
	o = o.withDefaults()
	m := &making{
		o: o, each: each, hosts: map[canon.Authority]frontier.Host{},
		plan: &Plan{Now: time.Now(), keptOf: map[canon.Authority]int64{}, retired: map[canon.Authority]bool{}, asked: map[string]bool{}},
	}
	_, hosts, err := crawldir.Left(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		m.hosts[h.Authority] = h
	}
	daily, err := crawldir.Daily(dir, &crawldir.Settings{PerHostPerDay: o.PerDay, Hosts: o.Hosts}, m.plan.Now)
	if err != nil {
		return nil, err
	}
	m.left = daily.Left
	lines := sorted.NewRows[visit]("", crawldir.SortedMemory)
	defer func() { err = errors.Join(err, lines.Close()) }()
	maps := map[string]bool{}
	for l, err := range crawldir.Decisions(filepath.Join(dir, crawldir.LedgerName)) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = addVisit(lines, &l)
		}
		if err != nil {
			return nil, err
		}
		if l.Kind == storage.KindMap && l.Outcome == storage.OutcomeFetched {
			maps[l.URL] = true
		}
	}
	if err := addHints(ctx, dir, maps, lines); err != nil {
		return nil, err
	}
	return m.plan, m.all(pagesOf(ctx, lines))
}

// making is a plan in the making.
type making struct {
	o     Options
	each  func(Entry) error
	hosts map[canon.Authority]frontier.Host
	left  func(canon.Authority, time.Time) (int64, time.Duration)
	plan  *Plan
}

// all plans the pages of one host after the other.
func (m *making) all(pages iter.Seq2[*page, error]) error {
	var of []*page
	for p, err := range pages {
		if err != nil {
			return err
		}
		if len(of) > 0 && of[0].authority != p.authority {
			if err := m.host(of); err != nil {
				return err
			}
			of = of[:0]
		}
		of = append(of, p)
	}
	if len(of) == 0 {
		return nil
	}
	return m.host(of)
}

// watched reports whether a page is asked for again. What an operator, scope or trap left out is not.
func (p *page) watched() bool {
	return p.outcome != storage.OutcomeDropped && p.outcome != storage.OutcomeHeld
}

// host plans the pages of one host.
func (m *making) host(pages []*page) error {
	pages = slices.DeleteFunc(slices.Clone(pages), func(p *page) bool { return !p.watched() })
	if len(pages) == 0 {
		return nil
	}
	now, a := m.plan.Now, pages[0].authority
	why, until := m.closed(pages)
	listed := 0
	all := make([]freshness.Page, len(pages))
	for i, p := range pages {
		all[i] = freshness.Page{Rate: p.history.Rate(freshness.Said(p.frequency)), Quick: p.history.Rate(freshness.Quick), Holds: p.holds}
		if p.modified.After(p.tried) && !p.modified.After(now) {
			listed++
		}
	}
	believed := freshness.Believed(listed, len(pages))
	intervals := m.o.Policy.Allot(all, float64(m.o.PerDay)*(1-reserve))
	entries := make([]Entry, len(pages))
	for i, p := range pages {
		hint := p.modified
		if !believed {
			hint = time.Time{}
		}
		due, by := m.o.Policy.Due(p.tried, intervals[i], hint, now)
		e := Entry{
			URL: p.url, Visits: p.history.Visits, Changes: p.history.Changes, Rate: all[i].Rate, Interval: intervals[i].Every,
			Seconds: intervals[i].Every.Seconds(), Last: p.tried, Due: due, Why: string(by), html: p.isHTML,
		}
		if why != "" && (until.IsZero() || !due.After(until)) {
			e.Due, e.Why = until, why
		}
		entries[i] = e
		if m.each != nil {
			if err := m.each(e); err != nil {
				return err
			}
		}
	}
	m.plan.URLs += len(pages)
	m.choose(a, entries, why, until)
	return nil
}

// choose takes those of a host's pages that are due, the longest overdue first, as far as its budget goes.
func (m *making) choose(a canon.Authority, entries []Entry, why string, until time.Time) {
	now := m.plan.Now
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Compare(float64(now.Sub(b.Due))/float64(b.Interval), float64(now.Sub(a.Due))/float64(a.Interval))
	})
	n, wait := m.left(a, now)
	for _, e := range entries {
		late := !e.Due.After(now)
		switch {
		case why != "" && until.IsZero():
		case late && why == "" && n > 0:
			n--
			m.plan.Due = append(m.plan.Due, e)
			m.plan.asked[e.URL] = true
			continue
		case late && why == "":
			m.wake(now.Add(max(wait, m.o.Gather)), budget.PerHostPerDay, e.URL)
		default:
			m.wake(e.Due, e.Why, e.URL)
		}
		if e.html {
			m.plan.kept++
			m.plan.keptOf[a]++
		}
	}
}

// wake notes that something is to be asked for at some time.
func (m *making) wake(at time.Time, why, url string) {
	if m.plan.Next.IsZero() || at.Before(m.plan.Next) {
		m.plan.Next, m.plan.why, m.plan.first = at, why, url
	}
}

// closed says why a host is not asked, and until when; zero for as long as nobody says otherwise.
func (m *making) closed(pages []*page) (why string, until time.Time) {
	now := m.plan.Now
	h, known := m.hosts[pages[0].authority]
	switch {
	case !known:
		return "", now
	case h.Hold.Act != 0:
		return "held by an operator", time.Time{}
	case h.Condition == frontier.Refused:
		return "the host refuses", time.Time{}
	case h.Condition == frontier.Retired:
		last := time.Time{}
		for _, p := range pages {
			if p.tried.After(last) {
				last = p.tried
			}
		}
		if again := last.Add(retiredFor); again.After(now) && h.Reason != "budget: "+budget.MaxPerHost {
			return "the host was given up for a day", again
		}
		m.plan.retired[h.Authority] = true
	case h.Wait > 0:
		return "the host rests", now.Add(h.Wait)
	}
	return "", now
}

// round is what a round asks for by this plan.
func (p *Plan) round() crawldir.Round {
	return crawldir.Round{
		Due:         func(e frontier.Entry) bool { return p.asked[e.URL.String()] },
		Retired:     func(a canon.Authority) bool { return p.retired[a] },
		Pages:       p.kept,
		PagesOfHost: func(a canon.Authority) uint64 { return uint64(p.keptOf[a]) },
	}
}

// addHints adds what the archived sitemaps say of pages, those of a host of its own pages alone. A sitemap that cannot be
// read says nothing.
func addHints(ctx context.Context, dir string, of map[string]bool, to *sorted.Rows[visit]) error {
	if len(of) == 0 {
		return nil
	}
	files, err := cdxj.Files(filepath.Join(dir, crawldir.IndexName))
	if err != nil {
		return err
	}
	archive := &crawldir.Past{
		Archive: filepath.Join(dir, crawldir.ArchiveName), Index: crawldir.Complete(files),
		Before: time.Now(), MaxBody: sitemap.MaxSize,
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		u, err := canon.Parse(name)
		if err != nil {
			continue
		}
		if err := hintsOf(ctx, archive, u, to); err != nil {
			return err
		}
	}
	return nil
}

func hintsOf(ctx context.Context, archive *crawldir.Past, u canon.URL, to *sorted.Rows[visit]) error {
	last, err := archive.Last(ctx, u)
	if err != nil || last == nil || last.Body == nil {
		return err
	}
	body, file, err := last.Body()
	if err != nil {
		return nil // a damaged archive is for curtsy audit to find
	}
	defer file.Close()
	in := sitemap.Input{URL: u, ContentType: mediatype.Value(last.Header), Body: body}
	_, err = sitemap.Read(in, func(e sitemap.Entry) error {
		if e.URL.Authority() != u.Authority() || e.LastMod.IsZero() && e.ChangeFreq == "" {
			return nil
		}
		return addHint(to, e.URL, e.LastMod, e.ChangeFreq)
	})
	return err
}
