package plan

import (
	"fmt"
	"net/netip"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// reckoning is an estimate in the making.
type reckoning struct {
	s      *crawldir.Settings
	expect Expect
	hosts  []*met
	e      Estimate
}

// estimate says how long the crawl of hosts takes, and fills in what each host takes.
//
// A request costs its host the pace and the response time, and the pace is not waited for after the last one. The host that
// takes longest decides, or an address that several hosts share, the workers, the rate, or a budget.
func estimate(s *crawldir.Settings, hosts []*met, p *Plan, o Options) Estimate {
	r := &reckoning{s: s, expect: o.Expect, hosts: hosts}
	if r.expect.Size == 0 {
		r.expect.Size = DefaultSize
	}
	if s.Scope == string(scope.ModeSeeds) {
		r.expect.Pages = 0 // it finds nothing else
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
	r.within()
	r.bound()
	r.basis()
	r.unknown(p)
	return r.e
}

// other is what a request for something else than a page is taken for, in bytes: robots.txt, a sitemap, a picture.
const other = 16 << 10

// turn is what a request to h costs it, in seconds.
func (h *met) turn() float64 { return h.Pace + h.Response }

// files are the requests that a page brings beside its own.
func (r *reckoning) files() int64 {
	if r.s.Requisites == scope.RequisitesNone {
		return 0
	}
	return r.expect.Files
}

// take reckons what a host takes for itself.
func (r *reckoning) take(h *met) {
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
	if open := h.set.Open(); open > 0 && open < 1 { // the hours of the day, without which one it begins in
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

// perDay is how many requests h gets in a day; zero for any number.
func (r *reckoning) perDay(h *met) int64 { return smaller(r.s.PerHostPerDay, h.set.PerHostPerDay) }

// smaller is the smaller of two limits, of which zero is none.
func smaller(a, b int64) int64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// atLeast makes what takes longest decide.
func (r *reckoning) atLeast(takes float64, by, host string) {
	if takes > r.e.Takes {
		r.e.Takes, r.e.By, r.e.Host = takes, by, host
	}
}

// longest finds what decides before budgets do, and returns the host that takes longest.
func (r *reckoning) longest() (longest *met) {
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

// capPages shortens the crawl where MaxPages ends it: when all hosts together have so many.
func (r *reckoning) capPages(longest *met) {
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

// within lets nothing be asked outside of the window. What the crawl finds closed when it begins is not reckoned.
func (r *reckoning) within() {
	if w, err := hostrule.ParseSpans(r.s.Window); err == nil && len(w) > 0 && r.e.Takes > 0 {
		at, _ := w.Opens(time.Now())
		r.e.Takes = w.Takes(at, time.Duration(r.e.Takes*float64(time.Second))).Seconds()
		r.e.Basis = append(r.e.Basis, fmt.Sprintf("Requests are sent only within %s, which is %.0f %% of the week. The times of single hosts leave out the other hours.", w, 100*w.Share()))
	}
}

// bound ends it where MaxTime does.
func (r *reckoning) bound() {
	if t := r.s.MaxTime.Seconds(); t > 0 && r.e.Takes > t {
		r.e.Takes, r.e.By, r.e.Host = t, DecidedByTime, ""
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
