package audit

import (
	"slices"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
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

// redirects are those that wait, by the key of the URL that they lead to.
type redirects map[string][]hop

// due are the redirects that an exchange with a URL follows. In another file of ours they may be followed once more:
// a crawl that was killed may have to go on where it was.
func (r redirects) due(key string, e *evidence.Exchange, ours bool) (waiting []hop) {
	all := r[key]
	spare := -1
	for i := range all {
		if !all[i].served(e) {
			waiting = append(waiting, all[i])
			spare++
		}
	}
	if !ours {
		delete(r, key)
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

// leadTo reports whether e follows one.
func (r redirects) leadTo(e *evidence.Exchange, key string) bool {
	return slices.ContainsFunc(r[key], func(w hop) bool { return !w.served(e) })
}

// fromElsewhere reports whether e follows redirects from other authorities alone.
func (r redirects) fromElsewhere(e *evidence.Exchange) bool {
	for _, w := range r[e.Asked().Key] {
		if w.origin == e.Authority && !w.served(e) {
			return false
		}
	}
	return true
}

// add makes w wait for an exchange with the URL of a key, in the place of another of its authority.
func (r redirects) add(key string, w hop) {
	if len(r) >= maxWaiting {
		r.forget()
	}
	waiting := slices.DeleteFunc(r[key], func(o hop) bool { return o.origin == w.origin })
	if len(waiting) < 1000 {
		r[key] = append(waiting, w)
	}
}

// forget forgets one redirect, rather one that was followed.
func (r redirects) forget() {
	one := ""
	for old, waiting := range r {
		one = old
		if !slices.ContainsFunc(waiting, func(w hop) bool { return w.file == "" }) {
			break
		}
	}
	delete(r, one)
}

// served reports whether e follows something else than w: w was followed as often as it may be, or the line of e names a page, a
// link, or another host whose robots.txt it is for.
func (w *hop) served(e *evidence.Exchange) bool {
	if l := e.Line; l != nil && (l.Decision == storage.DecisionAllow || l.Kind != "" ||
		l.Decision == storage.DecisionRobots && evidence.AuthorityOf(l.Via) != w.origin) {
		return true
	}
	return w.file != "" && w.file == e.File && w.spare == 0
}

// follow takes a redirect (RFC 9309 2.3.1.2).
func (j *judge) follow(h *evidence.Joined, to *policyHost, w hop, asked string) {
	now := h.Exchange.End()
	p, err := evidence.Resolve(h.Exchange.URL, h.Answer.Location.Value)
	chain := append(slices.Clip(w.chain), asked)
	switch {
	case h.Answer.Location.Value == "" || err != nil || slices.Contains(chain, p.Authority+p.Target):
		if j.m.Promises() {
			j.fail(to, now, "a redirect that leads nowhere")
			return
		}
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: h.Exchange.Record}
	case w.n >= j.mostHops() && len(j.m.Standards()) > 1: // an older document permits no such thing
		j.fail(to, now, "more redirects than are followed")
	case w.n >= j.mostHops(): // "crawlers MAY assume that the robots.txt file is unavailable"
		to.policy = policy{kind: absent, since: now, expires: now.Add(day), record: h.Exchange.Record}
	default:
		j.expect(h)
		j.redirects.add(p.Key, hop{origin: w.origin, n: w.n + 1, chain: chain})
	}
}

// forAnother reports whether an exchange for the robots.txt of p's host was made for another host, of those whose
// redirects lead there, as the crawl says.
func (j *judge) forAnother(h *evidence.Joined, p evidence.URL, waiting []hop) bool {
	l := h.Exchange.Line
	if !j.m.Ours() || l == nil || l.Via == "" {
		return false
	}
	from := evidence.AuthorityOf(l.Via)
	return from != p.Authority && slices.ContainsFunc(waiting, func(w hop) bool { return w.origin == from })
}

// leadsAway reports whether an exchange with p's host redirects to another one. If it was made for another host, what
// stands there says nothing to p's.
func leadsAway(h *evidence.Joined, p evidence.URL) bool {
	if h.Exchange.Status < 300 || h.Exchange.Status > 399 {
		return false
	}
	to, err := evidence.Resolve(h.Exchange.URL, h.Answer.Location.Value)
	return err == nil && to.Authority != p.Authority
}

// mostHops is how many redirects of a robots.txt in a row are followed, by the document that the archive declares.
func (j *judge) mostHops() int {
	if j.m.Ours() && j.m.Info.Standard == "draft1996" {
		return oldHops
	}
	return maxHops
}
