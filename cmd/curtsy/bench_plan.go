package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/crawltest"
)

// The setups.
const (
	setupOneHost    = "one-host"   // an own site: the cost of a page decides
	setupManyHosts  = "many-hosts" // own sites, one exchange at a time with each
	setupSaturation = "saturation" // the pace decides: is it reached?
	setupGrowth     = "growth"     // far more is discovered than fetched
)

// Whom curtsy can be compared with, beside command lines.
const (
	vsBare  = "bare"
	vsModel = "model"
	vsNone  = "none"
)

// The names of contenders in results.
const (
	nameCurtsy  = "curtsy"
	nameBare    = "bare"
	nameBareGo  = "bare, Go's GC"
	nameModel   = "curtsy, model"
	nameYard    = "wget2 -r" // what the bare loop must be twice as fast as
	benchSeed   = 1
	yardstick   = "wget2 -q -r -l inf -H --max-threads {workers} -P {dir} {urls}"
	barePasses  = 2.0
	bareWords   = "the bare loop"
	placeWhence = "{url}, {urls} or {seeds}"
)

// benchPlan is what is to be measured.
type benchPlan struct {
	setup      string
	web        crawltest.BenchConfig
	workers    int
	rounds     int
	memory     int64
	dir        string
	profile    string // folder for profiles of crawls; "" for none
	contenders []contender
	unjudged   string // why the bare loop cannot be held against wget2; "" if it is
}

// contender is who is measured.
type contender struct {
	name string
	args []string // of curtsy itself, or of a command; with placeholders
	peer bool     // a command of somebody else
}

func (b *benching) plan() (*benchPlan, error) {
	p := &benchPlan{setup: b.setup, rounds: int(b.rounds.n), memory: int64(b.memory), dir: b.dir, profile: b.profile}
	vs := b.vs
	pages, hosts, workers := 0, 0, 0
	switch b.setup {
	case setupOneHost:
		pages, hosts, workers = 5000, 1, 16
	case setupManyHosts:
		pages, hosts, workers = 5000, 200, 64
	case setupSaturation:
		pages, hosts, workers = 2000, 100, 64
		p.web.Pace, p.web.Latency = time.Duration(b.pace), time.Duration(b.latency)
	case setupGrowth:
		pages, hosts, workers = 2500, 100, 16
		p.web.Endless = true
	default:
		return nil, usagef("--setup %q: write %s, %s, %s or %s", b.setup, setupOneHost, setupManyHosts, setupSaturation, setupGrowth)
	}
	if b.setup != setupSaturation && (b.flags.Changed("pace") || b.flags.Changed("latency")) {
		return nil, usagef("--pace and --latency are for --setup %s", setupSaturation)
	}
	if b.setup == setupOneHost && b.hosts.n > 1 {
		return nil, usagef("--hosts %d: --setup %s has one; see --setup %s", b.hosts.n, setupOneHost, setupManyHosts)
	}
	if b.setup == setupSaturation && b.pace <= 0 {
		return nil, usagef("--pace 0: --setup %s is about the pace", setupSaturation)
	}
	p.web.Seed = benchSeed
	p.web.Pages, p.web.Hosts = cmp.Or(int(b.pages.n), pages), cmp.Or(int(b.hosts.n), hosts)
	p.workers, p.web.Width = cmp.Or(int(b.workers.n), workers), 1
	if b.setup == setupOneHost {
		p.web.Width = p.workers
	}
	if p.web.Pages < p.web.Hosts {
		return nil, usagef("--pages %d: each of %d hosts has one at least", p.web.Pages, p.web.Hosts)
	}
	if vs == nil && b.setup != setupSaturation {
		vs = []string{vsBare}
	}
	return p, p.meet(vs)
}

// crawlArgs are the arguments of the crawl that is measured.
func (p *benchPlan) crawlArgs() []string {
	args := []string{"crawl", "--quiet", "--workers", strconv.Itoa(p.workers), "--memory-limit", formatSize(p.memory), "--dir", "{dir}", "--seeds", "{seeds}"}
	switch {
	case p.web.Pace >= crawler.Floor:
		return append(args, "--own-site", "none")
	case p.web.Pace > 0: // what robots.txt asks for is kept, and no more
		return append(args, "--delay", "0")
	}
	args = append(args, "--delay", "0", "--per-host", strconv.Itoa(p.web.Width))
	if p.web.Endless {
		args = append(args, "--max-pages", strconv.Itoa(p.web.Pages))
	}
	return args
}

func (p *benchPlan) bareArgs(memory int64) []string {
	most := 0
	if p.web.Endless {
		most = p.web.Pages
	}
	return []string{"bench", "bare", "--stats", "{stats}", "--memory-limit", formatSize(memory), "--workers", strconv.Itoa(p.workers),
		"--max-pages", strconv.Itoa(most), "--seeds", "{seeds}"}
}

// meet fills in the contenders.
func (p *benchPlan) meet(vs []string) error {
	crawl := []string{"bench", "crawl", "--stats", "{stats}"}
	if p.profile != "" {
		crawl = append(crawl, "--profile", "{profile}")
	}
	crawl = append(append(crawl, "--"), p.crawlArgs()...)
	p.contenders = []contender{{name: nameCurtsy, args: crawl}}
	for i, whom := range vs {
		var err error
		switch {
		case slices.Contains(vs[:i], whom):
			err = usagef("--vs %s: it is there already", whom)
		case whom == vsNone && len(vs) > 1:
			err = usagef("--vs none stands alone")
		case whom == vsNone:
		case whom == vsBare && p.web.Pace > 0:
			err = usagef("--vs bare: it keeps no pace, which --setup %s is about", p.setup)
		case whom == vsBare:
			p.contenders = append(p.contenders, contender{name: nameBare, args: p.bareArgs(p.memory)}, contender{name: nameBareGo, args: p.bareArgs(0)})
			p.measureUp()
		case whom == vsModel:
			p.contenders = append(p.contenders, contender{name: nameModel, args: slices.Insert(slices.Clone(crawl), 2, "--model")})
		default:
			err = p.meetPeer(whom)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measureUp has the bare loop held against wget2: a yardstick that is itself slow would flatter.
func (p *benchPlan) measureUp() {
	if p.web.Endless {
		p.unjudged = "pages without end keep wget2 busy for ever"
		return
	}
	if _, err := exec.LookPath("wget2"); err != nil {
		p.unjudged = "wget2 is not installed"
		return
	}
	words := strings.Fields(strings.ReplaceAll(yardstick, "{workers}", strconv.Itoa(p.workers)))
	p.contenders = append(p.contenders, contender{name: nameYard, args: words, peer: true})
}

// meetPeer takes a command line.
func (p *benchPlan) meetPeer(line string) error {
	words, err := splitWords(line)
	switch {
	case err != nil:
		return usagef("--vs %q: %w", line, err)
	case len(words) < 2 || !strings.Contains(line, "{url}") && !strings.Contains(line, "{urls}") && !strings.Contains(line, "{seeds}"):
		return usagef("--vs %q: write bare, model, none, or a command line with %s where it is to begin", line, placeWhence)
	case p.web.Endless:
		return usagef("--vs %q: the pages of --setup %s have no end, and a peer would not come to one", line, p.setup)
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return usagef("--vs %q: %w", line, err)
	}
	base := strings.TrimSuffix(filepath.Base(words[0]), ".exe")
	name := base
	for n := 2; slices.ContainsFunc(p.contenders, func(c contender) bool { return c.name == name }); n++ {
		name = fmt.Sprintf("%s (%d)", base, n)
	}
	p.contenders = append(p.contenders, contender{name: name, args: words, peer: true})
	return nil
}

// splitWords splits a command line at white space; quotes, single or double, keep words together.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, begun = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
