package crawldir

import (
	"slices"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
	"curtsy/storage/plainly"
)

// MaxWorkers is the largest number of workers.
const MaxWorkers = 10_000

// Check refuses settings and seeds that cannot work, before anything is made or asked.
func (s *Settings) Check(seeds []frontier.Candidate) error {
	id := s.Identity()
	if err := id.Validate(); err != nil {
		return misuse("%w", err)
	}
	if err := s.Fleet.check(s, seeds); err != nil {
		return err
	}
	if s.Scope == "any" && s.MaxPages == 0 && s.MaxTime == 0 {
		return misuse("--scope any has no end: give --max-pages or --max-time")
	}
	if s.MinInterval <= 0 || s.MaxInterval < s.MinInterval || s.Gather <= 0 {
		return misuse("--min-interval %v, --max-interval %v, --round-interval %v: each must be above zero, and the first no longer than the second",
			plainly.Duration(s.MinInterval), plainly.Duration(s.MaxInterval), plainly.Duration(s.Gather))
	}
	if d := s.IPDelay; d < crawler.LeastIPDelay {
		return misuse("--ip-delay %v: third-party hosts may share an address; the minimum is %v", plainly.Duration(s.IPDelay), crawler.LeastIPDelay)
	}
	if s.MaxBody == 0 {
		return misuse("--max-body 0 keeps nothing of any page: leave it out for %s", plainly.Size(fetch.DefaultMaxBody))
	}
	if s.Workers > MaxWorkers {
		return misuse("--workers %d: each takes memory and a connection; %d is the most", s.Workers, MaxWorkers)
	}
	cc, err := s.CrawlerConfig(nil, nil)
	if err != nil {
		return err
	}
	if err := s.Hosts.Check(crawler.Floor); err != nil {
		return misuse("%w", err)
	}
	if err := s.checkManners(); err != nil {
		return err
	}
	if err := s.MirrorLayout().Check(); err != nil {
		return misuse("%w", err)
	}
	fc, err := s.FetchConfig(nil, "")
	if err != nil {
		return err
	}
	if err := fc.Validate(); err != nil {
		return misuse("%w", err)
	}
	abroad := s.External != "" && s.External != scope.ExternalNone
	elsewhere := func(u canon.URL) bool { return !u.Authority().Loopback() }
	requisites, _ := scope.SplitRequisites(s.Requisites)
	urls := make([]canon.URL, len(seeds))
	for i, seed := range seeds {
		urls[i] = seed.URL
	}
	if _, err := scope.New(cc.Scope, urls); err != nil {
		return misuse("%w", err)
	}
	if slices.ContainsFunc(urls, elsewhere) {
		if err := id.CheckContact(); err != nil {
			return misuse("%w", err)
		}
	}
	for _, leads := range []struct {
		flag string
		out  bool
	}{{"--scope any", s.Scope == "any"}, {"--page-requisites all", requisites == scope.RequisitesAll}, {"--external", abroad}, {"--sitemaps", cc.Sitemaps.Robots || slices.ContainsFunc(cc.Sitemaps.URLs, elsewhere)}} {
		if leads.out {
			if err := id.CheckContact(); err != nil {
				return misuse("%s may lead to other sites: %w", leads.flag, err)
			}
		}
	}
	return nil
}

// Opens refuses to begin a run outside of the window, when that opens later than MaxWait waits.
func Opens(s *Settings, now time.Time) error {
	w, err := hostrule.ParseSpans(s.Window)
	if err != nil {
		return misuse("--window %w", err)
	}
	at, ok := w.Opens(now)
	wait := at.Sub(now)
	switch {
	case !ok:
		return misuse("--window %s does not open within two weeks: the crawl would send no requests", w)
	case wait > max(s.MaxWait, 1):
		return misuse("--window %s is closed now and opens at %s, in %s, which is later than --max-wait %s allows: start then, or give --max-wait %dh",
			w, w.Clock(at), plainly.Duration(wait.Round(time.Minute)), plainly.Duration(s.MaxWait), wait/time.Hour+1)
	}
	return nil
}
