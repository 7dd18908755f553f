package crawldir

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"path/filepath"
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
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
	"curtsy/storage/warc"
)

// ScopeConfig returns the scope that the settings describe.
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

// stopWhen returns the conditions that end the crawl. A single "none" clears them, so that a later run can drop them.
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

// FetchConfig returns the settings of the network. Seeds and sitemaps of --sitemaps that are literal loopback or private
// addresses, or localhost, may be reached; a name never exempts an address (politeness rule 23).
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
		c.Refuse = func(a netip.Addr) error {
			if hit := s.lists.Addr(a); hit != nil {
				return hit
			}
			return nil
		}
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
		if seed.From == "" { // the operator did not choose the target of a seed's redirect
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

// CrawlerConfig returns the configuration of the crawl, except for the frontier, the archive and the ledger.
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

// crawlerDelay converts a Delay of 0, no delay, to -1, since 0 means the default in crawler.Config.
func (s *Settings) crawlerDelay() time.Duration {
	if s.Delay == 0 {
		return -1
	}
	return s.Delay
}

// WARCInfo returns the warcinfo fields of the archive.
func (s *Settings) WARCInfo() warc.Info {
	fields := s.PolitenessFields()
	for _, v := range s.lists.Versions() {
		entries := "1 entry"
		if v.Entries != 1 {
			entries = fmt.Sprintf("%d entries", v.Entries)
		}
		fields = append(fields, warc.Field{Name: "opt-out-list", Value: fmt.Sprintf("%s sha256:%s (%s)", v.File, v.SHA256, entries)})
	}
	return warc.Info{
		Software: "curtsy/" + Version, Operator: s.Operator, Contact: s.Contact, Description: s.Purpose,
		UserAgent: s.Identity().UserAgent(), RobotsPolicy: s.Standard.String(), Fields: fields,
	}
}

// FrontierOptions returns the options of the frontier. After a kill, each host waits for its shortest delay.
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

// The values of --sitemaps other than URLs.
const (
	SitemapsNone   = "none"
	SitemapsRobots = "robots" // those that robots.txt names
)

// SitemapConfig reads --sitemaps: none, or robots and any number of URLs. Sitemaps are opt-in: they list a whole site, which
// is often a much larger crawl than the pages that links lead to.
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

// AsksForMore reports whether --sitemaps names a sitemap that the crawl has not seen, so that it is not finished.
func (s *Settings) AsksForMore(ctx context.Context, f frontier.Reader) (bool, error) {
	maps, err := s.SitemapConfig()
	if err != nil || len(maps.URLs) == 0 {
		return false, err
	}
	seen, err := f.Seen(ctx, maps.URLs)
	return slices.Contains(seen, false), err
}

// trapConfig reads --trap into thresholds for the scope, which judges by URL, and limits that need a host's history.
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

// TrapNames returns the names of all rules of --trap, sorted.
func TrapNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(scope.TrapDefaults())), trap.Names()...)))
}

// MakeBotKey returns the key that signs the user's requests, and creates it if it is missing.
func MakeBotKey() (*webbotauth.Key, error) { return botKey(BotKey.Make) }

// ReadBotKey returns the key that signs the user's requests, or fs.ErrNotExist.
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

// signer returns the signer of requests, or nil if they are unsigned.
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
	if none { // report invalid settings first, even without a key
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

// MaxWorkers is the largest number of workers.
const MaxWorkers = 10_000

// Check refuses settings and seeds that cannot work. It creates no file and sends no request.
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

// Opens refuses to start a run outside the window if it opens later than MaxWait allows.
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

// OptOutName is the name of an opt-out list in a crawl directory and in the user's configuration folder.
const OptOutName = "optout.txt"

// UserOptOut returns the path of the user's own opt-out list.
func UserOptOut() (string, error) {
	config, err := UserConfig()
	return filepath.Join(filepath.Dir(config), OptOutName), err
}

// optOutFiles lists the named lists, which must exist, then the user's own and the one in dir, which may appear later.
func (s *Settings) optOutFiles(dir string) []optout.File {
	var files []optout.File
	for _, path := range s.OptOut {
		files = append(files, optout.File{Path: path})
	}
	if path, err := UserOptOut(); err == nil {
		files = append(files, optout.File{Path: path, MayMiss: true})
	}
	if dir != "" {
		files = append(files, optout.File{Path: in(dir, OptOutName), MayMiss: true})
	}
	return files
}

// checkManners refuses invalid lists. Paths become absolute, because resume may run in another directory.
func (s *Settings) checkManners() error {
	if s.CAFile != "" {
		var err error
		if s.CAFile, err = filepath.Abs(s.CAFile); err != nil {
			return misuse("--ca-file %s: %w", s.CAFile, err)
		}
	}
	if err := s.absolute(); err != nil {
		return misuse("%w", err)
	}
	for i, path := range s.OptOut {
		var err error
		if s.OptOut[i], err = filepath.Abs(path); err != nil {
			return misuse("--opt-out %s: %w", path, err)
		}
	}
	if err := s.checkDedup(); err != nil {
		return err
	}
	if _, err := optout.Open(s.optOutFiles(""), nil); err != nil {
		return misuse("--opt-out: %w", err)
	}
	if err := crawler.CheckFollowRel(s.FollowRel); err != nil {
		return misuse("--follow-rel: %w", err)
	}
	return nil
}

// OpenLists opens the opt-out lists of the crawl in dir.
func (s *Settings) OpenLists(dir string, say func(string, ...any)) (err error) {
	if s.lists, err = optout.Open(s.optOutFiles(dir), say); err != nil {
		return misuse("%w", err)
	}
	return nil
}
