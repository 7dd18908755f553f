package crawldir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/freshness"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage/hostrule"
	"curtsy/storage/mirror"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
)

// Version is the version of the program that requests, archives and ledgers carry.
const Version = "0.1.0"

// Settings are all settings of a crawl. Start with Defaults: the zero value does not work.
type Settings struct {
	Agent    string // product token: the name for groups of robots.txt
	Contact  string // for site owners: an http(s) URL or a mailbox
	Operator string // name of the operator; kept with the archive
	Purpose  string // kept with the archive

	SignatureAgent string           // URL of the published key that requests are signed with; empty leaves them unsigned
	SignatureDraft webbotauth.Draft // of Web Bot Auth, by which
	SignatureLife  time.Duration    // validity of a signature

	Scope            string   // area to stay in: host, domain, prefix, seeds or any
	Include, Exclude []string // regular expressions (RE2) of URLs
	Accept, Reject   []string // media types or extensions
	Requisites       string   // images, styles, scripts, media: none, those in scope, or all
	External         string   // how to check URLs off the scope: none, head or get
	Depth            int64    // links from a seed at most; Unlimited for no limit
	Sample           string   // share of hosts or pages: hosts:1%, pages:1%; empty for all
	SampleKey        string   // key of the draw
	SampleSeeds      bool     // also draw the seeds
	Traps            []string // rules of traps, as RULE=N or RULE=off
	Sitemaps         []string // robots for those that robots.txt names, or URLs

	Delay         time.Duration // shortest pause between two exchanges with a host
	IPDelay       time.Duration // shortest time between the starts of two requests to one address
	MaxCrawlDelay time.Duration // longest Crawl-delay to obey
	OwnSite       []string      // the operator's own hosts: OwnLoopback, OwnNone, or names
	PerHost       int64         // exchanges at once with an own host, where Delay is 0
	PerHostPerDay int64         // requests to a host within 24 hours; 0 for no limit
	Standard      robots.Standard

	OptOut        []string // files of hosts and networks to leave alone
	KeepNoArchive bool     // keep the bodies of pages that ask not to be archived
	Dedup         []string // indexes, or crawl directories, whose responses are not archived again
	FollowRel     []string // words of rel with which links are followed, or none
	Follow        []string // kinds of documents other than pages in which links are followed

	MaxPages, MaxPerHost int64         // HTML pages; 0 for no limit
	MaxPerDomain         int64         // HTML pages of a registrable domain; 0 for no limit
	MaxPerTag            int64         // HTML pages found from the seeds with one tag; 0 for no limit
	StopWhen             []string      // conditions, each of which ends the crawl
	MaxBytes             int64         // received; 0 for no limit
	MaxBody              int64         // bytes of a body, decoded
	MaxTime              time.Duration // of a run; 0 for no limit
	ExternalAge          time.Duration // for which a working URL off the scope is not checked again
	MaxWait              time.Duration // a run ends when no URL is due within it
	Window               []string      // weekly times in which requests may be sent; empty means always
	MaxRate, MinRate     int64         // bytes per second; 0 for no limit

	Order                                     frontier.Order // within a host
	MaxDBSize                                 int64          // bytes of the frontier; 0 for no limit
	MaxURLs, MaxURLsPerHost, MaxURLsPerDomain int64          // found in links; 0 for no limit

	Bind         string   // local address of all connections
	IPv4, IPv6   bool     // use only this family
	Proxy        string   // URL, @FILE that holds one, or env; empty for no proxy
	Auth, Header []string // HOST=FILE, for own hosts

	Workers        int64    // exchanges in flight in all
	AllowNet       []string // private addresses (CIDR) that may be reached
	CAFile         string   // also trust these certificates (PEM)
	AcceptLanguage string
	AcceptZstd     bool
	MemoryLimit    int64 // bytes of memory to save time with; 0 leaves it to Go

	Mirror   bool // make a browsable copy at the end of each run
	Layout   layout.Kind
	Cut      int64 // leading folders to omit in file names
	Vanished mirror.Vanished
	Previews bool // also fetch preview pictures

	MinInterval, MaxInterval time.Duration // between two visits of a page by a watch
	Fresh                    float64       // target share of the time for which a watch keeps a page fresh
	Gather                   time.Duration // from one round of a watch to the next, at least

	Hosts hostrule.Rules // overrides for single hosts; they can only make the crawl more polite

	LinkCheck bool  // of this run, and in no file: see crawler.Config
	Fleet     Fleet // of this directory, and in no file

	Served string // folder of files that the process serves to this crawl only; in no settings file; empty without one

	lists *optout.Watch // of OptOut and the default places, once open
}

// DefaultExternalAge is how long a working external link is not checked again.
const DefaultExternalAge = 7 * 24 * time.Hour

// DefaultGather is the shortest time between two rounds of a watch.
const DefaultGather = time.Hour

// Unlimited is the depth without a limit.
const Unlimited = -1

// Defaults returns the default settings.
func Defaults() Settings {
	return Settings{
		Agent: crawler.DefaultAgent, SignatureDraft: webbotauth.DefaultDraft, SignatureLife: webbotauth.DefaultLife,
		Scope: string(scope.DefaultMode), Requisites: scope.DefaultRequisites, Depth: Unlimited,
		External: scope.ExternalNone, ExternalAge: DefaultExternalAge,
		SampleKey: scope.DefaultSampleKey,
		Delay:     crawler.Floor, IPDelay: crawler.DefaultIPDelay, MaxCrawlDelay: crawler.DefaultMaxCrawlDelay,
		OwnSite: []string{OwnLoopback}, PerHost: 1, FollowRel: crawler.DefaultFollowRel(),
		MinRate: fetch.DefaultLeastSpeed, MaxBody: fetch.DefaultMaxBody, MaxWait: crawler.DefaultMaxWait,
		Workers: crawler.DefaultWorkers, MemoryLimit: 48 << 20,
		MinInterval: freshness.DefaultMin, MaxInterval: freshness.DefaultMax, Fresh: freshness.DefaultEnough, Gather: DefaultGather,
	}
}

// MirrorLayout returns the layout of the mirror.
func (s *Settings) MirrorLayout() layout.Layout {
	return layout.Layout{Kind: s.Layout, Cut: int(min(s.Cut, layout.MaxCut+1))}
}

// Lists returns the opt-out lists of the crawl; nil before OpenLists.
func (s *Settings) Lists() *optout.Watch { return s.lists }

// Identity returns the crawler's identity. The contact loses the scheme that people write before a mail address.
func (s *Settings) Identity() fetch.Identity {
	return fetch.Identity{
		Token: s.Agent, Version: Version, Contact: strings.TrimPrefix(s.Contact, "mailto:"), Operator: s.Operator, Purpose: s.Purpose,
	}
}

// UserConfig returns the path of the user's configuration file.
func UserConfig() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", misuse("no configuration folder: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "curtsy", "config.toml"), nil
}

// Flags declares every setting as a flag, in the order of files, whose keys are the names of the flags. The defaults are the
// values in s. Flags calls group with a title after the last flag of each group.
func (s *Settings) Flags(fs *pflag.FlagSet, group func(title string)) {
	fs.StringVar(&s.Agent, "agent", s.Agent, "`TOKEN` product token, the name to match in robots.txt")
	fs.StringVar(&s.Contact, "contact", s.Contact, "`ADDRESS` contact for site owners: an http(s) URL or an e-mail address")
	fs.StringVar(&s.Operator, "operator", s.Operator, "`NAME` person or organisation that runs the crawl; recorded in the archive")
	fs.StringVar(&s.Purpose, "purpose", s.Purpose, "`TEXT` purpose of the crawl; recorded in the archive")
	group("Identity")

	fs.StringVar(&s.SignatureAgent, "signature-agent", s.SignatureAgent, "`URL` sign each request (Web Bot Auth) with the key published at this https URL, or at the well-known path of this site")
	fs.Var(&word[webbotauth.Draft]{&s.SignatureDraft, "draft", func(d webbotauth.Draft) string { return string(d) }, webbotauth.ParseDraft},
		"signature-draft", "`DRAFT` draft to sign by: "+strings.Join(webbotauth.Drafts(), ", "))
	fs.Var((*Duration)(&s.SignatureLife), "signature-life", "`TIME` validity of a signature, from 10s to 24h")
	group("Signature")

	fs.StringVar(&s.Scope, "scope", s.Scope, "`AREA` area to stay in: host, domain, prefix, seeds or any")
	fs.StringArrayVar(&s.Include, "include", s.Include, "`REGEXP` crawl only URLs that match (RE2); repeatable")
	fs.StringArrayVar(&s.Exclude, "exclude", s.Exclude, "`REGEXP` skip URLs that match; wins over --include; repeatable")
	fs.StringSliceVar(&s.Accept, "accept", s.Accept, "`LIST` besides pages, fetch only these media types or extensions (image/*,.pdf)")
	fs.StringSliceVar(&s.Reject, "reject", s.Reject, "`LIST` skip these media types or extensions")
	fs.StringVar(&s.Requisites, "page-requisites", s.Requisites, "`WHICH` images, styles, scripts and media to fetch: none, scope (in scope), host (on the seeds' hosts) or all; with script (all,script) also files on the site that scripts name")
	fs.StringSliceVar(&s.Follow, "follow", s.Follow, "`KINDS` also follow links in other documents: feed (RSS, Atom, JSON Feed)")
	fs.StringVar(&s.External, "external", s.External, "`METHOD` check links that leave the scope: none, head or get; no links are followed\nfrom there")
	fs.Var((*Duration)(&s.ExternalAge), "external-age", "`TIME` do not check a working external link again within this time")
	fs.Var(AtLeast(&s.Depth, Unlimited), "depth", "`N` maximum number of links from a seed; -1 = unlimited")
	fs.StringVar(&s.Sample, "sample", s.Sample, "`SHARE` crawl a reproducible sample of hosts or pages: hosts:1%, pages:0.5%")
	fs.StringVar(&s.SampleKey, "sample-key", s.SampleKey, "`TEXT` key of the sample; another key draws another sample")
	fs.BoolVar(&s.SampleSeeds, "sample-seeds", s.SampleSeeds, "also sample the seeds; otherwise all are crawled")
	fs.StringArrayVar(&s.Sitemaps, "sitemaps", s.Sitemaps, "`WHICH` also read sitemaps: robots, for those that robots.txt names,\nor a URL; repeatable (default none)")
	fs.StringArrayVar(&s.Traps, "trap", s.Traps, "`RULE=N` threshold of a trap rule, or RULE=off; repeatable")
	group("Scope")

	fs.Var((*Duration)(&s.Delay), "delay", "`TIME` minimum delay between two requests to a host; below 1s only for your own hosts")
	fs.Var((*Duration)(&s.IPDelay), "ip-delay", "`TIME` minimum delay between the starts of two requests to an IP address, for all its hosts; at least 100ms")
	fs.Var((*Duration)(&s.MaxCrawlDelay), "max-crawl-delay", "`TIME` longest Crawl-delay to wait for; hosts with a longer one are not crawled")
	fs.StringSliceVar(&s.OwnSite, "own-site", s.OwnSite, "`HOSTS` your own hosts, where --delay may be below 1s: loopback, none, or names that publish the output of curtsy identity own; repeatable")
	fs.Var(AtLeast(&s.PerHost, 1), "per-host", "`N` concurrent requests to each of your own hosts where --delay is 0")
	fs.Var(Standard(&s.Standard), "robots-standard", "`STANDARD` also obey an older robots.txt standard: draft1996 and std1994 forbid more than rfc9309")
	fs.StringArrayVar(&s.OptOut, "opt-out", s.OptOut, "`FILE` opt-out list; reread when it changes; repeatable")
	fs.BoolVar(&s.KeepNoArchive, "keep-noarchive", s.KeepNoArchive, "archive bodies in spite of noarchive directives")
	fs.StringSliceVar(&s.FollowRel, "follow-rel", s.FollowRel, "`LIST` follow links that have these rel values: nofollow, ugc, sponsored; or none")
	group("Politeness")

	fs.Var(AtLeast(&s.MaxPages, 0), "max-pages", "`N` end after this many HTML pages; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxPerHost, 0), "max-per-host", "`N` maximum HTML pages of one host; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxPerDomain, 0), "max-per-domain", "`N` maximum HTML pages of one registrable domain; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxPerTag, 0), "max-per-tag", "`N` maximum HTML pages found from the seeds with one tag; 0 = unlimited")
	fs.Var(AtLeast(&s.PerHostPerDay, 0), "per-host-per-day", "`N` maximum requests to one host within 24 hours; 0 = unlimited")
	fs.StringArrayVar(&s.StopWhen, "stop-when", s.StopWhen, "`CONDITION` end when it is true: pages=N, tag:NAME pages=N, errors>P%,\nduplicates>P% or new-hosts<N, or none; repeatable")
	fs.Var((*Size)(&s.MaxBytes), "max-bytes", "`SIZE` end after receiving this much; 0 = unlimited")
	fs.Var((*Duration)(&s.MaxTime), "max-time", "`TIME` end after this time; 0 = unlimited")
	fs.Var((*Size)(&s.MaxRate), "max-rate", "`SIZE` maximum bytes received per second; 0 = unlimited")
	fs.Var((*Size)(&s.MinRate), "min-rate", "`SIZE` abort responses slower than this per second over 30s; 0 = never")
	fs.Var((*Size)(&s.MaxBody), "max-body", "`SIZE` largest decoded body")
	fs.Var((*Duration)(&s.MaxWait), "max-wait", "`TIME` end when nothing is due within this time")
	fs.StringArrayVar(&s.Window, "window", s.Window, "`TIMES` send requests only at these times, as in \"22:00-06:00 Europe/Berlin\" or\n\"Mon-Fri 22:00-06:00 UTC\"; otherwise wait, at most --max-wait; repeatable; or none")
	group("Budgets")

	fs.Var(oneOf(&s.Order, "order", " is not an order: write breadth or depth", "breadth", "depth"),
		"order", "`ORDER` order within a host: breadth (oldest first) or depth (newest first)")
	fs.Var((*Size)(&s.MaxDBSize), "max-db-size", "`SIZE` end before the frontier becomes larger than this; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxURLs, 0), "max-urls", "`N` maximum URLs to accept from links; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxURLsPerHost, 0), "max-urls-per-host", "`N` maximum URLs to accept from links for one host; 0 = unlimited")
	fs.Var(AtLeast(&s.MaxURLsPerDomain, 0), "max-urls-per-domain", "`N` maximum URLs to accept from links for one registrable domain; 0 = unlimited")
	group("Frontier")

	fs.Var(AtLeast(&s.Workers, 1), "workers", "`N` maximum number of concurrent requests; requests that take over 1s do not count, up to four times as many")
	fs.StringArrayVar(&s.AllowNet, "allow-net", s.AllowNet, "`CIDR` private addresses to allow; repeatable")
	fs.StringVar(&s.CAFile, "ca-file", s.CAFile, "`FILE` also trust the certificates in this file (PEM)")
	fs.StringVar(&s.Bind, "bind", s.Bind, "`ADDRESS` local address for outgoing connections")
	fs.BoolVarP(&s.IPv4, "ipv4", "4", s.IPv4, "use IPv4 only")
	fs.BoolVarP(&s.IPv6, "ipv6", "6", s.IPv6, "use IPv6 only")
	fs.StringVar(&s.Proxy, "proxy", s.Proxy, "`URL` connect through this proxy (http, https, socks5, socks5h),\nthrough the one named in @FILE, or, with env, as set in the environment")
	fs.StringArrayVar(&s.Auth, "auth", s.Auth, "`HOST=FILE` log in to your own host with user:password or Bearer TOKEN\nfrom a file that only you can read; repeatable")
	fs.StringArrayVar(&s.Header, "header", s.Header, "`HOST=FILE` send your own host the header fields (Name: value) in such a file; repeatable")
	fs.StringVar(&s.AcceptLanguage, "accept-language", s.AcceptLanguage, "`TEXT` value of the Accept-Language field")
	fs.BoolVar(&s.AcceptZstd, "accept-zstd", s.AcceptZstd, "accept zstd besides gzip and br; few tools read archives with it")
	group("Network")

	fs.StringArrayVar(&s.Dedup, "dedup", s.Dedup, "`CDXJ` index file or crawl directory: record responses that it has as\nrevisits instead of archiving them again; repeatable")
	group("Archive")

	fs.Var((*Size)(&s.MemoryLimit), "memory-limit", "`SIZE` memory that may be used to save time, exceeded only if the crawl needs more; 0 = Go's default")
	group("Machine")

	fs.BoolVar(&s.Mirror, "mirror", s.Mirror, "make a browsable copy in DIR/mirror at the end of each run")
	fs.Var(Layout(&s.Layout), "layout", "`LAYOUT` layout of the copy: host (HOST/PATH) or flat (PATH)")
	fs.Var(AtLeast(&s.Cut, 0), "cut-dirs", "`N` with --layout flat: leave out the first folders of each path")
	fs.Var(Vanished(&s.Vanished), "vanished", "`ACTION` keep or remove pages that are gone (404, 410); the copy loses them only when\nan update completes")
	fs.BoolVar(&s.Previews, "previews", s.Previews, "also fetch preview pictures (og:image)")
	group("Mirror")

	fs.Var((*Duration)(&s.MinInterval), "min-interval", "`TIME` watch: shortest time between two visits to a page")
	fs.Var((*Duration)(&s.MaxInterval), "max-interval", "`TIME` watch: longest time between two visits to a page, if the budget allows it")
	fs.Var((*Share)(&s.Fresh), "fresh", "`SHARE` watch: visit a page often enough to be fresh for this share of the time; more often only with spare budget")
	fs.Var((*Duration)(&s.Gather), "round-interval", "`TIME` watch: shortest time between two rounds")
	group("Watching")
}

func (s *Settings) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	fs.SortFlags = false
	s.Flags(fs, func(string) {})
	return fs
}

// HostFlags declares the keys of a host table as flags that set r. Each usage begins with an example value.
func HostFlags(r *hostrule.Rule) *pflag.FlagSet {
	fs := pflag.NewFlagSet(HostTable, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringVar(&r.Match, "match", r.Match, "`\"*.your-domain.org\"` which hosts; ports do not count")
	fs.Var((*Duration)(&r.Delay), "delay", "`\"5s\"` shortest TIME between two requests to each of them; never below 1s")
	fs.Var(AtLeast(&r.MaxPerHost, 0), "max-per-host", "`200` at most N HTML pages of each")
	fs.Var(AtLeast(&r.PerHostPerDay, 0), "per-host-per-day", "`1000` at most N requests to each within 24 hours")
	fs.StringArrayVar(&r.Include, "include", r.Include, "`[\"/articles/\"]` of each only URLs that match one of these REGEXPs; seeds are exempt")
	fs.StringArrayVar(&r.Exclude, "exclude", r.Exclude, "`[\"/search\", '\\?sort=']` no URLs that match one of these")
	fs.StringArrayVar(&r.Hours, "hours", r.Hours, "`[\"22:00-06:00\"]` hours of the day, in UTC, in which they may be requested")
	return fs
}

// HostTable is the name of the tables with rules for single hosts.
const HostTable = "host"

// Names returns the names of all settings, in the order of files.
func Names() []string { return namesOf(new(Settings).flags()) }

// HostNames returns the keys of a host table.
func HostNames() []string { return namesOf(HostFlags(new(hostrule.Rule))) }

func namesOf(fs *pflag.FlagSet) (names []string) {
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// Text returns a setting as files write it, a list with one element a line.
func (s *Settings) Text(name string) string {
	v := s.flags().Lookup(name).Value
	if list, ok := v.(pflag.SliceValue); ok {
		return strings.Join(list.GetSlice(), "\n")
	}
	return v.String()
}

// Assign sets a flag to values as files and the environment write them. Several values are for a list, which they replace.
func Assign(f *pflag.Flag, values ...string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		if f.Value.Type() == "stringSlice" { // its elements have no commas: one text may hold several
			values = strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' })
		}
		return list.Replace(values)
	}
	if len(values) != 1 {
		return errors.New("one value is expected, not a list")
	}
	err := f.Value.Set(values[0])
	if err != nil && f.Value.Type() == "bool" {
		return fmt.Errorf("%q: write true or false", values[0])
	}
	return err
}

// TOML returns the settings as a file that ReadFile reads.
func (s *Settings) TOML() ([]byte, error) {
	var b bytes.Buffer
	var failed error
	write := func(f *pflag.Flag) {
		line, err := toml.Marshal(map[string]any{f.Name: tomlOf(f)})
		failed = errors.Join(failed, err)
		b.Write(line)
	}
	s.flags().VisitAll(write)
	for i := range s.Hosts {
		b.WriteString("\n[[" + HostTable + "]]\n")
		visitSet(&s.Hosts[i], write)
	}
	if failed != nil {
		return nil, fmt.Errorf("configuration: %w", failed)
	}
	return b.Bytes(), nil
}

// HostTables returns the host tables, each key with its TOML value.
func (s *Settings) HostTables() (all []map[string]any) {
	for i := range s.Hosts {
		t := map[string]any{}
		visitSet(&s.Hosts[i], func(f *pflag.Flag) { t[f.Name] = tomlOf(f) })
		all = append(all, t)
	}
	return all
}

func visitSet(r *hostrule.Rule, visit func(*pflag.Flag)) {
	zero := HostFlags(new(hostrule.Rule))
	HostFlags(r).VisitAll(func(f *pflag.Flag) {
		if f.Value.String() != zero.Lookup(f.Name).DefValue {
			visit(f)
		}
	})
}

func tomlOf(f *pflag.Flag) any {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return append([]string{}, list.GetSlice()...)
	}
	text := f.Value.String()
	switch f.Value.Type() {
	case "bool":
		return text == "true"
	case "int":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return text
}

// Duration is a pflag.Value in Go's syntax (1s, 500ms, 2h30m). A bare 0 is valid; any other bare number lacks a unit.
type Duration time.Duration

func (d *Duration) String() string { return plainly.Duration(time.Duration(*d)) }

func (d *Duration) Type() string { return "duration" }

func (d *Duration) Set(s string) error {
	v, err := time.ParseDuration(s)
	switch {
	case err == nil && v < 0:
		return fmt.Errorf("%q is negative", s)
	case err != nil:
		if _, bare := strconv.ParseFloat(s, 64); bare == nil {
			return fmt.Errorf("%q has no unit; write %ss, %sm or %sms", s, s, s, s)
		}
		return fmt.Errorf("%q is not a duration; write it like 500ms, 1s or 2h30m", s)
	}
	*d = Duration(v)
	return nil
}

type number struct {
	n     *int64
	least int64
}

// AtLeast returns a flag for the number at n, which refuses values below least.
func AtLeast(n *int64, least int64) pflag.Value { return &number{n, least} }

func (n *number) String() string { return strconv.FormatInt(*n.n, 10) }

func (n *number) Type() string { return "int" }

func (n *number) Set(s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is too large", s)
	case err != nil:
		return fmt.Errorf("%q is not a whole number", s)
	case v < n.least:
		return fmt.Errorf("%q is less than %d", s, n.least)
	}
	*n.n = v
	return nil
}

// Share is a pflag.Value between 0 and 1, exclusive.
type Share float64

func (z *Share) String() string { return strconv.FormatFloat(float64(*z), 'g', -1, 64) }

func (z *Share) Type() string { return "share" }

func (z *Share) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v < 1) {
		return fmt.Errorf("%q: write a share between 0 and 1, like 0.8", s)
	}
	*z = Share(v)
	return nil
}

// Size is a pflag.Value of bytes with a unit (100MiB). A bare 0 is valid.
type Size int64

var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
}

func (z *Size) String() string { return plainly.Size(int64(*z)) }

func (z *Size) Type() string { return "size" }

func (z *Size) Set(s string) error {
	if s == "0" {
		*z = 0
		return nil
	}
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n >= 0) || n*u.factor >= 1<<62 {
			break
		}
		*z = Size(n * u.factor)
		return nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%q has no unit; write it like 100MiB or 4096B", s)
	}
	return fmt.Errorf("%q is not a size; write it like 100MiB, 1.5GiB or 4096B", s)
}

// word is a setting that takes one of a few words.
type word[T any] struct {
	to    *T
	kind  string
	write func(T) string
	read  func(string) (T, error)
}

func (w *word[T]) String() string { return w.write(*w.to) }

func (w *word[T]) Type() string { return w.kind }

func (w *word[T]) Set(s string) error {
	v, err := w.read(s)
	if err == nil {
		*w.to = v
	}
	return err
}

// Standard returns the flag of the robots.txt standard.
func Standard(to *robots.Standard) pflag.Value {
	return &word[robots.Standard]{to, "standard", robots.Standard.String, robots.ParseStandard}
}

// Layout returns the flag of the mirror's layout.
func Layout(to *layout.Kind) pflag.Value {
	return &word[layout.Kind]{to, "layout", layout.Kind.String, layout.Parse}
}

// Vanished returns the flag for the mirror's pages that are gone.
func Vanished(to *mirror.Vanished) pflag.Value {
	return oneOf(to, "vanished", ": write keep or remove", "keep", "remove")
}

// oneOf returns a flag for a number by its word. hint names the valid words.
func oneOf[T ~uint8](to *T, kind, hint string, words ...string) pflag.Value {
	read := func(s string) (T, error) {
		i := slices.Index(words, s)
		if i < 0 {
			return 0, fmt.Errorf("%q%s", s, hint)
		}
		return T(i), nil
	}
	return &word[T]{to, kind, func(n T) string { return words[n] }, read}
}
