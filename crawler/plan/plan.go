package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/host"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// Plan is the forecast of a crawl.
type Plan struct {
	Made      time.Time   `json:"made"`
	Seeds     int64       `json:"seeds"`
	Hosts     []Host      `json:"hosts"`               // of the seeds and the sitemaps' URLs
	Forbidden []Forbidden `json:"forbidden"`           // seeds that the crawl will not request, at most MaxForbidden
	More      int64       `json:"forbidden_more"`      // further ones
	Requests  int64       `json:"requests_made"`       // for this plan
	Ended     string      `json:"ended_by,omitempty"`  // why the dry run ended early; may be empty
	Elsewhere int64       `json:"listed_out_of_scope"` // URLs in sitemaps, but not in scope
	Uncounted int64       `json:"listed_not_judged"`   // URLs in sitemaps beyond MaxListed
	Estimate  Estimate    `json:"estimate"`
}

// Bounds of a plan.
const (
	DefaultMaps  = 10      // sitemaps read of a host
	MaxListed    = 200_000 // distinct URLs of sitemaps
	MaxForbidden = 1000    // listed forbidden seeds
)

// Host is a host of the planned crawl.
type Host struct {
	Host     string         `json:"host"`             // its origin
	Robots   string         `json:"robots"`           // the meaning of its robots.txt, in words
	Status   int            `json:"status,omitempty"` // of its robots.txt
	Pace     float64        `json:"pace_s"`
	PaceBy   storage.PaceBy `json:"pace_by"`
	Response float64        `json:"response_s,omitempty"` // usual response time
	Own      bool           `json:"own,omitempty"`
	Address  string         `json:"address,omitempty"` // shares its delay with other hosts there
	Left     string         `json:"left,omitempty"`    // why it is left alone

	Seeds     int64 `json:"seeds"`           // of the operator's
	Forbidden int64 `json:"seeds_forbidden"` // of these
	Maps      int64 `json:"sitemaps_read"`
	MapsLeft  bool  `json:"sitemaps_left,omitempty"` // it may have others
	Listed    int64 `json:"listed"`                  // URLs in scope in sitemaps, without seeds
	Disallow  int64 `json:"listed_forbidden"`        // of these, by robots.txt

	Pages    int64   `json:"pages"`    // known, allowed and within the budgets
	Requests int64   `json:"requests"` // including robots.txt and sitemaps
	Takes    float64 `json:"takes_s"`  // at the host's pace
}

// Forbidden is a seed that the crawl will not request, and why.
type Forbidden struct {
	URL    string `json:"url"`
	By     string `json:"by"`     // ByOptOut, ByScope, ByRobots or ByHost
	Reason string `json:"reason"` // the scope's rule, the robots verdict's reason, or the entry of the opt-out list
	Rule   string `json:"rule,omitempty"`
	Line   int    `json:"line,omitempty"` // of the rule in robots.txt
	Group  string `json:"group,omitempty"`
}

// Values of Forbidden.By.
const (
	ByOptOut = "opt-out"
	ByScope  = "scope"
	ByRobots = "robots.txt"
	ByHost   = "host" // left alone: see Host.Left
)

// Estimate is the estimated size and duration of a crawl.
type Estimate struct {
	Requests int64   `json:"requests"`
	Pages    int64   `json:"pages"`
	Bytes    int64   `json:"bytes"`
	Takes    float64 `json:"takes_s"`
	By       string  `json:"decided_by"` // one of the words below
	Host     string  `json:"host,omitempty"`

	Basis   []string `json:"basis"`   // assumptions
	Unknown []string `json:"unknown"` // causes that no plan can know
}

// Values of Estimate.By: the cause that determines the duration.
const (
	DecidedByHost    = "host"
	DecidedByAddress = "address"
	DecidedByWorkers = "workers"
	DecidedByRate    = "max-rate"
	DecidedByDaily   = "per-host-per-day"
	DecidedByPages   = "max-pages"
	DecidedByTime    = "max-time"
)

// Duration returns the duration of the crawl.
func (e Estimate) Duration() time.Duration { return time.Duration(e.Takes * float64(time.Second)) }

// Expect has the operator's assumptions about unknown pages.
type Expect struct {
	Pages int64 // of a host whose sitemaps list none; 0 for only the seeds
	Files int64 // images, styles, scripts and the like of each page
	Size  int64 // bytes of a page; 0 for DefaultSize
}

// DefaultSize is the assumed size of a page in bytes. It is not measured.
const DefaultSize = 32 << 10

// Options configure a plan besides the settings of its crawl.
type Options struct {
	Maps   int // maximum sitemaps read of a host; 0 for none
	Expect Expect

	// Crawl configures the dry run. Make sets its settings and its Dry fields, and calls Attend around the run.
	Crawl crawldir.Options
}

// Bounds of the dry run: it does not wait longer than longestWait for a host.
const (
	longestWait = 20 * time.Second
	longestPlan = 10 * time.Minute
)

// Make makes the plan of a crawl from seeds. It sends requests to their hosts, and does not store anything.
func Make(ctx context.Context, s *crawldir.Settings, seeds []frontier.Candidate, o Options) (p *Plan, err error) {
	tmp, err := os.MkdirTemp("", "curtsy-plan-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	dir := filepath.Join(tmp, "crawl")
	dry := asking(s, o.Maps)
	if err := crawldir.Create(ctx, dir, dry, crawldir.Given(seeds)); err != nil {
		return nil, err
	}
	if s.Lists() == nil {
		if err := s.OpenLists("", nil); err != nil {
			return nil, err
		}
	}
	g, err := newGathering(s, seeds)
	if err != nil {
		return nil, err
	}
	co := o.Crawl
	co.Settings, co.DryRun, co.DryMaps, co.DryListed, co.Unheard = dry, true, o.Maps, g.listed, true
	attend := co.Attend
	if attend == nil {
		attend = func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) { return start.Crawl.Run(ctx) }
	}
	co.Attend = func(ctx context.Context, start crawldir.Start) (crawler.Summary, error) {
		summary, err := attend(ctx, start)
		if err == nil {
			p, err = g.plan(context.WithoutCancel(ctx), start.Crawl, summary, o)
		}
		return summary, err
	}
	if _, err := crawldir.Run(ctx, dir, co); err != nil {
		return nil, err
	}
	return p, nil
}

// asking returns the settings of the dry run: the crawl's, without budgets and without storing anything.
func asking(s *crawldir.Settings, maps int) *crawldir.Settings {
	dry := *s
	dry.Order = frontier.DepthFirst // requests sitemaps, which are found after the seeds, before them
	dry.MaxWait, dry.MaxTime = longestWait, longestPlan
	dry.MaxPages, dry.MaxBytes, dry.MaxDBSize, dry.StopWhen, dry.Dedup, dry.Mirror = 0, 0, 0, nil, nil, false
	id := s.Identity()
	switch {
	case maps == 0:
		dry.Sitemaps = nil
	case !reads(s) && id.CheckContact() == nil: // sitemaps may be on other hosts, which need a contact
		dry.Sitemaps = []string{crawldir.SitemapsRobots}
	}
	return &dry
}

func reads(s *crawldir.Settings) bool {
	return len(s.Sitemaps) > 0 && s.Sitemaps[0] != crawldir.SitemapsNone
}

// reckoning is an estimate in progress.
type reckoning struct {
	s      *crawldir.Settings
	expect Expect
	hosts  []*draft
	e      Estimate
}

// estimate estimates the crawl of hosts, and sets the share of each host.
//
// A request costs its host the delay and the response time, except for the delay after the last one. The longest host
// determines the duration, or a shared address, the workers, the rate, or a budget.
func estimate(s *crawldir.Settings, hosts []*draft, p *Plan, o Options) Estimate {
	r := &reckoning{s: s, expect: o.Expect, hosts: hosts}
	if r.expect.Size == 0 {
		r.expect.Size = DefaultSize
	}
	if s.Scope == string(scope.ModeSeeds) {
		r.expect.Pages = 0 // the crawl finds no others
	}
	for _, h := range hosts {
		r.take(h)
	}
	longest := r.longest()
	r.capPages(longest)
	r.e.Bytes = r.e.Pages*r.expect.Size + max(r.e.Requests-r.e.Pages, 0)*other
	if s.MaxBytes > 0 && r.e.Bytes > s.MaxBytes {
		r.e.Bytes = s.MaxBytes
	}
	if s.MaxRate > 0 {
		r.atLeast(float64(r.e.Bytes)/float64(s.MaxRate), DecidedByRate, "")
	}
	if w, err := hostrule.ParseSpans(s.Window); err == nil && len(w) > 0 && r.e.Takes > 0 {
		at, _ := w.Opens(time.Now()) // without the wait until then
		r.e.Takes = w.Takes(at, time.Duration(r.e.Takes*float64(time.Second))).Seconds()
		r.e.Basis = append(r.e.Basis, fmt.Sprintf("Requests are sent only within %s, which is %.0f %% of the week. The times of single hosts leave out the other hours.", w, 100*w.Share()))
	}
	if t := s.MaxTime.Seconds(); t > 0 && r.e.Takes > t {
		r.e.Takes, r.e.By, r.e.Host = t, DecidedByTime, ""
	}
	r.basis()
	r.unknown(p)
	return r.e
}

const other = 16 << 10 // assumed bytes of a robots.txt, a sitemap, a picture or the like

// turn returns the seconds of a request to h.
func (h *draft) turn() float64 { return h.Pace + h.Response }

// files returns how many further requests a page causes.
func (r *reckoning) files() int64 {
	if r.s.Requisites == scope.RequisitesNone {
		return 0
	}
	return r.expect.Files
}

// take estimates the requests and the least time of a host.
func (r *reckoning) take(h *draft) {
	if h.Left != "" {
		h.Pages = 0
		return
	}
	if h.Listed == 0 && h.Pages > 0 {
		h.Pages = max(h.Pages, r.expect.Pages)
	}
	if most := smaller(r.s.MaxPerHost, h.set.MaxPerHost); most > 0 {
		h.Pages = min(h.Pages, most)
	}
	h.Requests = h.Pages*(1+r.files()) + 1
	if reads(r.s) {
		h.Requests += max(h.Maps, int64(h.maps))
	}
	h.Takes = max(float64(h.Requests)*h.turn()-h.Pace, 0)
	if open := h.set.Open(); open > 0 && open < 1 { // the share of the day in which it may be requested
		h.Takes /= open
	}
	if h.Own && h.Pace == 0 {
		h.Takes /= float64(max(r.s.PerHost, 1))
	}
	if day := r.perDay(h); day > 0 && h.Requests > day {
		h.Takes = max(h.Takes, float64((h.Requests-1)/day)*(24*time.Hour).Seconds())
	}
	r.e.Pages += h.Pages
	r.e.Requests += h.Requests
}

// perDay returns the maximum requests to h per day; zero = unlimited.
func (r *reckoning) perDay(h *draft) int64 { return smaller(r.s.PerHostPerDay, h.set.PerHostPerDay) }

// smaller returns the smaller of two limits, of which zero is unlimited.
func smaller(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func (r *reckoning) atLeast(takes float64, by, host string) {
	if takes > r.e.Takes {
		r.e.Takes, r.e.By, r.e.Host = takes, by, host
	}
}

// longest finds the cause of the duration before budgets, and returns the host that takes longest.
func (r *reckoning) longest() (longest *draft) {
	var total float64
	type sharing struct {
		hosts    int
		requests int64
	}
	at := map[netip.Prefix]sharing{}
	for _, h := range r.hosts {
		if longest == nil || h.Takes > longest.Takes {
			longest = h
		}
		by := DecidedByHost
		if day := r.perDay(h); day > 0 && h.Requests > day {
			by = DecidedByDaily
		}
		r.atLeast(h.Takes, by, h.Host.Host)
		total += float64(h.Requests) * h.Response
		if spot := h.it.Spot; spot.IsValid() && h.Requests > 0 {
			x := at[spot]
			at[spot] = sharing{x.hosts + 1, x.requests + h.Requests}
		}
	}
	for spot, x := range at {
		if x.hosts > 1 {
			r.atLeast(float64(x.requests)*r.s.IPDelay.Seconds(), DecidedByAddress, fmt.Sprintf("%d hosts of %s", x.hosts, spot.Addr()))
		}
	}
	r.atLeast(total/float64(max(r.s.Workers, 1)), DecidedByWorkers, "")
	return longest
}

// capPages shortens the crawl to the time when all hosts together reach MaxPages.
func (r *reckoning) capPages(longest *draft) {
	most := r.s.MaxPages
	if most == 0 || r.e.Pages <= most || longest == nil {
		return
	}
	each := float64(1 + r.files())
	by := func(t float64) (pages int64) {
		for _, h := range r.hosts {
			n := h.Pages
			if turn := h.turn() * each; turn > 0 {
				n = min(n, int64((t+h.Pace)/turn))
			}
			pages += n
		}
		return pages
	}
	low, high := 0.0, r.e.Takes
	for range 64 {
		if middle := (low + high) / 2; by(middle) < most {
			low = middle
		} else {
			high = middle
		}
	}
	r.e.Requests -= (r.e.Pages - most) * (1 + r.files())
	r.e.Pages = most
	if high < r.e.Takes {
		r.e.Takes, r.e.By, r.e.Host = high, DecidedByPages, ""
	}
}

func (r *reckoning) basis() {
	say := func(format string, args ...any) { r.e.Basis = append(r.e.Basis, fmt.Sprintf(format, args...)) }
	say("Known pages are the seeds and the URLs in scope that sitemaps list, each once, if robots.txt and opt-out lists allow them.")
	say("A request takes the delay and the response time of its host, as measured with robots.txt and sitemaps.")
	say("The plan assumes %s for a page and %s for any other response.", plainly.ExactSize(r.expect.Size), plainly.ExactSize(other))
	if r.expect.Pages > 0 {
		say("You expect %s of each host whose sitemaps list none.", plainly.Count(r.expect.Pages, "page"))
	}
	if n := r.files(); n > 0 {
		say("You expect %s with each page: images, styles, scripts and the like.", plainly.Count(n, "file"))
	}
}

func (r *reckoning) unknown(p *Plan) {
	say := func(format string, args ...any) { r.e.Unknown = append(r.e.Unknown, fmt.Sprintf(format, args...)) }
	var silent, left, unasked, unread int64
	slowest := 0.0
	for _, h := range r.hosts {
		switch {
		case h.Left != "":
			left++
			continue
		case !h.asked:
			unasked++
		case h.MapsLeft:
			unread++
		case h.Listed == 0 && r.expect.Pages == 0 && r.s.Scope != string(scope.ModeSeeds):
			silent++
		}
		slowest = max(slowest, h.turn())
	}
	switch {
	case silent > 0 && r.s.MaxPerHost > 0:
		say("No sitemap lists pages of %s: the number of their pages is unknown. --max-per-host allows %d each, which take %s at the longest delay here.",
			plainly.Count(silent, "host"), r.s.MaxPerHost, plainly.Duration(time.Duration(float64(r.s.MaxPerHost)*slowest)*time.Second))
	case silent > 0:
		say("No sitemap lists pages of %s: the number of their pages is unknown. Each further 1,000 pages of one host take %s at the longest delay here.",
			plainly.Count(silent, "host"), plainly.Duration(time.Duration(1000*slowest)*time.Second))
	}
	if unread > 0 {
		say("Not all sitemaps of %s were read.", plainly.Count(unread, "host"))
	}
	if p.Uncounted > 0 {
		say("Sitemaps list %s beyond the limit of this plan.", plainly.Count(p.Uncounted, "URL"))
	}
	if left > 0 {
		say("The estimate leaves out %s that cannot be contacted now but may be later.", plainly.Count(left, "host"))
	}
	if unasked > 0 {
		say("robots.txt of %s was not requested.", plainly.Count(unasked, "host"))
	}
	if r.s.Scope != string(scope.ModeSeeds) {
		beyond := ""
		if r.s.Scope == string(scope.ModeDomain) || r.s.Scope == string(scope.ModeAny) {
			beyond = " and hosts"
		}
		say("Links may lead to pages%s that no sitemap lists. Listed pages may be gone.", beyond)
		if !reads(r.s) {
			say("The crawl does not read sitemaps (--sitemaps robots), and does not find pages that only sitemaps list.")
		}
	}
	if r.s.Requisites != scope.RequisitesNone && r.expect.Files == 0 {
		say("The crawl also fetches images, styles and scripts of pages, which no sitemap lists: each is a further request.")
	}
	if r.s.MaxPerDomain > 0 || r.s.MaxPerTag > 0 || len(r.s.StopWhen) > 0 {
		say("--max-per-domain, --max-per-tag and --stop-when may end the crawl sooner.")
	}
	say("Hosts may become slower, require longer delays or fail, which lengthens the crawl.")
}

// gathering collects results of a dry run.
type gathering struct {
	settings *crawldir.Settings
	seeds    []canon.URL // each once
	scope    *scope.Scope

	mu        sync.Mutex
	keys      map[string]bool // of seeds and listed URLs
	urls      []canon.URL     // listed in sitemaps and in scope, each once
	elsewhere int64
	uncounted int64
}

func newGathering(s *crawldir.Settings, seeds []frontier.Candidate) (*gathering, error) {
	g := &gathering{settings: s, keys: map[string]bool{}}
	for _, c := range seeds {
		if !g.keys[c.URL.Key()] {
			g.keys[c.URL.Key()] = true
			g.seeds = append(g.seeds, c.URL)
		}
	}
	c, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	g.scope, err = scope.New(c, g.seeds)
	return g, err
}

// listed adds a URL from a sitemap.
func (g *gathering) listed(u canon.URL, rule string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.keys[u.Key()]:
	case rule != "":
		g.elsewhere++
	case len(g.urls) == MaxListed:
		g.uncounted++
	default:
		g.keys[u.Key()] = true
		g.urls = append(g.urls, u)
	}
}

// draft is a host of the plan in progress.
type draft struct {
	Host
	it    crawler.Met
	asked bool // the meaning of its robots.txt is known
	maps  int  // sitemaps on it that its robots.txt names
	set   hostrule.Overrides
}

// plan makes the plan after the run.
func (g *gathering) plan(ctx context.Context, c *crawler.Crawl, s crawler.Summary, o Options) (*Plan, error) {
	p := &Plan{
		Made: time.Now().UTC(), Seeds: int64(len(g.seeds)), Requests: s.Status.Exchanges, Forbidden: []Forbidden{},
		Elsewhere: g.elsewhere, Uncounted: g.uncounted,
	}
	if s.EndedBy != crawler.EndedDrained && s.EndedBy != crawler.EndedWaiting {
		p.Ended = s.EndedBy
	}
	hosts := map[canon.Authority]*draft{}
	of := func(u canon.URL) (*draft, error) {
		h := hosts[u.Authority()]
		if h != nil {
			return h, nil
		}
		h, err := g.host(ctx, c, u.Authority(), o.Maps)
		hosts[u.Authority()] = h
		return h, err
	}
	for _, u := range g.seeds {
		h, err := of(u)
		if err != nil {
			return nil, err
		}
		h.Seeds++
		f, no := g.forbids(u, h)
		switch {
		case !no:
			h.Pages++
			continue
		case len(p.Forbidden) < MaxForbidden:
			p.Forbidden = append(p.Forbidden, f)
		default:
			p.More++
		}
		h.Forbidden++
	}
	for _, u := range g.urls {
		h, err := of(u)
		if err != nil {
			return nil, err
		}
		h.Listed++
		switch {
		case h.Left != "" || g.settings.Lists().URL(u) != nil:
		case !h.judge(u).Allowed:
			h.Disallow++
		default:
			h.Pages++
		}
	}
	all := slices.SortedFunc(maps.Values(hosts), func(a, b *draft) int { return cmp.Compare(a.Host.Host, b.Host.Host) })
	p.Estimate = estimate(g.settings, all, p, o)
	for _, h := range all {
		p.Hosts = append(p.Hosts, h.Host)
	}
	return p, nil
}

// host returns the run's knowledge of a host.
func (g *gathering) host(ctx context.Context, c *crawler.Crawl, a canon.Authority, maps int) (*draft, error) {
	h := &draft{Host: Host{Host: a.Origin(), Robots: notAsked, Pace: max(g.settings.Delay, crawler.Floor).Seconds(), PaceBy: storage.ByFloor}, set: g.settings.Hosts.Of(a)}
	m, ok, err := c.Met(ctx, a)
	if err != nil || !ok {
		return h, err
	}
	h.it = m
	h.Own, h.Pace, h.PaceBy, h.Response = m.Own, m.Pace.Pause.Seconds(), m.Pace.By, m.Response.Seconds()
	h.Left, h.Status, h.Maps = m.Left, m.State.Status(), m.Maps
	if m.Spot.IsValid() {
		h.Address = m.Spot.Addr().String()
	}
	h.asked, h.Robots = meaning(m.State)
	if book := m.Rules.Book; book != nil {
		base, err := a.URL("/robots.txt")
		if err != nil {
			return h, err
		}
		for _, ref := range book.Policies()[0].Sitemaps() {
			if u, err := base.Resolve(ref); err == nil && u.Authority() == a {
				h.maps++
			}
		}
	}
	h.MapsLeft = int64(h.maps) > m.Maps || m.Maps > 0 && m.Maps == int64(maps)
	return h, nil
}

const notAsked = "not requested"

// meaning describes a robots state, and reports whether it is known.
func meaning(s robots.State) (known bool, words string) {
	if v, ok := s.Verdict(); ok {
		if v.Allowed {
			return true, "none: everything is allowed"
		}
		return true, "unavailable, so nothing is allowed: " + plainly.Reason(host.WhyUnreachable(s))
	}
	if _, ok := s.Body(); ok {
		return true, "rules"
	}
	return false, notAsked
}

// judge returns the verdict of a host's robots.txt. An unrequested one allows everything.
func (h *draft) judge(u canon.URL) robots.Verdict {
	if !h.asked {
		return robots.Verdict{Allowed: true}
	}
	return h.it.Rules.Judge(u.RequestURI())
}

// forbids reports whether a seed is forbidden, and why.
func (g *gathering) forbids(u canon.URL, h *draft) (f Forbidden, no bool) {
	f.URL = u.String()
	if hit := g.settings.Lists().URL(u); hit != nil {
		f.By, f.Reason, f.Rule = ByOptOut, hit.Reason, hit.Text
		return f, true
	}
	if judged := g.scope.Judge(scope.Candidate{URL: u, Seed: true}); !judged.In {
		f.By, f.Reason = ByScope, judged.Rule
		return f, true
	}
	if v := h.judge(u); !v.Allowed {
		f.By, f.Reason, f.Rule, f.Line, f.Group = ByRobots, string(v.Reason), v.Rule, v.Line, v.Group
		return f, true
	}
	if h.Left != "" {
		f.By, f.Reason = ByHost, h.Left
		return f, true
	}
	return f, false
}
