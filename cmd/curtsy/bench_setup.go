package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"curtsy/crawler/crawltest/benchweb"
)

// The setups.
const (
	setupOneHost    = "one-host"   // an own site: the cost of a page decides
	setupManyHosts  = "many-hosts" // own sites, one exchange at a time with each
	setupSaturation = "saturation" // the pace decides: is it reached?
	setupGrowth     = "growth"     // far more is discovered than fetched
	setupMirror     = "mirror"     // the browsable tree is made as well
	setupHostile    = "hostile"    // one page is huge, or a bomb
	setupScale      = "scale"      // the same again with more and more: bench_scale.go
)

// setup is what a setup has unless the command line says something else.
type setup struct {
	name                  string
	pages, hosts, workers int
	vs                    []string
}

// paceTurns is how many pages a host of saturation has: enough for the time in which hosts are met to be short beside it.
const paceTurns = 20

func setups() []setup {
	return []setup{
		{setupOneHost, 5000, 1, 16, []string{vsBare}},
		{setupManyHosts, 5000, 200, 64, []string{vsBare}},
		{setupSaturation, 0, 100, 64, nil}, // pages: paceTurns for each host
		{setupGrowth, 0, 100, 16, nil},     // pages: by what is to be discovered
		{setupMirror, 5000, 1, 16, []string{vsPeers}},
		{setupHostile, 500, 1, 16, nil},
		{setupScale, 0, 100, 16, nil}, // a ladder of its own
	}
}

func setupNames() string {
	var names []string
	for _, s := range setups() {
		names = append(names, s.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// plan is what the command line comes to.
func (b *benching) plan() (*benchPlan, error) {
	at := slices.IndexFunc(setups(), func(s setup) bool { return s.name == b.setup })
	if at < 0 {
		return nil, usagef("--setup %q: write %s", b.setup, setupNames())
	}
	s := setups()[at]
	if err := b.fits(s); err != nil {
		return nil, err
	}
	p := &benchPlan{setup: s.name, rounds: int(b.rounds.n), memory: int64(b.memory), dir: b.dir, profile: b.profile,
		peerLimit: time.Duration(b.peerLimit), maxBody: int64(b.maxBody), workers: cmp.Or(int(b.workers.n), s.workers)}
	p.web = benchweb.Config{Seed: benchSeed, Hosts: cmp.Or(int(b.hosts.n), s.hosts), Width: 1}
	switch s.name {
	case setupOneHost, setupMirror, setupHostile:
		p.web.Width = p.workers
	case setupSaturation:
		p.web.Pace, p.web.Latency = time.Duration(b.pace), time.Duration(b.latency)
		s.pages = paceTurns * p.web.Hosts
	case setupGrowth:
		p.web.Endless = true
	}
	sizes, err := b.sizes(s, p.web.Hosts)
	if err != nil {
		return nil, err
	}
	vs := b.vs
	if vs == nil {
		vs = s.vs
	}
	return p, p.meet(vs, p.webs(sizes))
}

// fits holds flags against the setup they are for.
func (b *benching) fits(s setup) error {
	for _, f := range []struct{ flag, setup string }{
		{"pace", setupSaturation}, {"latency", setupSaturation}, {"max-body", setupHostile},
		{"svg", setupScale}, {"large", setupScale},
	} {
		if b.flags.Changed(f.flag) && s.name != f.setup {
			return usagef("--%s is for --setup %s", f.flag, f.setup)
		}
	}
	switch {
	case b.flags.Changed("discovered") && s.name != setupGrowth && s.name != setupScale:
		return usagef("--discovered is for --setup %s and %s", setupGrowth, setupScale)
	case s.hosts == 1 && b.hosts.n > 1:
		return usagef("--hosts %d: --setup %s has one; see --setup %s", b.hosts.n, s.name, setupManyHosts)
	case s.name == setupSaturation && b.pace <= 0:
		return usagef("--pace 0: --setup %s is about the pace", setupSaturation)
	case s.name == setupHostile && b.vs != nil && !slices.Equal(b.vs, []string{vsNone}):
		return usagef("--vs: --setup %s holds curtsy against itself, on the same web without what is hostile", setupHostile)
	case s.name == setupScale && (b.vs != nil || b.pages.n > 0 || b.hosts.n > 0 || b.profile != ""):
		return usagef("--setup %s has steps of its own: --pages, --hosts, --vs and --profile are for the others", setupScale)
	}
	return nil
}

// sizes are the numbers of pages that curtsy is measured with.
func (b *benching) sizes(s setup, hosts int) ([]int, error) {
	if s.name != setupGrowth || b.pages.n > 0 {
		if s.name == setupGrowth && b.flags.Changed("discovered") {
			return nil, usagef("--discovered and --pages: each page makes 40 URLs, so that one is enough")
		}
		pages := cmp.Or(int(b.pages.n), s.pages)
		if pages < hosts && s.name != setupScale {
			return nil, usagef("--pages %d: each of %d hosts has one at least", pages, hosts)
		}
		return []int{pages}, nil
	}
	var sizes []int
	for _, known := range b.discovered {
		pages := (known - hosts + benchweb.Links - 1) / benchweb.Links
		if pages < hosts {
			return nil, usagef("--discovered %d: each of %d hosts has a page, and that makes %d URLs at least", known, hosts, hosts+hosts*benchweb.Links)
		}
		sizes = append(sizes, pages)
	}
	if len(sizes) == 0 {
		return nil, usagef("--discovered: write how many URLs")
	}
	return sizes, nil
}

// webOf is a web that curtsy is measured on, and how its row is called.
type webOf struct {
	name string
	web  benchweb.Config
}

// webs are what curtsy crawls; whom it is compared with crawls the first.
func (p *benchPlan) webs(sizes []int) []webOf {
	var all []webOf
	for _, pages := range sizes {
		web := p.web
		web.Pages = pages
		name := nameCurtsy
		if len(sizes) > 1 {
			name += ", " + several(int64(web.Hosts+benchweb.Links*pages), "URL")
		}
		all = append(all, webOf{name, web})
	}
	p.web = all[0].web
	if p.setup == setupHostile {
		for _, ill := range benchweb.Ills() {
			web := p.web
			web.Ill = ill
			all = append(all, webOf{nameCurtsy + ", " + string(ill), web})
		}
	}
	return all
}
