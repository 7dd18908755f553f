package config

import (
	"strings"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/value"
	"curtsy/crawler/fetch/webbotauth"
)

// Flags declares every setting as a flag, with its default. Their names are the keys of the configuration files, too.
func Flags(s *crawldir.Settings, fs *pflag.FlagSet) {
	*s = crawldir.Defaults()
	IdentityFlags(s, fs)
	SignatureFlags(s, fs)
	scopeFlags(s, fs)

	fs.Var((*value.Duration)(&s.Delay), "delay", "shortest `TIME` between two exchanges with a host; below 1s for hosts of your own only")
	fs.Var((*value.Duration)(&s.IPDelay), "ip-delay", "shortest `TIME` between the starts of two requests to one IP address, whatever its hosts; at least 100ms")
	fs.Var((*value.Duration)(&s.MaxCrawlDelay), "max-crawl-delay", "leave a host alone that asks for more `TIME` between exchanges")
	fs.StringSliceVar(&s.OwnSite, "own-site", s.OwnSite, "`HOSTS` of your own, with less than 1s between exchanges if --delay says so: loopback, none, or names that hold what curtsy identity own prints; repeatable")
	fs.Var(value.AtLeast(&s.PerHost, 1), "per-host", "`N` exchanges at once with a host of your own, where --delay is 0")
	fs.Var((*value.Standard)(&s.Standard), "robots-standard", "read robots.txt by this `STANDARD`, too: draft1996 and std1994 add refusals to those of rfc9309")
	mannersFlags(s, fs)
	cli.Group(fs, "Politeness")

	fs.Var(value.AtLeast(&s.MaxPages, 0), "max-pages", "end after `N` HTML pages; 0 for no limit")
	fs.Var(value.AtLeast(&s.MaxPerHost, 0), "max-per-host", "at most `N` HTML pages of one host; 0 likewise")
	fs.Var(value.AtLeast(&s.MaxPerDomain, 0), "max-per-domain", "at most `N` HTML pages of one registrable domain; 0 likewise")
	fs.Var(value.AtLeast(&s.MaxPerTag, 0), "max-per-tag", "at most `N` HTML pages of what descends from the seeds with one tag; 0 likewise")
	fs.Var(value.AtLeast(&s.PerHostPerDay, 0), "per-host-per-day", "at most `N` requests to one host within 24 hours; 0 likewise")
	fs.StringArrayVar(&s.StopWhen, "stop-when", nil, "end when this `CONDITION` is met: pages=N, tag:NAME pages=N, errors>P%,\nduplicates>P% or new-hosts<N, or none; repeatable")
	fs.Var((*value.Size)(&s.MaxBytes), "max-bytes", "end after this `SIZE` was received; 0 likewise")
	fs.Var((*value.Duration)(&s.MaxTime), "max-time", "end after this `TIME`; 0 likewise")
	fs.Var((*value.Size)(&s.MaxRate), "max-rate", "receive at most this `SIZE` per second; 0 likewise")
	fs.Var((*value.Size)(&s.LeastSpeed), "min-rate", "abort a response that brings less than this `SIZE` per second over 30s; 0 = any rate")
	fs.Var((*value.Size)(&s.MaxBody), "max-body", "largest `SIZE` of a body, decoded")
	fs.Var((*value.Duration)(&s.MaxWait), "max-wait", "end when nothing is due within this `TIME`")
	fs.StringArrayVar(&s.Window, "window", nil, "ask nobody for anything but within these `TIMES`, like \"22:00-06:00 Europe/Berlin\" or\n\"Mon-Fri 22:00-06:00 UTC\": the crawl waits, for --max-wait at most; repeatable; or none")
	cli.Group(fs, "Budgets")

	fs.Var((*value.Order)(&s.Order), "order", "`ORDER` within a host: breadth (as found) or depth (the last found first)")
	fs.Var((*value.Size)(&s.MaxDBSize), "max-db-size", "end before the frontier outgrows this `SIZE`; 0 for no limit")
	fs.Var(value.AtLeast(&s.MaxURLs, 0), "max-urls", "take at most `N` URLs that links lead to; 0 likewise")
	fs.Var(value.AtLeast(&s.MaxURLsPerHost, 0), "max-urls-per-host", "take at most `N` of these of one host; 0 likewise")
	fs.Var(value.AtLeast(&s.MaxURLsPerDomain, 0), "max-urls-per-domain", "take at most `N` of these of one registrable domain; 0 likewise")
	cli.Group(fs, "Frontier")

	fs.Var(value.AtLeast(&s.Workers, 1), "workers", "at most `N` exchanges in flight in all; those that take over 1s do not count, up to four times as many")
	fs.StringArrayVar(&s.AllowNet, "allow-net", nil, "private addresses (`CIDR`) that may be reached, repeatable")
	fs.StringVar(&s.CAFile, "ca-file", "", "trust the certificates in `FILE` (PEM), too")
	fs.StringVar(&s.Network.Bind, "bind", "", "local `ADDRESS` that connections leave from")
	fs.BoolVarP(&s.Network.IPv4, "ipv4", "4", false, "use IPv4 alone")
	fs.BoolVarP(&s.Network.IPv6, "ipv6", "6", false, "use IPv6 alone")
	fs.StringVar(&s.Network.Proxy, "proxy", "", "go out through the proxy at this `URL` (http, https, socks5, socks5h),\nat the one in @FILE, or env for those of the environment")
	fs.StringArrayVar(&s.Network.Auth, "auth", nil, "tell this host of your own who comes: `HOST=FILE`, where the file has user:password\nor Bearer TOKEN, and only you can read it; repeatable")
	fs.StringArrayVar(&s.Network.Header, "header", nil, "likewise, where the file has header fields, Name: value: `HOST=FILE`")
	fs.StringVar(&s.AcceptLanguage, "accept-language", "", "send `TEXT` as Accept-Language")
	fs.BoolVar(&s.OfferZstd, "accept-zstd", false, "accept the coding zstd beside gzip and br; few tools read it back")
	cli.Group(fs, "Network")

	fs.StringArrayVar(&s.Dedup, "dedup", nil, "refer to answers that this `CDXJ` file, or a crawl directory, has already\ninstead of archiving them again; repeatable")
	cli.Group(fs, "Archive")

	fs.Var((*value.Size)(&s.MemoryLimit), "memory-limit", "let `SIZE` of memory be used to save time, more only if the crawl must hold it; 0 leaves it to Go")
	cli.Group(fs, "Machine")
	mirrorFlags(s, fs)
	watchFlags(s, fs)
	words(fs)
	cli.Often(fs, "contact", "scope", "include", "exclude", "depth", "delay", "max-pages", "max-time", "per-host")
}

func mannersFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringArrayVar(&s.OptOut, "opt-out", nil, "ask nothing of whom this `FILE` lists; read again when it changes; repeatable")
	fs.BoolVar(&s.KeepNoArchive, "keep-noarchive", false, "keep the bodies of pages that ask not to be archived")
	fs.StringSliceVar(&s.FollowRel, "follow-rel", s.FollowRel, "follow links with these words of rel, a `LIST` of nofollow, ugc, sponsored; or none")
}

// IdentityNames are the settings that say who crawls, and what for.
func IdentityNames() []string { return []string{"agent", "contact", "operator", "purpose"} }

// AskingNames are the settings that commands take which ask a host beside the crawls.
func AskingNames() []string {
	return []string{"contact", "allow-net", "ca-file", "bind", "ipv4", "ipv6", "proxy"}
}

// IdentityFlags declares those that say who crawls, and what for.
func IdentityFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Agent, "agent", s.Agent, "product `TOKEN`: the name that robots.txt knows")
	fs.StringVar(&s.Contact, "contact", "", "`ADDRESS` for site owners: an http(s) URL or a mailbox")
	fs.StringVar(&s.Operator, "operator", "", "`NAME` of who runs the crawl; kept with the archive")
	fs.StringVar(&s.Purpose, "purpose", "", "what the crawl is for, a `TEXT`; kept with the archive")
	cli.Group(fs, "Identity")
}

// SignatureNames are the settings that say how requests are signed.
func SignatureNames() []string {
	return []string{"signature-agent", "signature-draft", "signature-life"}
}

// SignatureFlags declares those that say how requests are signed.
func SignatureFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.SignatureAgent, "signature-agent", "", "sign each request (Web Bot Auth), with the key that is published at this https `URL`, or at the usual path of this site")
	fs.Var((*value.Draft)(&s.SignatureDraft), "signature-draft", "sign by this `DRAFT`: "+strings.Join(webbotauth.Drafts(), ", "))
	cli.Words(fs, "signature-draft", webbotauth.Drafts()...)
	fs.Var((*value.Duration)(&s.SignatureLife), "signature-life", "let a signature count for this `TIME`, from 10s to 24h")
	cli.Group(fs, "Signature")
}

func scopeFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.StringVar(&s.Scope, "scope", s.Scope, "`AREA` to stay in: host, domain, prefix, seeds or any")
	fs.StringArrayVar(&s.Include, "include", nil, "only URLs that match this `REGEXP` (RE2), repeatable")
	fs.StringArrayVar(&s.Exclude, "exclude", nil, "no URLs that match this `REGEXP`; it wins; repeatable")
	fs.StringSliceVar(&s.Accept, "accept", nil, "besides pages, only this `LIST` of media types or extensions (image/*,.pdf)")
	fs.StringSliceVar(&s.Reject, "reject", nil, "none of this `LIST` of media types or extensions")
	fs.StringVar(&s.Requisites, "page-requisites", s.Requisites, "`WHICH` images, styles, scripts, media: none, those in scope, those of the seeds' hosts (host), or all; with script (all,script) also files of the site that scripts name")
	fs.StringSliceVar(&s.Follow, "follow", nil, "follow links in documents of these `KINDS`, too: feed (RSS, Atom, JSON Feed)")
	fs.StringVar(&s.External, "external", s.External, "`HOW` to ask whether what links off the scope lead to is there: none, head or get;\nnothing more is read of it")
	fs.Var((*value.Duration)(&s.ExternalAge), "external-age", "`TIME` for which what was there is not asked again by --external")
	fs.Var(value.AtLeast(&s.Depth, crawldir.Unlimited), "depth", "at most `N` links from a seed; -1 for no limit")
	fs.StringVar(&s.Sample, "sample", "", "only a `SHARE` of hosts or pages, the same each time: hosts:1%, pages:0.5%")
	fs.StringVar(&s.SampleKey, "sample-key", s.SampleKey, "draw the sample by this `TEXT`; another one draws another sample")
	fs.BoolVar(&s.SampleSeeds, "sample-seeds", false, "draw seeds, too; without it they are in")
	fs.StringArrayVar(&s.Sitemaps, "sitemaps", nil, "read sitemaps, too: `WHICH` is robots, for those that robots.txt names,\nor a URL; repeatable (default none)")
	fs.StringArrayVar(&s.Traps, "trap", nil, "set a trap `RULE=N`, or RULE=off; repeatable")
	cli.Group(fs, "Scope")
}

// watchFlags declares the settings of curtsy watch.
func watchFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.Var((*value.Duration)(&s.MinInterval), "min-interval", "watch: shortest `TIME` between two visits of a page")
	fs.Var((*value.Duration)(&s.MaxInterval), "max-interval", "watch: longest `TIME` between two visits of a page, if the budget is enough for that")
	fs.Var((*value.Share)(&s.Fresh), "fresh", "watch: visit a page no more often than makes it fresh for this `SHARE` of the time, unless budget is idle")
	fs.Var((*value.Duration)(&s.Gather), "round-interval", "watch: shortest `TIME` from one round to the next")
	cli.Group(fs, "Watching")
}

// mirrorFlags declares the settings that concern the browsable copy of a crawl.
func mirrorFlags(s *crawldir.Settings, fs *pflag.FlagSet) {
	fs.BoolVar(&s.Mirror, "mirror", false, "make a browsable copy in DIR/mirror at the end of each run")
	fs.Var((*value.Layout)(&s.Layout), "layout", "lay out the copy as HOST/PATH (host) or as PATH (flat): `WORD` is one of these")
	fs.Var(value.AtLeast(&s.Cut, 0), "cut-dirs", "leave the first `N` folders of each path out; only of --layout flat")
	fs.Var((*value.Vanished)(&s.Vanished), "vanished", "keep or remove in the copy `WHAT` is gone (404, 410); removed when an update has\ncompleted, never before")
	fs.BoolVar(&s.Previews, "previews", false, "fetch pictures that pages name for others to show (og:image), too")
	cli.Group(fs, "Mirror")
}
