package main

import (
	"cmp"
	"slices"
	"strings"

	"curtsy/storage/plainly"
)

// The setups.
const (
	OneHost         = "one-host"   // an own site: the cost of a page decides
	setupManyHosts  = "many-hosts" // own sites, one exchange at a time with each
	setupSaturation = "saturation" // the pace decides: is it reached?
	setupGrowth     = "growth"     // far more is discovered than fetched
	setupMirror     = "mirror"     // the browsable tree is made as well
	setupHostile    = "hostile"    // one page is huge, or a bomb
	setupScale      = "scale"      // the same again with more and more: scale.go
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
		{OneHost, 5000, 1, 16, []string{vsBare}},
		{setupManyHosts, 5000, 200, 64, []string{vsBare}},
		{setupSaturation, 0, 100, 64, nil}, // pages: paceTurns for each host
		{setupGrowth, 0, 100, 16, nil},     // pages: by what is to be discovered
		{setupMirror, 5000, 1, 16, []string{vsPeers}},
		{setupHostile, 500, 1, 16, nil},
		{setupScale, 0, 100, 16, nil}, // a ladder of its own
	}
}

// SetupNames are the names of the setups.
func SetupNames() (names []string) {
	for _, s := range setups() {
		names = append(names, s.name)
	}
	return names
}

// Setups names them, for people.
func Setups() string {
	names := SetupNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// plan is what the command line comes to.
func (c *Config) plan() (*Plan, error) {
	at := slices.IndexFunc(setups(), func(s setup) bool { return s.name == c.Setup })
	if at < 0 {
		return nil, usagef("--setup %q: write %s", c.Setup, Setups())
	}
	s := setups()[at]
	if err := c.fits(s); err != nil {
		return nil, err
	}
	p := &Plan{setup: s.name, rounds: c.Rounds, memory: c.Memory, dir: c.Dir, profile: c.Profile, version: c.Version, unset: c.Unset,
		peerLimit: c.PeerLimit, maxBody: c.MaxBody, workers: cmp.Or(c.Workers, s.workers)}
	p.web = WebConfig{Seed: webSeed, Hosts: cmp.Or(c.Hosts, s.hosts), Width: 1}
	switch s.name {
	case OneHost, setupMirror, setupHostile:
		p.web.Width = p.workers
	case setupSaturation:
		p.web.Pace, p.web.Latency = c.Pace, c.Latency
		s.pages = paceTurns * p.web.Hosts
	case setupGrowth:
		p.web.Endless = true
	}
	sizes, err := c.sizes(s, p.web.Hosts)
	if err != nil {
		return nil, err
	}
	vs := c.VS
	if vs == nil {
		vs = s.vs
	}
	return p, p.meet(vs, p.webs(sizes))
}

// fits holds flags against the setup they are for.
func (c *Config) fits(s setup) error {
	for _, f := range []struct{ flag, setup string }{
		{"pace", setupSaturation}, {"latency", setupSaturation}, {"max-body", setupHostile},
		{"svg", setupScale}, {"large", setupScale},
	} {
		if c.Given(f.flag) && s.name != f.setup {
			return usagef("--%s is for --setup %s", f.flag, f.setup)
		}
	}
	switch {
	case c.Given("discovered") && s.name != setupGrowth && s.name != setupScale:
		return usagef("--discovered is for --setup %s and %s", setupGrowth, setupScale)
	case s.hosts == 1 && c.Hosts > 1:
		return usagef("--hosts %d: --setup %s has one; see --setup %s", c.Hosts, s.name, setupManyHosts)
	case s.name == setupSaturation && c.Pace <= 0:
		return usagef("--pace 0: --setup %s is about the pace", setupSaturation)
	case s.name == setupHostile && c.VS != nil && !slices.Equal(c.VS, []string{vsNone}):
		return usagef("--vs: --setup %s compares curtsy with itself, on the same web without the hostile parts", setupHostile)
	case s.name == setupScale && (c.VS != nil || c.Pages > 0 || c.Hosts > 0 || c.Profile != ""):
		return usagef("--setup %s has its own steps: --pages, --hosts, --vs and --profile are for the other setups", setupScale)
	}
	return nil
}

// sizes are the numbers of pages that curtsy is measured with.
func (c *Config) sizes(s setup, hosts int) ([]int, error) {
	if s.name != setupGrowth || c.Pages > 0 {
		if s.name == setupGrowth && c.Given("discovered") {
			return nil, usagef("--discovered and --pages: each page makes 40 URLs, so that one is enough")
		}
		pages := cmp.Or(c.Pages, s.pages)
		if pages < hosts && s.name != setupScale {
			return nil, usagef("--pages %d: each of %d hosts has one at least", pages, hosts)
		}
		return []int{pages}, nil
	}
	var sizes []int
	for _, known := range c.Discovered {
		pages := (known - hosts + Links - 1) / Links
		if pages < hosts {
			return nil, usagef("--discovered %d: each of %d hosts has a page, and that makes %d URLs at least", known, hosts, hosts+hosts*Links)
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
	web  WebConfig
}

// webs are what curtsy crawls; whom it is compared with crawls the first.
func (p *Plan) webs(sizes []int) []webOf {
	var all []webOf
	for _, pages := range sizes {
		web := p.web
		web.Pages = pages
		name := nameCurtsy
		if len(sizes) > 1 {
			name += ", " + plainly.Count(web.Hosts+Links*pages, "URL")
		}
		all = append(all, webOf{name, web})
	}
	p.web = all[0].web
	if p.setup == setupHostile {
		for _, ill := range HostileBodies() {
			web := p.web
			web.Ill = ill
			all = append(all, webOf{nameCurtsy + ", " + string(ill), web})
		}
	}
	return all
}
