package crawltest

import (
	"net/url"
	"slices"
	"strings"
)

type walk struct {
	web    *Web
	token  string
	tokens []string
	scope  map[string]bool   // authorities, without "www."
	policy map[string]policy // nil: robots.txt is ignored
	follow bool              // ignore nofollow
}

// maxPageHops bounds the redirects of a seed.
const maxPageHops = 10

// Reach returns in order the URLs that a crawler of a product token can reach from seeds (none: Web.Seeds) while it
// obeys robots.txt and nofollow, without robots.txt files and traps. In scope are the seeds' hosts, with and without
// "www.", and those that the seeds redirect to.
func (w *Web) Reach(token string, seeds ...string) []string {
	k := w.newWalk(token, seeds)
	k.policy = w.finally(nil)
	var urls []string
	for p := range k.reach(w.start(seeds)) {
		urls = append(urls, p.String())
	}
	slices.Sort(urls)
	return urls
}

// tokensOf returns the tokens that bind: a group for curtsy binds every crawler.
func tokensOf(token string) []string {
	if token == "" || strings.EqualFold(token, DefaultToken) {
		return []string{DefaultToken}
	}
	return []string{token, DefaultToken}
}

// DefaultToken is the product token of a crawler without one.
const DefaultToken = "curtsy"

func (w *Web) finally(held map[string][]policy) map[string]policy {
	m := make(map[string]policy, len(w.order))
	for _, h := range w.order {
		m[h.name] = w.configured(h, held[h.name])
	}
	return m
}

// start returns the places of seeds that are in the web.
func (w *Web) start(seeds []string) []place {
	if len(seeds) == 0 {
		seeds = w.Seeds()
	}
	var places []place
	for _, s := range seeds {
		u, err := url.Parse(s)
		if err != nil || w.named(u.Host) == nil {
			continue
		}
		if p, ok := w.resolve(place{w.named(u.Host).name, "/"}, s); ok {
			places = append(places, p)
		}
	}
	return places
}

// newWalk returns a walk that obeys nofollow but not robots.txt.
func (w *Web) newWalk(token string, seeds []string) *walk {
	k := &walk{web: w, token: token, tokens: tokensOf(token), scope: map[string]bool{}}
	if k.token == "" {
		k.token = DefaultToken
	}
	for _, p := range w.start(seeds) {
		k.scope[scopeOf(p.host)] = true
		for range maxPageHops {
			l := w.hosts[p.host].now().page(p.key)
			if l == nil || l.Redirect == "" {
				break
			}
			next, ok := w.resolve(p, l.Redirect)
			if !ok {
				break
			}
			p = next
		}
		k.scope[scopeOf(p.host)] = true // a seed's redirects extend the scope to their end
	}
	return k
}

func scopeOf(authority string) string { return strings.TrimPrefix(authority, "www.") }

// step is a place to visit. chain marks a seed or its redirect target, which is in scope on any host.
type step struct {
	place
	chain bool
}

// reach maps each reachable place to the one that led to it.
func (k *walk) reach(seeds []place) map[place]place {
	reached := map[place]place{}
	var queue []step
	add := func(from place, to place, chain bool) {
		if _, known := reached[to]; known || !chain && !k.scope[scopeOf(to.host)] || k.barred(to) {
			return
		}
		reached[to] = from
		queue = append(queue, step{to, chain})
	}
	for _, s := range seeds {
		add(s, s, true)
	}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, to := range k.leads(s.place) {
			add(s.place, to.place, s.chain && to.chain)
		}
	}
	return reached
}

func (k *walk) barred(p place) bool {
	switch {
	case p.key == RobotsPath || k.web.hosts[p.host].now().trapped(p.key) != nil:
		return true
	case k.policy == nil:
		return false
	}
	policy := k.policy[p.host]
	return policy.kind == down || policy.disallows(k.tokens, p.key) != ""
}

func (k *walk) leads(p place) (to []step) {
	l := k.web.hosts[p.host].now().page(p.key)
	if l == nil {
		return nil
	}
	add := func(ref string, chain bool) {
		if next, ok := k.web.resolve(p, ref); ok {
			to = append(to, step{next, chain})
		}
	}
	if l.Redirect != "" {
		add(l.Redirect, true)
		return to
	}
	if l.embeds() {
		for _, ref := range l.Embeds {
			add(ref, false)
		}
	}
	if !l.links() {
		return to
	}
	if k.follow || !l.nofollow(k.token) {
		for _, ref := range l.Links {
			add(ref, false)
		}
	}
	if k.follow {
		for _, ref := range l.NoFollow {
			add(ref, false)
		}
	}
	return to
}
