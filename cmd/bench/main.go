package main

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/crawler"
	"curtsy/storage/plainly"
)

func main() {
	runtime.MemProfileRate = 0 // --profile sets it
	std := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Report(std.Err, newRoot(std).ExecuteContext(context.Background())))
}

// bench has the flags, and the state that all runs share.
type bench struct {
	name                          string // of the setup
	rounds, pages, hosts, workers int    // except for rounds, 0 means the default of the setup
	discovered                    []int
	pace, peerLimit               time.Duration
	vs                            []string
	dir, profile, docs            string
	json                          bool
	given                         func(flag string) bool
	print                         func(format string, args ...any) // reports progress

	contenders []contender
	self       string   // path of this program
	env        []string // of its other processes
	tmp        string   // folder of the crawls
	webs       map[webConfig]*remoteWeb
}

func newRoot(std cli.Streams) *cobra.Command {
	b := bench{webs: map[webConfig]*remoteWeb{}}
	b.print = func(format string, args ...any) { fmt.Fprintf(std.Err, format+"\n", args...) }
	root := &cobra.Command{
		Use:   "bench [flags]",
		Short: "Measure the cost of crawling on this machine",
		Long: "Measure the cost of crawling on this machine, on generated pages that another\n" +
			"process serves on loopback, in rounds that alternate between curtsy and the\n" +
			"programs it is compared with. Everything is on: robots.txt, a durable frontier,\n" +
			"archive and ledger. The servers check each run.\n" +
			"docs/dev/performance.md explains each setup and figure.",
		Args: cli.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b.given = cmd.Flags().Changed
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return b.run(ctx, std.Out) })
		},
	}
	root.SetFlagErrorFunc(cli.FlagError)
	fs := root.Flags()
	fs.StringVar(&b.name, "setup", oneHost, "measure this setup, `NAME`: "+setupNames)
	fs.IntVar(&b.rounds, "rounds", 5, "measure each program `N` times, alternately")
	fs.IntVar(&b.pages, "pages", 0, "`N` pages in all; 0 = the default of the setup")
	fs.IntVar(&b.hosts, "hosts", 0, "`N` hosts; 0 = the default of the setup")
	fs.IntVar(&b.workers, "workers", 0, "`N` requests at a time; 0 = the default of the setup")
	fs.DurationVar(&b.pace, "pace", 500*time.Millisecond, "`TIME` between requests that the hosts of saturation require; from 1s on they\nare third-party hosts, below that your own")
	fs.IntSliceVar(&b.discovered, "discovered", nil, "crawl until `N` URLs are known, once for each N, in growth (default\n100000,1000000)")
	fs.StringArrayVar(&b.vs, "vs", nil, "compare with `PROGRAM`: bare (fetch and parse, nothing stored), wget, wget2,\nhttrack, scrapy, peers (those of the four that are installed), none, checkers (link\ncheckers), or a command line with {url}, {urls} or {seeds} (a file), and {dir};\nrepeatable (default bare for one-host and many-hosts, peers for mirror)")
	fs.DurationVar(&b.peerLimit, "peer-limit", 2*time.Minute, "stop a peer after `TIME`, and report its result until then")
	fs.StringVar(&b.docs, "docs", "", "also time the link checkers on the pages in `FOLDER`")
	fs.StringVar(&b.dir, "dir", "", "store crawls under `DIR` while they run; the disk counts (default a temporary one)")
	fs.StringVar(&b.profile, "profile", "", "write processor and allocation profiles of each crawl into `DIR`, for go tool pprof;\nslightly slower")
	fs.BoolVar(&b.json, "json", false, "print one JSON object")
	linkcheck := crawlcmd.NewLinkCheck(std)
	linkcheck.Hidden = true
	root.AddCommand(linkcheck, newChild(std))
	return root
}

const (
	oneHost    = "one-host"   // an own site: the cost of a page decides
	manyHosts  = "many-hosts" // own sites, one request at a time each
	saturation = "saturation" // the delay decides: is it reached?
	growth     = "growth"     // far more is discovered than fetched
	mirrorTree = "mirror"     // the browsable tree is made as well
	hostile    = "hostile"    // one page is huge, or a bomb
	setupNames = "one-host, many-hosts, saturation, growth, mirror or hostile"
)

// setup has the defaults of a setup, and its own flags.
type setup struct {
	pages, hosts, workers int
	vs                    []string
	flags                 string
}

var setups = map[string]setup{
	oneHost:    {5000, 1, 16, []string{"bare"}, "pages vs profile"},
	manyHosts:  {5000, 200, 64, []string{"bare"}, "pages hosts vs profile"},
	saturation: {0, 100, 64, nil, "pages hosts pace vs profile"},
	growth:     {0, 100, 16, nil, "pages hosts discovered vs profile"},
	mirrorTree: {5000, 1, 16, []string{"peers"}, "pages vs profile"},
	hostile:    {500, 1, 16, nil, "pages profile"},
}

const (
	hostPages = 20                    // of a host of saturation: all hosts are soon known
	latency   = 20 * time.Millisecond // of each response of saturation
	curtsy    = "curtsy"
	bareLoop  = "bare"
)

// contender is a program that is measured on a web: a job of this program, or the command of a peer.
type contender struct {
	name  string
	web   webConfig
	job   job
	words []string // of a peer, with placeholders
}

func (c *contender) peer() bool { return c.words != nil }

// plan checks the flags and lists the contenders.
func (b *bench) plan() error {
	s, ok := setups[b.name]
	if !ok {
		return cli.Usagef("--setup %q: write %s", b.name, setupNames)
	}
	for _, flag := range strings.Fields("pages hosts pace discovered vs profile") {
		if b.given(flag) && !slices.Contains(strings.Fields(s.flags), flag) {
			return cli.Usagef("--%s does not apply to --setup %s", flag, b.name)
		}
	}
	if b.docs != "" {
		return cli.Usagef("--docs applies only to --vs checkers")
	}
	if b.rounds < 1 || min(b.pages, b.hosts, b.workers) < 0 || b.name == saturation && b.pace <= 0 {
		return cli.Usagef("--rounds and --pace must be positive, --pages, --hosts and --workers not negative")
	}
	b.hosts, b.workers = cmp.Or(b.hosts, s.hosts), cmp.Or(b.workers, s.workers)
	web := webConfig{Hosts: b.hosts, Width: 1}
	switch b.name {
	case oneHost, mirrorTree, hostile:
		web.Width = b.workers
	case saturation:
		web.Pace, web.Latency = b.pace, latency
		s.pages = hostPages * b.hosts
	case growth:
		web.Endless = true
	}
	sizes := []int{cmp.Or(b.pages, s.pages)}
	if b.name == growth && b.pages == 0 {
		if sizes = sizes[:0]; len(b.discovered) == 0 {
			b.discovered = []int{100_000, 1_000_000}
		}
		for _, known := range b.discovered {
			sizes = append(sizes, (known-b.hosts+links-1)/links)
		}
	}
	for _, pages := range sizes {
		if pages < b.hosts {
			return cli.Usagef("%d pages for %d hosts: each host has at least one, and each page of growth makes %d URLs", pages, b.hosts, links)
		}
		web.Pages = pages
		name := curtsy
		if len(sizes) > 1 {
			name += ", " + plainly.Count(b.hosts+links*pages, "URL")
		}
		b.contenders = append(b.contenders, contender{name: name, web: web, job: b.crawlJob(web)})
	}
	if b.name == hostile {
		for _, body := range hostileBodies {
			web.Hostile = body
			b.contenders = append(b.contenders, contender{name: curtsy + ", " + body, web: web, job: b.crawlJob(web)})
		}
	}
	b.pages = b.contenders[0].web.Pages
	if !b.given("vs") {
		b.vs = s.vs
	}
	return b.compare()
}

func (b *bench) crawlJob(web webConfig) job {
	args := []string{"--quiet", "--workers", strconv.Itoa(b.workers), "--dir", "{dir}", "--seeds", "{seeds}"}
	switch {
	case web.Pace >= crawler.Floor:
		args = append(args, "--own-site", "none")
	case web.Pace > 0: // the delay that robots.txt requires still applies
		args = append(args, "--delay", "0")
	default:
		args = append(args, "--delay", "0", "--per-host", strconv.Itoa(web.Width))
	}
	if web.Endless {
		args = append(args, "--max-pages", strconv.Itoa(web.Pages))
	}
	if b.name == mirrorTree {
		args = append(args, "--mirror")
	}
	return job{Do: "crawl", Args: args}
}

// compare adds the contenders of --vs. They crawl the first web.
func (b *bench) compare() error {
	web := b.contenders[0].web
	add := func(c contender) {
		c.web = web
		base := c.name
		for n := 2; slices.ContainsFunc(b.contenders, func(o contender) bool { return o.name == c.name }); n++ {
			c.name = fmt.Sprintf("%s (%d)", base, n)
		}
		b.contenders = append(b.contenders, c)
	}
	for i, whom := range b.vs {
		switch {
		case slices.Contains(b.vs[:i], whom) || whom == "none" && len(b.vs) > 1:
			return cli.Usagef("--vs %s: name each program once, and none by itself", whom)
		case whom == "bare" && web.Pace > 0:
			return cli.Usagef("--vs bare: the loop observes no delay, which --setup %s measures", b.name)
		}
		switch whom {
		case "none":
		case "bare":
			most := 0
			if web.Endless {
				most = web.Pages
			}
			add(contender{name: bareLoop, job: job{Do: "bare", Workers: b.workers, Most: most, Tuned: true}})
			add(contender{name: bareLoop + ", Go's GC", job: job{Do: "bare", Workers: b.workers, Most: most}})
		default:
			all, err := b.peers(whom, web)
			if err != nil {
				return err
			}
			for _, c := range all {
				add(c)
			}
		}
	}
	return nil
}

// peerNames are the crawlers with known command lines. HTTrack limits itself to a few pages per second unless -%!, -%c0 and -A0
// are all given. Scrapy stores nothing.
var peerNames = []string{"wget", "wget2", "httrack", "scrapy"}

// peers returns the contenders of a value of --vs: a known crawler, all that are installed, or a command line.
func (b *bench) peers(whom string, web webConfig) (all []contender, err error) {
	names := []string{whom}
	if whom == "peers" {
		names = slices.DeleteFunc(slices.Clone(peerNames), func(name string) bool {
			_, err := exec.LookPath(name)
			return err != nil || name == "scrapy" && b.name == mirrorTree
		})
		if len(names) == 0 && b.name != mirrorTree {
			return nil, cli.Usagef("--vs peers: none of %s is installed", strings.Join(peerNames, ", "))
		}
	}
	known := map[string]string{
		"wget":    "wget -q -r -l inf -H -P {dir} {urls}",
		"wget2":   "wget2 -q -r -l inf -H --max-threads {workers} -P {dir} {urls}",
		"httrack": "httrack {urls} -O {dir} -q -%! -c{workers} -%c0 -A0 -s0",
		"scrapy":  "scrapy runspider {spider} -a seeds={seeds} -s CONCURRENT_REQUESTS={workers} -s CONCURRENT_REQUESTS_PER_DOMAIN={width}",
	}
	for _, name := range names {
		line, ok := known[name]
		switch {
		case !ok && !strings.Contains(name, "{url") && !strings.Contains(name, "{seeds}") || len(strings.Fields(name)) == 0:
			return nil, cli.Usagef("--vs %q: write bare, peers, none, checkers, %s, or a command line with {url}, {urls} or {seeds}", name, strings.Join(peerNames, ", "))
		case !ok:
			line, name = name, strings.TrimSuffix(filepath.Base(strings.Fields(name)[0]), ".exe")
		case strings.HasPrefix(name, "wget") && b.name == mirrorTree:
			line, name = strings.Replace(line, "-r -l inf", "-m -k -E -p", 1), name+" -mkEp"
		case strings.HasPrefix(name, "wget"):
			name += " -r"
		}
		words := strings.Fields(strings.NewReplacer("{workers}", strconv.Itoa(b.workers), "{width}", strconv.Itoa(web.Width)).Replace(line))
		if web.Endless {
			return nil, cli.Usagef("--vs %q: the pages of --setup %s have no end, so a peer would not stop", whom, growth)
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, cli.Usagef("--vs %q: %w", whom, err)
		}
		all = append(all, contender{name: name, words: words})
	}
	return all, nil
}

// spider is a Scrapy spider that follows all links of its hosts, and stores nothing.
//
//go:embed spider.py
var spider []byte
