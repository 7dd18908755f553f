package scope

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

// world makes configurations and candidates that often collide.
type world struct{ *rand.Rand }

func (w world) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w world) url(t testing.TB) canon.URL {
	path := ""
	for range w.IntN(7) {
		path += "/" + w.pick("docs", "img", "a", "1", "%2525", "docs")
	}
	return parse(t, w.pick("http://", "https://")+w.pick("h.test", "www.h.test", "cdn.h.test", "other.test:81")+path+w.pick("", "/", "/a.pdf", "/a.png", "/?q=1"))
}

func (w world) config() Config {
	patterns := func() (ps []string) {
		for range w.IntN(3) {
			ps = append(ps, w.pick(`docs`, `\.pdf$`, `^https:`, `h\.test/`, `q=\d`))
		}
		return ps
	}
	c := Config{
		Mode: modes[w.IntN(len(modes))], Requisites: requisites[w.IntN(len(requisites))],
		Include: patterns(), Exclude: patterns(),
	}
	if w.IntN(3) == 0 {
		c.Depth = ptr(w.IntN(3))
	}
	if w.IntN(3) == 0 {
		c.Accept = []string{w.pick(".pdf", ".png", "image/*")}
	}
	if w.IntN(3) == 0 {
		c.Reject = []string{w.pick(".pdf", ".png", "image/*")}
	}
	return c
}

func (w world) candidate(t testing.TB) Candidate {
	c := Candidate{URL: w.url(t), Depth: w.IntN(4), Redirect: w.IntN(3) == 0, NoFollow: w.IntN(4) == 0}
	switch w.IntN(4) {
	case 0:
		c.Embed, c.Embeds = true, 1+w.IntN(5)
	case 1:
		c.Seed, c.Depth, c.NoFollow = true, 0, false
	}
	return c
}

// These properties of doc.go hold for any configuration and candidate.
func TestProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("it only computes, for long under the race detector")
	}
	w := world{rand.New(rand.NewPCG(1, 2))}
	counts := map[string]int{}
	for range 20000 {
		c := w.config()
		seeds := []canon.URL{w.url(t), w.url(t)}
		s, err := New(c, seeds)
		require.NoError(t, err)
		cand := w.candidate(t)
		if w.IntN(8) == 0 {
			cand.URL = seeds[0]
		}
		v := s.Judge(cand)
		counts[text(v)]++

		require.Containsf(t, s.Rules(), v.Rule, "%+v, %+v: %q is not among the rules", c, cand, v.Rule)
		require.Falsef(t, anyMatch(s.exclude, cand.URL.String()) && (v.In || v.Rule != "scope:exclude"), "exclude does not win: %+v, %+v: %s", c, cand, text(v))
		for name, relax := range map[string]func(*Config){
			"include": func(c *Config) { c.Include = nil }, "exclude": func(c *Config) { c.Exclude = nil },
			"accept": func(c *Config) { c.Accept = nil }, "reject": func(c *Config) { c.Reject = nil },
			"depth": func(c *Config) { c.Depth = nil },
		} {
			wider := c
			relax(&wider)
			r, err := New(wider, seeds)
			require.NoError(t, err)
			require.Falsef(t, v.In && !r.Judge(cand).In, "%s widens: %+v, %+v", name, c, cand)
		}
		if !v.Timeless {
			continue
		}
		for range 5 { // no later candidate may be in, unless the operator typed it
			later := w.candidate(t)
			later.URL = cand.URL
			later.Redirect = later.Redirect || later.Seed
			s.Extend(w.url(t))
			require.Falsef(t, s.Judge(later).In, "%+v: %+v is refused for good by %s, but %+v is in", c, cand, v.Rule, later)
		}
	}
	for _, want := range []string{
		"in scope:seed", "in scope:seed-redirect", "in scope:requisites", "in scope:host", "in scope:domain", "in scope:prefix", "in scope:seeds", "in scope:any",
		"out scope:host", "out scope:prefix", "out scope:seeds", "out scope:include", "out scope:depth", "out scope:accept", "out scope:requisites", "out scope:nofollow",
		"out for good scope:exclude", "out for good scope:reject", "out for good trap:percent", "out for good trap:repeat",
	} {
		assert.NotEqualf(t, 0, counts[want], "the candidates never came to %q", want)
	}
}

func TestExtend_AcceptsRefusedURLs(t *testing.T) {
	for _, m := range []Mode{ModeHost, ModeDomain, ModePrefix, ModeSeeds} {
		s := newScope(t, Config{Mode: m}, "http://h.test/a/")
		link := Candidate{URL: parse(t, "https://other.example/b/c"), Depth: 1}
		v := s.Judge(link)
		assert.Truef(t, !v.In && !v.Timeless, "%s: %s", m, text(v))
		s.Extend(link.URL)
		v = s.Judge(link)
		assert.Truef(t, v.In, "%s, extended: %s", m, text(v))
		v = s.Judge(Candidate{URL: parse(t, "http://third.example/b/c"), Depth: 1})
		assert.Truef(t, !v.In, "%s: a third host: %s", m, text(v))
	}
}

func TestExtend_WhileOthersJudge(t *testing.T) {
	for _, m := range modes {
		s := newScope(t, Config{Mode: m}, "http://h.test/")
		w := world{rand.New(rand.NewPCG(3, 4))}
		us := make([]canon.URL, 200)
		for i := range us {
			us[i] = w.url(t)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for _, u := range us {
					s.Extend(u)
					assert.Truef(t, s.Judge(Candidate{URL: u, Seed: true}).In && s.holds(u), "%s: %s is out although it was added", m, u)
				}
			})
		}
		wg.Wait()
	}
}
