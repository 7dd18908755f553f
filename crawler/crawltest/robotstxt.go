package crawltest

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"curtsy/robots/naive"
)

// The states of an authority's robots.txt (RFC 9309 2.3.1).
type policyKind uint8

const (
	unasked  policyKind = iota // never fetched
	underway                   // redirected, and not yet followed to the end
	ruled                      // a file with rules
	open                       // unavailable: everything is allowed (2.3.1.3)
	down                       // unreachable: everything is disallowed (2.3.1.4)
)

// policy is in force at an authority from some time on.
type policy struct {
	kind  policyKind
	body  []byte    // of ruled
	why   string    // "answered 503"
	since time.Time // end of the exchange that fetched it
	by    *Exchange // whose end it holds from: later than since if a fresh copy outlived a failure
}

const (
	// policyLife is the time for which a robots.txt may be used (RFC 9309 2.4).
	policyLife = 24 * time.Hour
	// maxRobotsHops bounds the redirects of a robots.txt (RFC 9309 2.3.1.2).
	maxRobotsHops = 5
)

// policyOf interprets a response to a request for robots.txt, redirects aside.
func policyOf(status int, body []byte, cut bool) policy {
	p := policy{why: fmt.Sprintf("answered %d", status)}
	switch {
	case cut || status == 0:
		p.kind, p.why = down, "was broken off"
	case status == http.StatusPartialContent:
		p.kind = down
	case status >= 200 && status < 300:
		p.kind, p.body = ruled, body
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		p.kind = down // transient, though the RFC's letter counts them as unavailable
	case status >= 400 && status < 500:
		p.kind = open
	default:
		p.kind = down
	}
	return p
}

// binding returns the tokens that bind: the crawler's own, and the second if a group names it.
func (p policy) binding(tokens []string) []string {
	if len(tokens) > 1 && !naive.Named(p.body, tokens[1]) {
		return tokens[:1]
	}
	return tokens
}

// disallows describes the rule that forbids target to one of the tokens; empty if none does.
func (p policy) disallows(tokens []string, target string) string {
	if p.kind != ruled {
		return ""
	}
	for _, token := range p.binding(tokens) {
		if ok, line := naive.Read("rfc9309", p.body, token).Allowed(target); !ok {
			return fmt.Sprintf("line %d of robots.txt disallows it for %s", line, token)
		}
	}
	return ""
}

// delay returns the largest Crawl-delay for the tokens.
func (p policy) delay(tokens []string) time.Duration {
	most := 0.0
	for _, token := range p.binding(tokens) {
		if seconds, ok := naive.Delay(p.body, token); ok {
			most = max(most, seconds)
		}
	}
	if most >= float64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	return time.Duration(most * float64(time.Second))
}

// chase is a robots.txt redirect to be followed.
type chase struct {
	of   string // the authority whose robots.txt it is
	hops int
	via  []place
}

// policies returns the policies of each authority in order of time, and sets ForRobots of all requests.
func (w *Web) policies(all []*Exchange) map[string][]policy {
	held := map[string][]policy{}
	chased := map[place][]chase{}
	ended := slices.Clone(all)
	slices.SortStableFunc(ended, byEnd)
	for _, x := range ended {
		at := place{x.Host, x.Key}
		origins := slices.Clone(chased[at])
		if x.Key == RobotsPath {
			origins = append(origins, chase{of: x.Host})
			for to := range chased { // requested again: drop the older chain
				chased[to] = slices.DeleteFunc(chased[to], func(c chase) bool { return c.of == x.Host && to != at })
			}
		}
		x.ForRobots = len(origins) > 0
		if x.End.IsZero() || x.Method != http.MethodGet {
			continue
		}
		for _, c := range origins {
			p := policyOf(x.Status, x.text(), x.Cut)
			if x.Status >= 300 && x.Status < 400 && x.Status != http.StatusNotModified {
				p = w.follow(x, c, chased)
			} else if p.kind != down {
				chased[at] = slices.DeleteFunc(chased[at], func(o chase) bool { return o.of == c.of })
			}
			p.since = x.End
			p = succeed(p, held[c.of], x.Status)
			p.by = x
			held[c.of] = append(held[c.of], p)
		}
	}
	return held
}

func (w *Web) follow(x *Exchange, c chase, chased map[place][]chase) policy {
	at := place{x.Host, x.Key}
	to, ok := w.resolve(at, x.Answer.Get("Location"))
	via := append(slices.Clone(c.via), at)
	switch {
	case !ok:
		return policy{kind: down, why: fmt.Sprintf("redirected (%d) to nothing in this web", x.Status)}
	case slices.Contains(via, to):
		return policy{kind: down, why: "redirected in a loop"}
	case c.hops == maxRobotsHops:
		return policy{kind: open, why: fmt.Sprintf("redirected more than %d times", maxRobotsHops)}
	}
	if !slices.ContainsFunc(chased[to], func(o chase) bool { return o.of == c.of }) {
		chased[to] = append(chased[to], chase{of: c.of, hops: c.hops + 1, via: via})
	}
	return policy{kind: underway, why: "redirected to " + to.String()}
}

// succeed returns the policy after p follows held.
func succeed(p policy, held []policy, status int) policy {
	var last policy
	for _, h := range slices.Backward(held) {
		if h.kind != underway {
			last = h
			break
		}
	}
	fresh := (last.kind == ruled || last.kind == open) && p.since.Sub(last.since) < policyLife
	switch {
	case status == http.StatusNotModified && last.kind == ruled:
		last.since = p.since
		return last
	case fresh && (p.kind == down || p.kind == underway):
		return last // a fresh copy may be used while the next is unavailable (RFC 9309 2.4)
	}
	return p
}

func at(held []policy, x *Exchange) policy {
	for _, p := range slices.Backward(held) {
		if p.by.Before(x) {
			return p
		}
	}
	return policy{}
}

// configured returns the policy of a site's present robots.txt, early failures aside. Where a
// handler answers it, and only then, it is the last one of held.
func (w *Web) configured(h *host, held []policy) policy {
	spot, via := place{h.name, RobotsPath}, []place(nil)
	for range maxRobotsHops + 1 {
		l := w.hosts[spot.host].now().page(spot.key)
		if l == nil || l.Raw != nil {
			if len(held) > 0 {
				return held[len(held)-1]
			}
			return policy{kind: open}
		}
		if l.Status < 300 || l.Status >= 400 {
			return policyOf(l.Status, l.body, false)
		}
		via = append(via, spot)
		to, ok := w.resolve(spot, l.Redirect)
		if !ok || slices.Contains(via, to) {
			return policy{kind: down}
		}
		spot = to
	}
	return policy{kind: open}
}
