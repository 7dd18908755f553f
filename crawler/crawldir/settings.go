package crawldir

import (
	"os"
	"path/filepath"
	"strings"
	"time"

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
)

// Version is the version of the program, as requests, archives and ledgers carry it.
const Version = "0.1.0"

// Settings are all settings of a crawl. Begin with Defaults: the zero value is none that works.
type Settings struct {
	Agent    string // product token: the name that robots.txt knows
	Contact  string // for site owners: an http(s) URL or a mailbox
	Operator string // who runs the crawl; kept with the archive
	Purpose  string // what the crawl is for; kept with the archive

	SignatureAgent string           // URL of the published key that requests are signed with; empty leaves them unsigned
	SignatureDraft webbotauth.Draft // of Web Bot Auth, by which
	SignatureLife  time.Duration    // for which a signature counts

	Scope            string   // area to stay in: host, domain, prefix, seeds or any
	Include, Exclude []string // regular expressions (RE2) of URLs
	Accept, Reject   []string // media types or extensions
	Requisites       string   // images, styles, scripts, media: none, those in scope, or all
	External         string   // what lies off the scope: none, or whether it is there, asked by head or get
	Depth            int64    // links from a seed at most; Unlimited for no limit
	Sample           string   // share of hosts or pages: hosts:1%, pages:1%; empty for all
	SampleKey        string   // by which it is drawn
	SampleSeeds      bool     // seeds are drawn, too
	Traps            []string // rules of traps, as RULE=N or RULE=off
	Sitemaps         []string // robots for those that robots.txt names, or URLs

	Delay         time.Duration // shortest pause between two exchanges with a host
	IPDelay       time.Duration // shortest time between the starts of two requests to one address
	MaxCrawlDelay time.Duration // longest Crawl-delay that is waited for
	OwnSite       []string      // the operator's own hosts: OwnLoopback, OwnNone, or names
	PerHost       int64         // exchanges at once with an own host, where Delay is 0
	PerHostPerDay int64         // requests to a host within 24 hours; 0 for no limit
	Standard      robots.Standard

	OptOut        []string // files that list whom to leave alone
	KeepNoArchive bool     // keep the bodies of pages that ask not to be archived
	Dedup         []string // indexes, or crawl directories, whose answers are not archived again
	FollowRel     []string // words of rel with which links are followed, or none
	Follow        []string // kinds of documents other than pages in which links are followed

	MaxPages, MaxPerHost int64         // HTML pages; 0 for no limit
	MaxPerDomain         int64         // of a registrable domain; likewise
	MaxPerTag            int64         // of what descends from the seeds with one tag; likewise
	StopWhen             []string      // conditions, each of which ends the crawl
	MaxBytes             int64         // received; 0 for no limit
	MaxBody              int64         // bytes of a body, decoded
	MaxTime              time.Duration // of a run; 0 for no limit
	ExternalAge          time.Duration // for which what lies off the scope is not asked again, once it was there
	MaxWait              time.Duration // a run ends when nothing is due within it
	Window               []string      // parts of the days of a week in which hosts may be asked; none for always
	MaxRate, MinRate     int64         // bytes per second; 0 for no limit

	Order                                     frontier.Order // within a host
	MaxDBSize                                 int64          // bytes of the frontier; 0 for no limit
	MaxURLs, MaxURLsPerHost, MaxURLsPerDomain int64          // that links lead to; 0 for no limit

	Bind         string   // local address of all connections
	IPv4, IPv6   bool     // use this family alone
	Proxy        string   // URL, @FILE that holds one, or env; empty for none
	Auth, Header []string // HOST=FILE, for own hosts

	Workers        int64    // exchanges in flight in all
	AllowNet       []string // private addresses (CIDR) that may be reached
	CAFile         string   // certificates (PEM) to trust, too
	AcceptLanguage string
	AcceptZstd     bool
	MemoryLimit    int64 // bytes of memory to save time with; 0 leaves it to Go

	Mirror   bool // make a browsable copy at the end of each run
	Layout   layout.Kind
	Cut      int64 // leading folders that the names of its files leave out
	Vanished mirror.Vanished
	Previews bool // fetch pictures that pages name for others to show, too

	MinInterval, MaxInterval time.Duration // between two visits of a page by a watch
	Fresh                    float64       // share of the time that a watch keeps a page fresh for, at most
	Gather                   time.Duration // from one round of a watch to the next, at least

	Hosts hostrule.Rules // overrides for single hosts; they can only make the crawl more polite

	LinkCheck bool  // of this run, and in no file: see crawler.Config
	Fleet     Fleet // likewise

	Served string // folder of files that the process serves to this crawl only; in no settings file; empty for none

	lists *optout.Watch // of OptOut and the default places, once open
}

// DefaultExternalAge is for how long what lies off the scope is not asked again.
const DefaultExternalAge = 7 * 24 * time.Hour

// DefaultGather is the shortest time from one round of a watch to the next.
const DefaultGather = time.Hour

// Unlimited is the depth without a limit.
const Unlimited = -1

// Defaults are the settings that hold where nobody says otherwise.
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

// MirrorLayout is how the files of the mirror are laid out.
func (s *Settings) MirrorLayout() layout.Layout {
	return layout.Layout{Kind: s.Layout, Cut: int(min(s.Cut, layout.MaxCut+1))}
}

// Lists are the opt-out lists that bind the crawl, once OpenLists has opened them.
func (s *Settings) Lists() *optout.Watch { return s.lists }

// Identity is who the settings say crawls.
func (s *Settings) Identity() fetch.Identity {
	return fetch.Identity{Token: s.Agent, Version: Version, Contact: mailbox(s.Contact), Operator: s.Operator, Purpose: s.Purpose}
}

// mailbox is a contact without the scheme that people write before an address.
func mailbox(contact string) string { return strings.TrimPrefix(contact, "mailto:") }

// UserConfig is the path of the user's own configuration file.
func UserConfig() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", misuse("no configuration folder: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "curtsy", "config.toml"), nil
}
