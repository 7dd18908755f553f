package main

import (
	"time"

	"github.com/spf13/pflag"

	"curtsy/crawler/crawldir/value"
	"curtsy/crawler/fetch"
	"curtsy/crawler/optout"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/mirror"
)

// settings are all settings of a crawl, as flags, environment and files give them.
type settings struct {
	agent, contact, operator, purpose string

	scope            string
	include, exclude []string
	accept, reject   []string
	requisites       string
	depth            int64
	traps            []string
	sitemaps         []string

	delay, ipDelay, maxCrawlDelay time.Duration
	ownSite                       []string
	perHost                       int64
	standard                      robots.Standard

	optOut        []string
	lists         *optout.Watch // of optOut and the default places, once open
	keepNoArchive bool
	dedup         []string
	followRel     []string

	maxPages, maxPerHost int64
	maxBytes, maxBody    int64
	maxTime, maxWait     time.Duration
	maxRate, leastSpeed  int64

	order                                  frontier.Order
	maxDBSize                              int64
	maxURLs, maxURLsPerHost, maxURLsDomain int64

	workers        int64
	allowNet       []string
	caFile         string
	acceptLanguage string
	offerZstd      bool
	memoryLimit    int64

	mirror   bool
	vanished mirror.Vanished
	previews bool
}

// unlimited is the depth without a limit.
const unlimited = -1

// flags declares every setting. Their names are the keys of the configuration files, too.
func (s *settings) flags(fs *pflag.FlagSet) {
	s.identityFlags(fs)
	s.scopeFlags(fs)

	s.delay = time.Second
	fs.Var((*value.Duration)(&s.delay), "delay", "shortest `TIME` between two exchanges with a host; below 1s for hosts of your own only")
	s.ipDelay = 500 * time.Millisecond
	fs.Var((*value.Duration)(&s.ipDelay), "ip-delay", "shortest `TIME` between two exchanges at one address, whatever hosts are there; 100ms at least")
	s.maxCrawlDelay = 300 * time.Second
	fs.Var((*value.Duration)(&s.maxCrawlDelay), "max-crawl-delay", "leave a host alone that asks for more `TIME` between exchanges")
	fs.StringSliceVar(&s.ownSite, "own-site", []string{"loopback"}, "`HOSTS` of your own, with less than 1s between exchanges if --delay says so: loopback, none, or names that hold what curtsy identity own prints; repeatable")
	s.perHost = 1
	fs.Var(value.AtLeast(&s.perHost, 1), "per-host", "`N` exchanges at once with a host of your own, where --delay is 0")
	fs.Var((*value.Standard)(&s.standard), "robots-standard", "read robots.txt by this `STANDARD`, too: draft1996 and std1994 add refusals to those of rfc9309")
	s.mannersFlags(fs)
	inGroup(fs, "Politeness")

	fs.Var(value.AtLeast(&s.maxPages, 0), "max-pages", "end after `N` HTML pages; 0 for no limit")
	fs.Var(value.AtLeast(&s.maxPerHost, 0), "max-per-host", "at most `N` HTML pages of one host; 0 likewise")
	fs.Var((*value.Size)(&s.maxBytes), "max-bytes", "end after this `SIZE` was received; 0 likewise")
	fs.Var((*value.Duration)(&s.maxTime), "max-time", "end after this `TIME`; 0 likewise")
	fs.Var((*value.Size)(&s.maxRate), "max-rate", "receive at most this `SIZE` per second; 0 likewise")
	s.leastSpeed = fetch.DefaultLeastSpeed
	fs.Var((*value.Size)(&s.leastSpeed), "least-speed", "give up an answer that brings less than this `SIZE` per second over 30s; 0 for any speed")
	s.maxBody = 100 << 20
	fs.Var((*value.Size)(&s.maxBody), "max-body", "largest `SIZE` of a body, decoded")
	s.maxWait = 10 * time.Minute
	fs.Var((*value.Duration)(&s.maxWait), "max-wait", "end when nothing is due within this `TIME`")
	inGroup(fs, "Budgets")

	fs.Var((*value.Order)(&s.order), "order", "`ORDER` within a host: breadth (as found) or depth (the last found first)")
	fs.Var((*value.Size)(&s.maxDBSize), "max-db-size", "end before the frontier outgrows this `SIZE`; 0 for no limit")
	fs.Var(value.AtLeast(&s.maxURLs, 0), "max-urls", "take at most `N` URLs that links lead to; 0 likewise")
	fs.Var(value.AtLeast(&s.maxURLsPerHost, 0), "max-urls-per-host", "take at most `N` of these of one host; 0 likewise")
	fs.Var(value.AtLeast(&s.maxURLsDomain, 0), "max-urls-per-domain", "take at most `N` of these of one registrable domain; 0 likewise")
	inGroup(fs, "Frontier")

	s.workers = 64
	fs.Var(value.AtLeast(&s.workers, 1), "workers", "at most `N` exchanges in flight in all; those that take over 1s do not count, up to four times as many")
	fs.StringArrayVar(&s.allowNet, "allow-net", nil, "private addresses (`CIDR`) that may be reached, repeatable")
	fs.StringVar(&s.caFile, "ca-file", "", "trust the certificates in `FILE` (PEM), too")
	fs.StringVar(&s.acceptLanguage, "accept-language", "", "send `TEXT` as Accept-Language")
	fs.BoolVar(&s.offerZstd, "offer-zstd", false, "offer the coding zstd beside gzip and br; few tools read it back")
	inGroup(fs, "Network")

	fs.StringArrayVar(&s.dedup, "dedup", nil, "refer to answers that this `CDXJ` file, or a crawl directory, has already\ninstead of archiving them again; repeatable")
	inGroup(fs, "Archive")

	s.memoryLimit = defaultMemory
	fs.Var((*value.Size)(&s.memoryLimit), "memory-limit", "let `SIZE` of memory be used to save time, more only if the crawl must hold it; 0 leaves it to Go")
	inGroup(fs, "Machine")
	s.mirrorFlags(fs)
}

// defaultFollowRel are the words of rel with which links are followed unless the user says otherwise.
var defaultFollowRel = []string{"ugc", "sponsored"}

func (s *settings) mannersFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&s.optOut, "opt-out", nil, "ask nothing of whom this `FILE` lists; read again when it changes; repeatable")
	fs.BoolVar(&s.keepNoArchive, "keep-noarchive", false, "keep the bodies of pages that ask not to be archived")
	fs.StringSliceVar(&s.followRel, "follow-rel", defaultFollowRel, "follow links with these words of rel, a `LIST` of nofollow, ugc, sponsored; or none")
}

func (s *settings) identityFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.agent, "agent", "curtsy", "product `TOKEN`: the name that robots.txt knows")
	fs.StringVar(&s.contact, "contact", "", "`ADDRESS` for site owners: an http(s) URL or a mailbox")
	fs.StringVar(&s.operator, "operator", "", "`NAME` of who runs the crawl; kept with the archive")
	fs.StringVar(&s.purpose, "purpose", "", "what the crawl is for, a `TEXT`; kept with the archive")
	inGroup(fs, "Identity")
}

func (s *settings) scopeFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.scope, "scope", "host", "`AREA` to stay in: host, domain, prefix, seeds or any")
	fs.StringArrayVar(&s.include, "include", nil, "only URLs that match this `REGEXP` (RE2), repeatable")
	fs.StringArrayVar(&s.exclude, "exclude", nil, "no URLs that match this `REGEXP`; it wins; repeatable")
	fs.StringSliceVar(&s.accept, "accept", nil, "besides pages, only this `LIST` of media types or extensions (image/*,.pdf)")
	fs.StringSliceVar(&s.reject, "reject", nil, "none of this `LIST` of media types or extensions")
	fs.StringVar(&s.requisites, "requisites", "scope", "`WHICH` images, styles, scripts, media: none, those in scope, or all")
	s.depth = unlimited
	fs.Var(value.AtLeast(&s.depth, unlimited), "depth", "at most `N` links from a seed; -1 for no limit")
	fs.StringArrayVar(&s.sitemaps, "sitemaps", nil, "read sitemaps, too: `WHICH` is robots, for those that robots.txt names,\nor a URL; repeatable (default none)")
	fs.StringArrayVar(&s.traps, "trap", nil, "set a trap `RULE=N`, or RULE=off; repeatable")
	inGroup(fs, "Scope")
}
