package crawltest

import (
	"net/url"
	"slices"
	"strings"
)

// walk finds what can be reached by following links.
type walk struct {
	web    *Web
	token  string
	tokens []string
	scope  map[string]bool   // authorities, without "www."
	policy map[string]policy // that is obeyed; nil: robots.txt is not
	follow bool              // also what nofollow forbids
}

// maxPageHops is how long a chain of redirects a seed may begin with.
const maxPageHops = 10

// Reach returns the URLs that a crawler of that product token can reach from seeds (none: Web.Seeds) without asking
// for what a robots.txt or nofollow forbids. In scope are the seeds' hosts, with and without "www.", and those that the
// seeds redirect to. URLs that traps hold are left out. The URLs are in order; robots.txt files are not among them.
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

// tokensOf returns the tokens that bind: a group that names curtsy binds whatever the crawler is called.
func tokensOf(token string) []string {
	if token == "" || strings.EqualFold(token, DefaultToken) {
		return []string{DefaultToken}
	}
	return []string{token, DefaultToken}
}

// DefaultToken is the product token of a crawler that has none of its own.
const DefaultToken = "curtsy"

// finally returns the policy of each site's present robots.txt.
func (w *Web) finally(held map[string][]policy) map[string]policy {
	m := make(map[string]policy, len(w.order))
	for _, h := range w.order {
		m[h.name] = w.configured(h, held[h.name])
	}
	return m
}

// start returns the places of seeds; what is not in the web is left out.
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

// newWalk returns a walk that obeys nofollow but no robots.txt.
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
		k.scope[scopeOf(p.host)] = true // a seed's redirects extend the scope to where they end
	}
	return k
}

// scopeOf returns the name by which the scope of a host goes: with and without "www." are one.
func scopeOf(authority string) string { return strings.TrimPrefix(authority, "www.") }

// step is a place to be visited. chain says that it is a seed or what a seed redirects to: in scope wherever it is.
type step struct {
	place
	chain bool
}

// reach returns all places that can be reached, each with the one that led to it.
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

// barred reports whether a place is not for us: in a trap, or disallowed.
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

// leads returns where a place leads to. chain marks a redirect.
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
