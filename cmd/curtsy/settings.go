package main

import (
	"time"

	"github.com/spf13/pflag"
)

// settings are all settings of a crawl, as flags, environment and files give them.
type settings struct {
	agent, contact, operator, purpose string

	scope            string
	include, exclude []string
	accept, reject   []string
	requisites       string
	depth            number
	traps            []string

	delay, maxCrawlDelay duration
	ownSite              string
	standard             standard

	maxPages, maxPerHost number
	maxBytes, maxBody    size
	maxTime, maxWait     duration

	order                                  order
	maxDBSize                              size
	maxURLs, maxURLsPerHost, maxURLsDomain number

	workers        number
	allowNet       []string
	caFile         string
	acceptLanguage string
}

// unlimited is the depth without a limit.
const unlimited = -1

// flags declares every setting. Their names are the keys of the configuration files, too.
func (s *settings) flags(fs *pflag.FlagSet) {
	s.identityFlags(fs)
	s.scopeFlags(fs)

	s.delay = duration(time.Second)
	fs.Var(&s.delay, "delay", "shortest `TIME` between two exchanges with a host; below 1s for hosts of your own only")
	s.maxCrawlDelay = duration(300 * time.Second)
	fs.Var(&s.maxCrawlDelay, "max-crawl-delay", "leave a host alone that asks for more `TIME` between exchanges")
	fs.StringVar(&s.ownSite, "own-site", "loopback", "`HOSTS` of your own, with less than 1s between exchanges if --delay says so: loopback, or none")
	fs.Var(&s.standard, "robots-standard", "read robots.txt by this `STANDARD`, too: draft1996 and std1994 add refusals to those of rfc9309")
	inGroup(fs, "Politeness")

	fs.Var(&s.maxPages, "max-pages", "end after `N` HTML pages; 0 for no limit")
	fs.Var(&s.maxPerHost, "max-per-host", "at most `N` HTML pages of one host; 0 likewise")
	fs.Var(&s.maxBytes, "max-bytes", "end after this `SIZE` was received; 0 likewise")
	fs.Var(&s.maxTime, "max-time", "end after this `TIME`; 0 likewise")
	s.maxBody = 100 << 20
	fs.Var(&s.maxBody, "max-body", "largest `SIZE` of a body, decoded")
	s.maxWait = duration(10 * time.Minute)
	fs.Var(&s.maxWait, "max-wait", "end when nothing is due within this `TIME`")
	inGroup(fs, "Budgets")

	fs.Var(&s.order, "order", "`ORDER` within a host: breadth (as found) or depth (the last found first)")
	fs.Var(&s.maxDBSize, "max-db-size", "end before the frontier outgrows this `SIZE`; 0 for no limit")
	fs.Var(&s.maxURLs, "max-urls", "take at most `N` URLs that links lead to; 0 likewise")
	fs.Var(&s.maxURLsPerHost, "max-urls-per-host", "likewise, of one host")
	fs.Var(&s.maxURLsDomain, "max-urls-per-domain", "likewise, of one registrable domain")
	inGroup(fs, "Frontier")

	s.workers = number{64, 1}
	fs.Var(&s.workers, "workers", "at most `N` exchanges in flight in all")
	fs.StringArrayVar(&s.allowNet, "allow-net", nil, "private addresses (`CIDR`) that may be reached, repeatable")
	fs.StringVar(&s.caFile, "ca-file", "", "trust the certificates in `FILE` (PEM), too")
	fs.StringVar(&s.acceptLanguage, "accept-language", "", "send `TEXT` as Accept-Language")
	inGroup(fs, "Network")
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
	s.depth = number{unlimited, unlimited}
	fs.Var(&s.depth, "depth", "at most `N` links from a seed; -1 for no limit")
	fs.StringArrayVar(&s.traps, "trap", nil, "set a trap `RULE=N`, or RULE=off; repeatable")
	inGroup(fs, "Scope")
}
