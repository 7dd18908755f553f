package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/freshness"
	"curtsy/crawler/sitemap"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/hostrule"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// A Watch repeats a crawl in rounds:
//
//	for {
//		more, err := w.Next(ctx)
//		if !more || err != nil { … }
//		result, err := crawldir.Run(ctx, w.Dir, crawldir.Options{Settings: w.Settings})
//	}
//
// The directory is free while Next sleeps. The next watch first completes interrupted work.
type Watch struct {
	Dir      string
	Settings *crawldir.Settings // PerHostPerDay is not zero
	Options  Options
	End      time.Time // of the watch; zero for never
	Once     bool      // make only the visits due now

	// Round is called when a round begins, Sleep before a sleep. Both may be nil.
	Round func(g budget.Generation, p *Plan)
	Sleep func(status.Watch)

	notBefore time.Time    // the next look
	is        status.Watch // the reason for that time
	finished  bool         // pending URLs had their run
	began     bool         // a round began
}

// BusyElsewhere is the reason for waiting while another command holds the directory.
const BusyElsewhere = "another command has the directory"

const (
	busyShare  = 20          // least ratio of the time between two plans to the time of making one
	leastSleep = time.Second // between plans
)

// Next waits until a run has something to do in the directory: pending URLs, or a round that Next began. It returns false at
// the end of the watch, and the error of ctx when that ends.
func (w *Watch) Next(ctx context.Context) (more bool, err error) {
	for {
		if w.Once && w.began {
			return false, nil
		}
		until := w.notBefore
		if !w.End.IsZero() && w.End.Before(until) {
			until = w.End
		}
		if !w.Once && w.Sleep != nil && time.Until(until) > 0 {
			is := w.is
			if is.Next = until.UTC(); until.Equal(w.End) {
				is = status.Watch{Ends: w.End.UTC(), Why: "for", URLs: w.is.URLs}
			}
			w.Sleep(is)
		}
		if !w.Once && !sleep(ctx, time.Until(until)) {
			return false, ctx.Err()
		}
		if !w.End.IsZero() && !time.Now().Before(w.End) {
			return false, nil
		}
		if more, err = w.look(ctx); more || err != nil && !elsewhere(err) {
			return more, err
		}
		if w.Once {
			return false, err
		}
		if err != nil { // another process uses the directory
			w.is = status.Watch{Why: BusyElsewhere, URLs: w.is.URLs}
			w.notBefore = time.Now().Add(max(leastSleep, min(w.Options.withDefaults().Gather, time.Minute)))
		}
	}
}

// elsewhere reports whether another process holds the directory, or held it a moment ago.
func elsewhere(err error) bool {
	return errors.Is(err, frontier.ErrInUse) || errors.Is(err, crawldir.ErrTouched) || errors.Is(err, crawldir.ErrNotEnded)
}

// look begins due visits, or sets the time of the next look.
func (w *Watch) look(ctx context.Context) (more bool, err error) {
	began, o := time.Now(), w.Options.withDefaults()
	o.PerDay, o.Hosts = w.Settings.PerHostPerDay, w.Settings.Hosts
	w.notBefore, w.is = began.Add(o.Gather), status.Watch{Why: "gather", URLs: w.is.URLs}
	spans, err := hostrule.ParseSpans(w.Settings.Window)
	if at, ok := spans.Opens(began); err == nil && ok && at.After(began) && !w.Once {
		w.notBefore, w.is.Why = at, "window"
		return false, nil
	}
	left, _, err := crawldir.Left(ctx, w.Dir)
	if err != nil {
		return false, err
	}
	if left.Asked && left.Due <= w.Settings.MaxWait && !(w.Once && w.finished) {
		w.finished = true
		return true, nil
	}
	p, err := MakePlan(ctx, w.Dir, o, nil)
	if err != nil {
		return false, err
	}
	w.is.URLs = p.URLs
	if len(p.Due) > 0 {
		g, err := crawldir.BeginRound(ctx, w.Dir, w.Settings, p.round())
		if err != nil {
			return false, err
		}
		if least := began.Add(busyShare * time.Since(began)); least.After(w.notBefore) {
			w.notBefore = least
		}
		if w.began = true; w.Round != nil {
			w.Round(g, p)
		}
		return true, nil
	}
	w.notBefore = w.wake(p, left, began)
	switch w.is.Why = "nothing is due"; {
	case w.notBefore.Equal(p.Next):
		w.is.Why, w.is.URL = p.why, p.first
	case left.Asked:
		w.is.Why = "hosts back off"
	}
	return false, nil
}

// wake returns when there may be something to do again.
func (w *Watch) wake(p *Plan, left crawldir.Pending, began time.Time) time.Time {
	now := time.Now()
	next := p.Next
	if at := now.Add(left.Due - w.Settings.MaxWait); left.Asked && (next.IsZero() || at.Before(next)) {
		next = at
	}
	if most := now.Add(24 * time.Hour); next.IsZero() || next.After(most) {
		next = most // an operator may have released something
	}
	if least := began.Add(max(busyShare*time.Since(began), leastSleep)); next.Before(least) {
		next = least
	}
	return next
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Options configure a watch. The zero value of each field means its default.
type Options struct {
	Policy freshness.Policy
	// PerDay is the maximum number of requests to a host within 24 hours, as in the crawl's settings. Zero means DefaultPerDay.
	PerDay int64
	// Hosts are the crawl's rules for single hosts, which may lower PerDay.
	Hosts hostrule.Rules
	// Gather is the shortest time between two rounds, so that a round has several pages. Zero means an hour.
	Gather time.Duration
}

// DefaultPerDay is the default of Options.PerDay.
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

const (
	reserve    = 0.1            // share of a host's budget for robots.txt, redirects and new pages
	retiredFor = 24 * time.Hour // before the watch tries a retired host again
)

// An Entry is the plan for one URL.
type Entry struct {
	URL      string        `json:"url"`
	Visits   int           `json:"visits"`  // that showed the content
	Changes  int           `json:"changes"` // of these, with a change
	Rate     float64       `json:"rate"`    // estimated changes per day
	Interval time.Duration `json:"-"`
	Seconds  float64       `json:"interval_seconds"`
	Last     time.Time     `json:"last,omitzero"` // the last visit or attempt
	Due      time.Time     `json:"due,omitzero"`  // zero for never
	Why      string        `json:"why"`           // a freshness.By, or why the host is not requested

	html bool
}

// Plan is the plan for a crawl at one instant.
type Plan struct {
	Now  time.Time
	URLs int       // watched
	Due  []Entry   // to request now
	Next time.Time // the next due time; zero for never

	why, first string                    // the reason for Next, and the URL that is due then
	kept       int64                     // pages that are not due
	keptOf     map[canon.Authority]int64 // by host
	retired    map[canon.Authority]bool  // hosts to try again
	asked      map[string]bool           // URLs of Due
}

// MakePlan plans the requests of the crawl in dir, which no process holds. each receives all watched URLs; it may be nil.
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

type making struct {
	o     Options
	each  func(Entry) error
	hosts map[canon.Authority]frontier.Host
	left  func(canon.Authority, time.Time) (int64, time.Duration)
	plan  *Plan
}

// all plans the pages of one host after another.
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

func (m *making) host(pages []*page) error {
	// URLs that an operator, the scope or a trap excluded are not watched.
	pages = slices.DeleteFunc(slices.Clone(pages), func(p *page) bool {
		return p.outcome == storage.OutcomeDropped || p.outcome == storage.OutcomeHeld
	})
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
			Seconds: intervals[i].Every.Seconds(), Last: p.tried.UTC(), Due: due.UTC(), Why: string(by), html: p.isHTML,
		}
		if why != "" && (until.IsZero() || !due.After(until)) {
			e.Due, e.Why = until.UTC(), why
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

// choose selects a host's due pages, the longest overdue first, within its budget.
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

// wake moves Next forward.
func (m *making) wake(at time.Time, why, url string) {
	if m.plan.Next.IsZero() || at.Before(m.plan.Next) {
		m.plan.Next, m.plan.why, m.plan.first = at, why, url
	}
}

// closed returns why a host is not requested, and until when; zero for an unlimited time.
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

// round returns the round of this plan.
func (p *Plan) round() crawldir.Round {
	return crawldir.Round{
		Due:         func(e frontier.Entry) bool { return p.asked[e.URL.String()] },
		Retired:     func(a canon.Authority) bool { return p.retired[a] },
		Pages:       p.kept,
		PagesOfHost: func(a canon.Authority) uint64 { return uint64(p.keptOf[a]) },
	}
}

// addHints adds the hints in archived sitemaps about pages of their own hosts. Unreadable sitemaps are skipped.
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
		return nil // curtsy audit reports a damaged archive
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

// page is a URL with its history from the ledger and sitemaps.
type page struct {
	url       string
	authority canon.Authority
	history   freshness.History
	tried     time.Time       // the last line that closed it
	outcome   storage.Outcome // of that line
	content   storage.Outcome // of the last line that showed the content
	isHTML    bool            // counts as a page for budgets
	holds     time.Duration
	modified  time.Time // lastmod of a sitemap
	frequency string    // changefreq of a sitemap
	payload   string
}

// The kinds of sorted lines, in their order.
const (
	sortedVisit = "1"
	sortedHint  = "2"
)

// closed are the outcomes that close a URL.
var closed = map[storage.Outcome]bool{
	storage.OutcomeFetched: true, storage.OutcomeRedirected: true, storage.OutcomeGone: true,
	storage.OutcomeFailed: true, storage.OutcomeDisallowed: true, storage.OutcomeDropped: true, storage.OutcomeHeld: true,
}

// addVisit adds a ledger line, if it closed a URL.
func addVisit(to *sorted.Rows[visit], l *storage.Line) error {
	if !closed[l.Outcome] || l.Count > 0 {
		return nil
	}
	u, err := canon.Parse(l.URL)
	if err != nil || strings.ContainsAny(l.URL, "\t\n\x00") {
		return nil // no crawl has such URLs
	}
	return to.Add(strings.Join([]string{u.Authority().Origin(), l.URL, sortedVisit}, "\t"), visit{
		At: l.Time, Outcome: l.Outcome, Change: l.Change, Status: l.Status,
		HTML: mediatype.Type{Name: l.Type}.IsHTML(), Modified: l.Modified, Holds: l.Holds.Truncate(time.Second), Payload: l.Payload,
	})
}

// addHint adds a hint of a sitemap. Hints sort by the time of modification.
func addHint(to *sorted.Rows[visit], u canon.URL, modified time.Time, frequency string) error {
	if y := modified.Year(); y < 0 || y > 9999 { // JSON cannot encode such times
		modified = time.Time{}
	}
	key := fmt.Sprintf("%s\t%s\t%s%011d", u.Authority().Origin(), u, sortedHint, max(modified.Unix(), 0))
	return to.Add(key, visit{Modified: modified, Frequency: frequency})
}

// pagesOf yields the pages of sorted rows, host by host.
func pagesOf(ctx context.Context, from *sorted.Rows[visit]) iter.Seq2[*page, error] {
	return func(yield func(*page, error) bool) {
		var p *page
		for row, err := range from.All() {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			f := strings.Split(row.Key, "\t")
			if p == nil || p.url != f[1] {
				if p != nil && !p.tried.IsZero() && !yield(p, nil) {
					return
				}
				u, err := canon.Parse(f[1])
				if err != nil {
					yield(nil, fmt.Errorf("watch: %w", err))
					return
				}
				p = &page{url: f[1], authority: u.Authority()}
			}
			if f[2] == sortedVisit {
				p.add(row.Value)
				continue
			}
			if p.frequency = row.Value.Frequency; !row.Value.Modified.IsZero() {
				p.modified = row.Value.Modified
				p.history.Listed(p.modified)
			}
		}
		if p != nil && !p.tried.IsZero() {
			yield(p, nil)
		}
	}
}

// visit is a ledger line, or a hint of a sitemap.
type visit struct {
	At       time.Time
	Outcome  storage.Outcome
	Change   storage.Change `json:",omitempty"`
	Status   int            `json:",omitempty"`
	HTML     bool           `json:",omitempty"`
	Modified time.Time      `json:",omitzero"`
	Holds    time.Duration  `json:",omitempty"`
	Payload  string         `json:",omitempty"`

	Frequency string `json:",omitempty"` // only of hints
}

func (p *page) add(v visit) {
	p.tried, p.outcome = v.At, v.Outcome
	switch v.Outcome {
	case storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeGone:
	default:
		return // which does not concern the page
	}
	if v.Change == storage.ChangeFresh {
		return // without a request
	}
	confirmed := v.Status == 304
	if !confirmed {
		p.isHTML, p.holds = v.Outcome == storage.OutcomeFetched && v.HTML, 0
	}
	if v.Holds > 0 {
		p.holds = v.Holds
	}
	changed := v.Change == storage.ChangeChanged || v.Change == storage.ChangeNew || v.Change == storage.ChangeGone
	if v.Change == "" { // for example a retry in the first generation, or a page that is still gone
		changed = p.content != v.Outcome || v.Outcome == storage.OutcomeFetched && p.payload != v.Payload
	}
	p.content = v.Outcome
	if !confirmed {
		p.payload = v.Payload
	}
	p.history.Visit(v.At, changed, v.Modified)
}
