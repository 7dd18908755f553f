package crawldir

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
	"curtsy/storage/warc"
)

// ScopeConfig is the scope that the settings ask for.
func (s *Settings) ScopeConfig() (scope.Config, error) {
	c := scope.Config{
		Mode: scope.Mode(s.Scope), Include: s.Include, Exclude: s.Exclude,
		Accept: s.Accept, Reject: s.Reject, External: s.External, Hosts: s.Hosts,
	}
	c.Requisites, c.Scripts = scope.SplitRequisites(s.Requisites)
	if s.Depth != Unlimited {
		depth := int(s.Depth)
		c.Depth = &depth
	}
	var err error
	if c.Sample, err = s.sample(); err != nil {
		return c, err
	}
	c.Traps, _, err = s.trapConfig()
	return c, err
}

// sample is the share of the crawl that the settings ask for.
func (s *Settings) sample() (scope.Sample, error) {
	sample, err := scope.ParseSample(s.Sample)
	switch {
	case err != nil:
		return sample, misuse("--sample %w", err)
	case s.SampleSeeds && s.Sample == "":
		return sample, misuse("--sample-seeds also draws the seeds: it needs --sample")
	case s.SampleKey == "":
		return sample, misuse("--sample-key is empty; leave it out for %q", scope.DefaultSampleKey)
	}
	sample.Key, sample.Seeds = s.SampleKey, s.SampleSeeds
	return sample, nil
}

// stopWhen are the conditions that end the crawl. The word none alone stands for none, so that a later run can be without.
func (s *Settings) stopWhen() (all []budget.Condition, err error) {
	if len(s.StopWhen) == 1 && s.StopWhen[0] == "none" {
		return nil, nil
	}
	for _, text := range s.StopWhen {
		c, err := budget.Parse(text)
		if err != nil {
			return nil, misuse("--stop-when %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// FetchConfig is how the settings reach the network. Seeds, and sitemaps of --sitemaps, that are literal loopback or private addresses, or
// localhost, may be reached; a name exempts nothing (politeness rule 23).
func (s *Settings) FetchConfig(seeds []frontier.Seed, spool string) (fetch.Config, error) {
	c := fetch.Config{
		Identity: s.Identity(),
		SpoolDir: spool, AcceptLanguage: s.AcceptLanguage, AcceptZstd: s.AcceptZstd, MaxBody: s.MaxBody, MaxRate: s.MaxRate,
		MinRate: s.MinRate,
	}
	if c.MinRate == 0 {
		c.MinRate = -1
	}
	var err error
	if c.Signer, err = s.signer(); err != nil {
		return c, err
	}
	if s.lists != nil {
		c.Refuse = s.refuse
	}
	for _, cidr := range s.AllowNet {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return c, misuse("--allow-net %q is not a range of addresses: write it like 10.1.0.0/16", cidr)
		}
		c.AllowNet = append(c.AllowNet, p.Masked())
	}
	if err := s.way(&c); err != nil {
		return c, misuse("%w", err)
	}
	maps, err := s.SitemapConfig()
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
	if s.CAFile != "" {
		pem, err := userfile.ReadAll(s.CAFile, maxUserFile)
		if err != nil {
			return c, misuse("--ca-file: %w", err)
		}
		if c.RootCAs, err = x509.SystemCertPool(); err != nil {
			c.RootCAs = x509.NewCertPool()
		}
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return c, misuse("--ca-file %s holds no certificate in PEM form", s.CAFile)
		}
	}
	return c, nil
}

// CrawlerConfig is the crawl that the settings ask for, but for the frontier, the archive and the ledger.
func (s *Settings) CrawlerConfig(f *fetch.Fetcher, log func(string, ...any)) (crawler.Config, error) {
	sc, err := s.ScopeConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	maps, err := s.SitemapConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	_, limits, err := s.trapConfig()
	if err != nil {
		return crawler.Config{}, err
	}
	conditions, err := s.stopWhen()
	if err != nil {
		return crawler.Config{}, err
	}
	spans, err := hostrule.ParseSpans(s.Window)
	if err != nil {
		return crawler.Config{}, misuse("--window %w", err)
	}
	c := crawler.Config{
		Window: spans, MaxPerDomain: s.MaxPerDomain, MaxPerTag: s.MaxPerTag, StopWhen: conditions,
		Traps: limits, Fetcher: f, Proxied: s.Proxy != "", SignsIn: f.SignsIn,
		Identity: s.Identity(), Scope: sc, Sitemaps: maps, Standard: s.Standard, Workers: int(s.Workers),
		Delay: s.crawlerDelay(), IPDelay: s.IPDelay, MaxCrawlDelay: max(s.MaxCrawlDelay, 1),
		MaxPages: s.MaxPages, MaxPerHost: s.MaxPerHost, MaxBytes: s.MaxBytes, MaxTime: s.MaxTime,
		MaxBody: s.MaxBody, ExternalAge: s.ExternalAge, MaxWait: max(s.MaxWait, 1), Log: log,
		LinkCheck: s.LinkCheck,
	}
	c.OptOut, c.KeepNoArchive, c.FollowRel = s.lists, s.KeepNoArchive, s.FollowRel
	c.Previews, c.Hosts = s.Previews, s.Hosts
	if c.Follow, err = extract.ParseFollow(s.Follow); err != nil {
		return crawler.Config{}, misuse("--follow: %w", err)
	}
	return c, s.own(&c)
}

// crawlerDelay is Delay as crawler.Config has it. Zero means the default there; to who wrote it, it means none.
func (s *Settings) crawlerDelay() time.Duration {
	if s.Delay == 0 {
		return -1
	}
	return s.Delay
}

// WARCInfo is what the archive says of the crawl.
func (s *Settings) WARCInfo() warc.Info {
	return warc.Info{
		Software: "curtsy/" + Version, Operator: s.Operator, Contact: s.Contact, Description: s.Purpose,
		UserAgent: s.Identity().UserAgent(), RobotsPolicy: s.Standard.String(),
		Fields: append(s.PolitenessFields(), s.listFields()...),
	}
}

// FrontierOptions are what the settings ask of the frontier. After a kill no host is asked before the least pause is over that
// this crawl keeps with it: a foreign one waits for the floor, whatever is less for own ones.
func (s *Settings) FrontierOptions() frontier.Options {
	paces := crawler.Config{Delay: s.crawlerDelay(), LoopbackForeign: s.LoopbackForeign(), Hosts: s.Hosts}
	longest := max(crawler.Floor, s.Delay)
	for _, r := range s.Hosts {
		longest = max(longest, r.Delay)
	}
	return frontier.Options{
		Pace: longest, PaceOf: paces.LeastPause, Order: s.Order, MaxSize: s.MaxDBSize,
		MaxURLs: s.MaxURLs, MaxURLsPerAuthority: s.MaxURLsPerHost, MaxURLsPerDomain: s.MaxURLsPerDomain,
	}
}

// The words of --sitemaps that are no URLs.
const (
	SitemapsNone   = "none"
	SitemapsRobots = "robots" // those that robots.txt names
)

// SitemapConfig reads --sitemaps: none, or robots and any number of URLs. A site's sitemaps are not read unless asked
// for: a crawl is of what links lead to from its seeds, and a list of all the site has is another, often larger, crawl.
func (s *Settings) SitemapConfig() (crawler.Sitemaps, error) {
	var maps crawler.Sitemaps
	for _, value := range s.Sitemaps {
		switch value {
		case SitemapsNone:
			if len(s.Sitemaps) > 1 {
				return maps, misuse("--sitemaps none excludes other values: leave out the others, or none")
			}
		case SitemapsRobots:
			maps.Robots = true
		default:
			c, err := Seed(value, "")
			if err != nil {
				return maps, misuse("--sitemaps %s: write none, robots or a URL: https://host/sitemap.xml", quoted(value))
			}
			maps.URLs = append(maps.URLs, c.URL)
		}
	}
	return maps, nil
}

// AsksForMore reports whether a sitemap is named that a crawl has not met: it is not finished then.
func (s *Settings) AsksForMore(ctx context.Context, f frontier.Reader) (bool, error) {
	maps, err := s.SitemapConfig()
	if err != nil || len(maps.URLs) == 0 {
		return false, err
	}
	seen, err := f.Seen(ctx, maps.URLs)
	return slices.Contains(seen, false), err
}

// trapConfig reads --trap: what the scope judges by the URL, and the limits of what needs a host's history.
func (s *Settings) trapConfig() (shapes map[string]int, limits trap.Limits, err error) {
	for _, t := range s.Traps {
		name, value, ok := strings.Cut(t, "=")
		n := 0
		if ok && value != "off" {
			n, err = strconv.Atoi(value)
			ok = err == nil && n > 0
		}
		if !ok {
			return nil, limits, misuse("--trap %q: write RULE=N or RULE=off", t)
		}
		name = strings.TrimPrefix(name, "trap:")
		if limits.Set(name, n) {
			continue
		}
		if _, known := scope.TrapDefaults()[name]; !known {
			return nil, limits, misuse("--trap %q: no such rule; there are %s", t, strings.Join(TrapNames(), ", "))
		}
		if shapes == nil {
			shapes = map[string]int{}
		}
		shapes[name] = n
	}
	if err := limits.Check(); err != nil {
		return nil, limits, misuse("--trap: %w", err)
	}
	return shapes, limits, nil
}

// TrapNames are the names of all rules that --trap knows, in order.
func TrapNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(scope.TrapDefaults())), trap.Names()...)))
}

// MakeBotKey returns the key that the user's requests are signed with, and makes it if there is none.
func MakeBotKey() (*webbotauth.Key, error) { return botKey(BotKey.Make) }

// ReadBotKey is MakeBotKey, but makes none: without one the error is fs.ErrNotExist.
func ReadBotKey() (*webbotauth.Key, error) { return botKey(BotKey.Read) }

func botKey(read func(path string) ([]byte, error)) (*webbotauth.Key, error) {
	path, err := BotKey.Path()
	if err != nil {
		return nil, err
	}
	seed, err := read(path)
	if err != nil {
		return nil, err
	}
	return webbotauth.NewKey(seed)
}

// signer signs the requests of the crawl; nil where nobody asked for that.
func (s *Settings) signer() (fetch.Signer, error) {
	if s.SignatureAgent == "" {
		return nil, nil
	}
	agent, err := webbotauth.ParseAgent(s.SignatureAgent)
	if err != nil {
		return nil, misuse("--signature-agent: %w", err)
	}
	key, err := ReadBotKey()
	none := errors.Is(err, fs.ErrNotExist)
	if none { // what is wrong with the settings is said first, whatever key there is
		key, err = webbotauth.NewKey(make([]byte, 32))
	}
	if err != nil {
		return nil, err
	}
	signer, err := webbotauth.New(key, agent, s.SignatureDraft, s.SignatureLife)
	if err != nil {
		return nil, misuse("--signature-draft, --signature-life: %w", err)
	}
	if none {
		return nil, misuse("--signature-agent %s: no key to sign with yet: curtsy identity keygen makes it",
			agent.URL())
	}
	return signer, nil
}
