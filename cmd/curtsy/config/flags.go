package config

import (
	"strings"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/robots"
	"curtsy/storage/mirror/layout"
)

// Flags declares every setting as a flag, with its default. Their names are also the keys of the configuration files.
func Flags(s *crawldir.Settings, fs *pflag.FlagSet) {
	*s = crawldir.Defaults()
	IdentityFlags(s, fs)
	SignatureFlags(s, fs)
	scopeFlags(s, fs)

	fs.Var((*crawldir.Duration)(&s.Delay), "delay", "`TIME` minimum delay between two requests to a host; below 1s only for your own hosts")
	fs.Var((*crawldir.Duration)(&s.IPDelay), "ip-delay", "`TIME` minimum delay between the starts of two requests to an IP address, for all its hosts; at least 100ms")
	fs.Var((*crawldir.Duration)(&s.MaxCrawlDelay), "max-crawl-delay", "`TIME` longest Crawl-delay to wait for; hosts with a longer one are not crawled")
	fs.StringSliceVar(&s.OwnSite, "own-site", s.OwnSite, "`HOSTS` your own hosts, where --delay may be below 1s: loopback, none, or names that publish the output of curtsy identity own; repeatable")
	fs.Var(crawldir.AtLeast(&s.PerHost, 1), "per-host", "`N` concurrent requests to each of your own hosts where --delay is 0")
	fs.Var((*crawldir.Standard)(&s.Standard), "robots-standard", "`STANDARD` also obey an older robots.txt standard: draft1996 and std1994 forbid more than rfc9309")
	mannersFlags(s, fs)
	cli.Group(fs, "Politeness")

	fs.Var(crawldir.AtLeast(&s.MaxPages, 0), "max-pages", "`N` end after this many HTML pages; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxPerHost, 0), "max-per-host", "`N` maximum HTML pages of one host; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxPerDomain, 0), "max-per-domain", "`N` maximum HTML pages of one registrable domain; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxPerTag, 0), "max-per-tag", "`N` maximum HTML pages found from the seeds with one tag; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.PerHostPerDay, 0), "per-host-per-day", "`N` maximum requests to one host within 24 hours; 0 = unlimited")
	fs.StringArrayVar(&s.StopWhen, "stop-when", nil, "`CONDITION` end when it is true: pages=N, tag:NAME pages=N, errors>P%,\nduplicates>P% or new-hosts<N, or none; repeatable")
	fs.Var((*crawldir.Size)(&s.MaxBytes), "max-bytes", "`SIZE` end after receiving this much; 0 = unlimited")
	fs.Var((*crawldir.Duration)(&s.MaxTime), "max-time", "`TIME` end after this time; 0 = unlimited")
	fs.Var((*crawldir.Size)(&s.MaxRate), "max-rate", "`SIZE` maximum bytes received per second; 0 = unlimited")
	fs.Var((*crawldir.Size)(&s.MinRate), "min-rate", "`SIZE` abort responses slower than this per second over 30s; 0 = never")
	fs.Var((*crawldir.Size)(&s.MaxBody), "max-body", "`SIZE` largest decoded body")
	fs.Var((*crawldir.Duration)(&s.MaxWait), "max-wait", "`TIME` end when nothing is due within this time")
	fs.StringArrayVar(&s.Window, "window", nil, "`TIMES` send requests only at these times, as in \"22:00-06:00 Europe/Berlin\" or\n\"Mon-Fri 22:00-06:00 UTC\"; otherwise wait, at most --max-wait; repeatable; or none")
	cli.Group(fs, "Budgets")

	fs.Var((*crawldir.Order)(&s.Order), "order", "`ORDER` order within a host: breadth (oldest first) or depth (newest first)")
	fs.Var((*crawldir.Size)(&s.MaxDBSize), "max-db-size", "`SIZE` end before the frontier becomes larger than this; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxURLs, 0), "max-urls", "`N` maximum URLs to accept from links; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxURLsPerHost, 0), "max-urls-per-host", "`N` maximum URLs to accept from links for one host; 0 = unlimited")
	fs.Var(crawldir.AtLeast(&s.MaxURLsPerDomain, 0), "max-urls-per-domain", "`N` maximum URLs to accept from links for one registrable domain; 0 = unlimited")
	cli.Group(fs, "Frontier")

	fs.Var(crawldir.AtLeast(&s.Workers, 1), "workers", "`N` maximum number of concurrent requests; requests that take over 1s do not count, up to four times as many")
	fs.StringArrayVar(&s.AllowNet, "allow-net", nil, "`CIDR` private addresses to allow; repeatable")
	fs.StringVar(&s.CAFile, "ca-file", "", "`FILE` also trust the certificates in this file (PEM)")
	fs.StringVar(&s.Network.Bind, "bind", "", "`ADDRESS` local address for outgoing connections")
	fs.BoolVarP(&s.Network.IPv4, "ipv4", "4", false, "use IPv4 only")
	fs.BoolVarP(&s.Network.IPv6, "ipv6", "6", false, "use IPv6 only")
	fs.StringVar(&s.Network.Proxy, "proxy", "", "`URL` connect through this proxy (http, https, socks5, socks5h),\nthrough the one named in @FILE, or, with env, as set in the environment")
	fs.StringArrayVar(&s.Network.Auth, "auth", nil, "`HOST=FILE` log in to your own host with user:password or Bearer TOKEN\nfrom a file that only you can read; repeatable")
	fs.StringArrayVar(&s.Network.Header, "header", nil, "`HOST=FILE` send your own host the header fields (Name: value) in such a file; repeatable")
	fs.StringVar(&s.AcceptLanguage, "accept-language", "", "`TEXT` value of the Accept-Language field")
	fs.BoolVar(&s.AcceptZstd, "accept-zstd", false, "accept zstd besides gzip and br; few tools read archives with it")
	cli.Group(fs, "Network")

	fs.StringArrayVar(&s.Dedup, "dedup", nil, "`CDXJ` index file or crawl directory: record responses that it has as\nrevisits instead of archiving them again; repeatable")
	cli.Group(fs, "Archive")

	fs.Var((*crawldir.Size)(&s.MemoryLimit), "memory-limit", "`SIZE` memory that may be used to save time, exceeded only if the crawl needs more; 0 = Go's default")
	cli.Group(fs, "Machine")
	mirrorFlags(s, fs)
	watchFlags(s, fs)
	words(fs)
	cli.Often(fs, "contact", "scope", "include", "exclude", "depth", "delay", "max-pages", "max-per-host", "max-time", "max-wait", "per-host")
}

func mannersFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringArrayVar(&s.OptOut, "opt-out", nil, "`FILE` opt-out list; reread when it changes; repeatable")
	fs.BoolVar(&s.KeepNoArchive, "keep-noarchive", false, "archive bodies in spite of noarchive directives")
	fs.StringSliceVar(&s.FollowRel, "follow-rel", s.FollowRel, "`LIST` follow links that have these rel values: nofollow, ugc, sponsored; or none")
}

// IdentityNames are the settings that say who crawls, and what for.
func IdentityNames() []string { return []string{"agent", "contact", "operator", "purpose"} }

// AskingNames are the settings that commands take which ask a host beside the crawls.
func AskingNames() []string {
	return []string{"contact", "allow-net", "ca-file", "bind", "ipv4", "ipv6", "proxy"}
}

// IdentityFlags declares those that say who crawls, and what for.
func IdentityFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Agent, "agent", s.Agent, "`TOKEN` product token, the name to match in robots.txt")
	fs.StringVar(&s.Contact, "contact", "", "`ADDRESS` contact for site owners: an http(s) URL or an e-mail address")
	fs.StringVar(&s.Operator, "operator", "", "`NAME` person or organisation that runs the crawl; recorded in the archive")
	fs.StringVar(&s.Purpose, "purpose", "", "`TEXT` purpose of the crawl; recorded in the archive")
	cli.Group(fs, "Identity")
}

// SignatureNames are the settings that say how requests are signed.
func SignatureNames() []string {
	return []string{"signature-agent", "signature-draft", "signature-life"}
}

// SignatureFlags declares those that say how requests are signed.
func SignatureFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.SignatureAgent, "signature-agent", "", "`URL` sign each request (Web Bot Auth) with the key published at this https URL, or at the well-known path of this site")
	fs.Var((*crawldir.Draft)(&s.SignatureDraft), "signature-draft", "`DRAFT` draft to sign by: "+strings.Join(webbotauth.Drafts(), ", "))
	cli.Words(fs, "signature-draft", webbotauth.Drafts()...)
	fs.Var((*crawldir.Duration)(&s.SignatureLife), "signature-life", "`TIME` validity of a signature, from 10s to 24h")
	cli.Group(fs, "Signature")
}

func scopeFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Scope, "scope", s.Scope, "`AREA` area to stay in: host, domain, prefix, seeds or any")
	fs.StringArrayVar(&s.Include, "include", nil, "`REGEXP` crawl only URLs that match (RE2); repeatable")
	fs.StringArrayVar(&s.Exclude, "exclude", nil, "`REGEXP` skip URLs that match; wins over --include; repeatable")
	fs.StringSliceVar(&s.Accept, "accept", nil, "`LIST` besides pages, fetch only these media types or extensions (image/*,.pdf)")
	fs.StringSliceVar(&s.Reject, "reject", nil, "`LIST` skip these media types or extensions")
	fs.StringVar(&s.Requisites, "page-requisites", s.Requisites, "`WHICH` images, styles, scripts and media to fetch: none, scope (in scope), host (on the seeds' hosts) or all; with script (all,script) also files on the site that scripts name")
	fs.StringSliceVar(&s.Follow, "follow", nil, "`KINDS` also follow links in other documents: feed (RSS, Atom, JSON Feed)")
	fs.StringVar(&s.External, "external", s.External, "`METHOD` check links that leave the scope: none, head or get; no links are followed\nfrom there")
	fs.Var((*crawldir.Duration)(&s.ExternalAge), "external-age", "`TIME` do not check a working external link again within this time")
	fs.Var(crawldir.AtLeast(&s.Depth, crawldir.Unlimited), "depth", "`N` maximum number of links from a seed; -1 = unlimited")
	fs.StringVar(&s.Sample, "sample", "", "`SHARE` crawl a reproducible sample of hosts or pages: hosts:1%, pages:0.5%")
	fs.StringVar(&s.SampleKey, "sample-key", s.SampleKey, "`TEXT` key of the sample; another key draws another sample")
	fs.BoolVar(&s.SampleSeeds, "sample-seeds", false, "also sample the seeds; otherwise all are crawled")
	fs.StringArrayVar(&s.Sitemaps, "sitemaps", nil, "`WHICH` also read sitemaps: robots, for those that robots.txt names,\nor a URL; repeatable (default none)")
	fs.StringArrayVar(&s.Traps, "trap", nil, "`RULE=N` threshold of a trap rule, or RULE=off; repeatable")
	cli.Group(fs, "Scope")
}

// watchFlags declares the settings of curtsy watch.
func watchFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.Var((*crawldir.Duration)(&s.MinInterval), "min-interval", "`TIME` watch: shortest time between two visits to a page")
	fs.Var((*crawldir.Duration)(&s.MaxInterval), "max-interval", "`TIME` watch: longest time between two visits to a page, if the budget allows it")
	fs.Var((*crawldir.Share)(&s.Fresh), "fresh", "`SHARE` watch: visit a page often enough to be fresh for this share of the time; more often only with spare budget")
	fs.Var((*crawldir.Duration)(&s.Gather), "round-interval", "`TIME` watch: shortest time between two rounds")
	cli.Group(fs, "Watching")
}

// mirrorFlags declares the settings that concern the browsable copy of a crawl.
func mirrorFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.BoolVar(&s.Mirror, "mirror", false, "make a browsable copy in DIR/mirror at the end of each run")
	fs.Var((*crawldir.Layout)(&s.Layout), "layout", "`LAYOUT` layout of the copy: host (HOST/PATH) or flat (PATH)")
	fs.Var(crawldir.AtLeast(&s.Cut, 0), "cut-dirs", "`N` with --layout flat: leave out the first folders of each path")
	fs.Var((*crawldir.Vanished)(&s.Vanished), "vanished", "`ACTION` keep or remove pages that are gone (404, 410); the copy loses them only when\nan update completes")
	fs.BoolVar(&s.Previews, "previews", false, "also fetch preview pictures (og:image)")
	cli.Group(fs, "Mirror")
}

// Scopes explains the values of --scope, for help.
const Scopes = "Scopes, for --scope:\n" +
	"  host    the hosts of the seeds, http and https, with and without www.\n" +
	"  domain  all hosts of the registrable domain: blog.example.org for example.org\n" +
	"  prefix  the URLs of a seed's host below the last / of the seed\n" +
	"  seeds   seeds only; links are not followed\n" +
	"  any     every host that links lead to; needs --max-pages or --max-time"

// Standards are the names of the documents on robots.txt.
func Standards() (names []string) {
	for _, s := range robots.Standards() {
		names = append(names, s.String())
	}
	return names
}

// words says what the flags of settings take that take words.
func words(fs *pflag.FlagSet) {
	cli.Words(fs, "scope", "host", "domain", "prefix", "seeds", "any")
	cli.Words(fs, "page-requisites", "none", "scope", "host", "all", "script", "all,script")
	cli.Words(fs, "external", "none", "head", "get")
	cli.Words(fs, "sample", "hosts:", "pages:")
	cli.Words(fs, "sitemaps", "robots", "none")
	cli.Words(fs, "robots-standard", Standards()...)
	cli.Words(fs, "follow-rel", "nofollow", "ugc", "sponsored", "none")
	cli.Words(fs, "follow", extract.FollowWords()...)
	cli.Words(fs, "own-site", crawldir.OwnLoopback, crawldir.OwnNone)
	cli.Words(fs, "stop-when", "pages=", "tag:", "errors>", "duplicates>", "new-hosts<", "none")
	cli.Words(fs, "order", "breadth", "depth")
	cli.Words(fs, "layout", layout.Words()...)
	cli.Words(fs, "vanished", "keep", "remove")
	var traps []string
	for _, name := range crawldir.TrapNames() {
		traps = append(traps, name+"=")
	}
	cli.Words(fs, "trap", traps...)
}
