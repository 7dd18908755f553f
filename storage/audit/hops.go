package audit

import (
	"slices"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/weburl"
)

// How many redirects of a robots.txt in a row are followed.
const (
	maxHops = 5  // RFC 9309 2.3.1.2
	oldHops = 10 // by the draft of 1996, 3.1, which has no bound: so many this crawler follows
)

// maxWaiting bounds the URLs that redirects of robots.txt wait for.
const maxWaiting = 10000

// hop is a redirect of a robots.txt, waiting for the exchange that follows it.
type hop struct {
	origin string // the authority that the rules at its end bind
	file   string // in which it was followed; empty before
	spare  int    // how often it may be followed again there: others wait for the same URL, and each may ask for it
	n      int
	chain  []string // the URLs asked so far
}

// due are the redirects that an exchange with a URL follows. In another file of ours they may be followed once more: a crawl
// that was killed may have to go on where it was.
func (a *audit) due(key string, e *evidence.Exchange) (waiting []hop) {
	all := a.hops[key]
	spare := -1
	for i := range all {
		if !all[i].served(e) {
			waiting = append(waiting, all[i])
			spare++
		}
	}
	if !a.ours() {
		delete(a.hops, key)
		return waiting
	}
	for i := range all {
		switch w := &all[i]; {
		case w.served(e):
		case w.file != e.File:
			w.file, w.spare = e.File, spare
		case w.spare > 0:
			w.spare--
		}
	}
	return waiting
}

// served reports whether w was followed as often as may be, so that e follows something else: a link, say, as its line tells.
func (w *hop) served(e *evidence.Exchange) bool {
	return e.Line != nil && e.Line.Decision == storage.DecisionAllow || w.file != "" && w.file == e.File && w.spare == 0
}

// follow takes a redirect (RFC 9309 2.3.1.2).
func (a *audit) follow(h *evidence.Joined, to *host, w hop, asked string) {
	now := h.Exchange.End()
	p, err := weburl.Resolve(h.Exchange.URL, h.Answer.Location.Value)
	chain := append(slices.Clip(w.chain), asked)
	switch {
	case h.Answer.Location.Value == "" || err != nil || slices.Contains(chain, p.Authority+p.Target):
		if a.strict() {
			a.fail(to, now, "a redirect that leads nowhere")
			return
		}
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: h.Exchange.Record}
	case w.n >= a.mostHops() && len(a.standards()) > 1: // an older document permits no such thing
		a.fail(to, now, "more redirects than are followed")
	case w.n >= a.mostHops(): // "crawlers MAY assume that the robots.txt file is unavailable"
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: h.Exchange.Record}
	default:
		k := p.Key
		a.read.Expect(h)
		if len(a.hops) >= maxWaiting {
			a.forgetHop()
		}
		waiting := slices.DeleteFunc(a.hops[k], func(o hop) bool { return o.origin == to.name })
		if len(waiting) < 1000 {
			a.hops[k] = append(waiting, hop{origin: to.name, n: w.n + 1, chain: chain})
		}
	}
}

// mostHops is how many redirects of a robots.txt in a row are followed, by the document that the archive declares.
func (a *audit) mostHops() int {
	if a.ours() && a.info.Standard == "draft1996" {
		return oldHops
	}
	return maxHops
}

// forgetHop forgets one redirect, rather one that was followed.
func (a *audit) forgetHop() {
	one := ""
	for old, waiting := range a.hops {
		one = old
		if !slices.ContainsFunc(waiting, func(w hop) bool { return w.file == "" }) {
			break
		}
	}
	delete(a.hops, one)
}
