package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"curtsy/cmd/curtsy/userfile"
	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// world is what a run meets outside its settings: the network, unless it is the real one, the frontier, unless it is
// the usual one, and the file of settings to write anew once the directory is ours.
type world struct {
	config  []byte
	open    frontierOpener
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// scopeConfig is the scope that the settings ask for.
func (s *settings) scopeConfig() (scope.Config, error) {
	c := scope.Config{
		Mode: scope.Mode(s.scope), Include: s.include, Exclude: s.exclude,
		Accept: s.accept, Reject: s.reject, Requisites: s.requisites,
	}
	if s.depth != unlimited {
		depth := int(s.depth)
		c.Depth = &depth
	}
	var err error
	c.Traps, _, err = s.trapConfig()
	return c, err
}

// newScope tries the scope on seeds, so that a bad pattern is found before anything is made.
func (s *settings) newScope(seeds []frontier.Candidate) (*scope.Scope, error) {
	c, err := s.scopeConfig()
	if err != nil {
		return nil, err
	}
	us := make([]canon.URL, len(seeds))
	for i, seed := range seeds {
		us[i] = seed.URL
	}
	return scope.New(c, us)
}

// fetchConfig is how the settings reach the network. Seeds, and sitemaps of --sitemaps, that are literal loopback or private addresses, or
// localhost, may be reached; a name exempts nothing (politeness rule 23).
func (s *settings) fetchConfig(seeds []frontier.Seed, spool string, w world) (fetch.Config, error) {
	c := fetch.Config{
		Identity: s.identity(), Resolve: w.resolve, Dial: w.dial,
		SpoolDir: spool, AcceptLanguage: s.acceptLanguage, OfferZstd: s.offerZstd, MaxBody: s.maxBody, MaxRate: s.maxRate,
		LeastSpeed: s.leastSpeed,
	}
	if c.LeastSpeed == 0 {
		c.LeastSpeed = -1
	}
	if s.lists != nil {
		c.Refuse = s.refuse
	}
	for _, cidr := range s.allowNet {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return c, usagef("--allow-net %q: %w; write it like 10.1.0.0/16", cidr, err)
		}
		c.AllowNet = append(c.AllowNet, p.Masked())
	}
	maps, err := s.sitemapConfig()
	if err != nil {
		return c, err
	}
	typed := maps.URLs
	for _, seed := range seeds {
		if seed.From == "" { // where a seed redirected to is no decision of the operator
			typed = append(typed, seed.URL)
		}
	}
	met := map[canon.Authority]bool{}
	for _, u := range typed {
		a := u.Authority()
		if met[a] {
			continue
		}
		met[a] = true
		port, err := strconv.ParseUint(a.Port(), 10, 16)
		if err != nil {
			return c, fmt.Errorf("seed %s: %w", u, err)
		}
		if addr, ok := a.Addr(); ok {
			c.AllowAddr = append(c.AllowAddr, netip.AddrPortFrom(addr, uint16(port)))
		} else if a.Host() == "localhost" {
			c.AllowLocalhost = append(c.AllowLocalhost, uint16(port))
		}
	}
	if s.caFile != "" {
		pem, err := userfile.ReadAll(s.caFile, maxUserFile)
		if err != nil {
			return c, usagef("--ca-file: %w", err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return c, usagef("--ca-file %s holds no certificate in PEM form", s.caFile)
		}
	}
	return c, nil
}

// crawlerConfig is the crawl that the settings ask for, in an open directory.
func (s *settings) crawlerConfig(d *crawlDir, f *fetch.Fetcher, log func(string, ...any)) (crawler.Config, error) {
	sc, err := s.scopeConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	maps, err := s.sitemapConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	_, limits, err := s.trapConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	c := crawler.Config{
		Traps: limits, Frontier: d.frontier, Fetcher: f, Recorder: d.archive, Ledger: d.ledger, Rests: ledger.Rests(inDir(d.path, ledgerName)),
		Identity: s.identity(), Scope: sc, Sitemaps: maps, Standard: s.standard, Workers: int(s.workers),
		Delay: s.delay, IPDelay: s.ipDelay, MaxCrawlDelay: max(s.maxCrawlDelay, 1),
		MaxPages: s.maxPages, MaxPerHost: s.maxPerHost, MaxBytes: s.maxBytes, MaxTime: s.maxTime,
		MaxBody: s.maxBody, MaxWait: max(s.maxWait, 1), Log: log,
	}
	// To crawler.Config zero means the default; to who wrote it, it means none. The shortest wait there is comes near.
	if s.delay == 0 {
		c.Delay = -1
	}
	c.Asked = func() (storage.Asked, error) { return ledger.Asked(inDir(d.path, ledgerName)) }
	c.OptOut, c.KeepNoArchive, c.FollowRel = s.lists, s.keepNoArchive, s.followRel
	c.Previews = s.previews
	return c, s.own(&c)
}

// warcInfo is what the archive says of the crawl.
func (s *settings) warcInfo() warc.Info {
	return warc.Info{
		Software: "curtsy/" + version, Operator: s.operator, Contact: s.contact, Description: s.purpose,
		UserAgent: s.identity().UserAgent(), RobotsPolicy: s.standard.String(),
		Fields: append(s.politenessFields(), s.listFields()...),
	}
}

// restartPace is the pause before any host of unknown pace is asked again after a kill.
func (s *settings) restartPace() time.Duration {
	if s.loopbackForeign() {
		return max(crawler.Floor, s.delay)
	}
	return s.delay
}

// frontierOptions are what the settings ask of the frontier.
func (s *settings) frontierOptions() frontier.Options {
	return frontier.Options{
		Pace: s.restartPace(), Order: s.order, MaxSize: s.maxDBSize,
		MaxURLs: s.maxURLs, MaxURLsPerAuthority: s.maxURLsPerHost, MaxURLsPerDomain: s.maxURLsDomain,
	}
}
