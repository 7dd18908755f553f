package crawltest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"curtsy/storage/plainly"
)

// visited returns the places that were asked for with GET, each with its requests. Left out are robots.txt files and
// what is in traps.
func (t *Trial) visited() map[place][]*Exchange {
	m := map[place][]*Exchange{}
	for _, x := range t.all {
		if x.robots || x.Method != http.MethodGet {
			continue
		}
		if t.web.hosts[x.Host].now().trapped(x.key) == nil {
			p := place{x.Host, x.key}
			m[p] = append(m[p], x)
		}
	}
	return m
}

func inPlaces[V any](m map[place]V) []place {
	return slices.SortedFunc(maps.Keys(m), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.key, b.key))
	})
}

func (t *Trial) noFollow() Row {
	k := t.web.newWalk(t.Rules.Token, t.Rules.Seeds)
	plain := k.reach(t.web.start(t.Rules.Seeds))
	k.follow = true
	every := k.reach(t.web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	forbidden := 0
	for _, p := range inPlaces(every) {
		if _, ok := plain[p]; ok {
			continue
		}
		if _, asked := visited[every[p]]; asked {
			forbidden++
		}
		for _, x := range visited[p] {
			found = append(found, t.Find(x, "though only links with nofollow lead there, one of them in %s", every[p]))
		}
	}
	return Sum(NoFollow, forbidden, plainly.Count(forbidden, "such link")+" not followed", InOrder(found))
}

func (t *Trial) traps() Row {
	var found []Finding
	checked, most := 0, 0
	for _, h := range t.web.order {
		asked := map[string]int{} // by prefix
		for _, x := range t.hosts[h.name] {
			trap := h.now().trapped(x.key)
			if trap == nil || x.robots || x.Method != http.MethodGet {
				continue
			}
			asked[trap.Prefix]++
			n := asked[trap.Prefix]
			if most = max(most, n); n > trap.Most {
				found = append(found, t.Find(x, "is request %d in the trap %s; %d are forgiven", n, trap.Prefix, trap.Most))
			}
		}
		checked += len(asked)
	}
	return Sum(Traps, checked, fmt.Sprintf("left %s, after %s at most", plainly.Count(checked, "trap"),
		plainly.Count(most, "request")), InOrder(found))
}

func (t *Trial) scope() Row {
	k := t.web.newWalk(t.Rules.Token, t.Rules.Seeds)
	k.follow = true
	linked := k.reach(t.web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	for _, p := range inPlaces(visited) {
		site := t.web.hosts[p.host].now() // the links of a handler, and of who misbehaves, are not known
		if _, ok := linked[p]; !ok && site.Expect == nil && site.page(p.key) != nil {
			found = append(found, t.Find(visited[p][0], "though no link in scope leads there"))
		}
	}
	return Sum(Scope, len(visited), plainly.Count(len(visited), "URL")+", all linked in scope", InOrder(found))
}

func (t *Trial) coverage() Row {
	if t.Rules.Partial {
		return Row{Rule: Coverage, Verdict: Unshown, Evidence: "the crawl was not to reach everything"}
	}
	k := t.web.newWalk(t.Rules.Token, t.Rules.Seeds)
	k.policy = t.web.finally(t.held)
	expected := k.reach(t.web.start(t.Rules.Seeds))
	visited := t.visited()
	var found []Finding
	for _, p := range inPlaces(expected) {
		if t.web.hosts[p.host].now().Expect != nil {
			delete(expected, p)
			continue
		}
		requests := visited[p]
		if slices.ContainsFunc(requests, func(x *Exchange) bool { return !x.failed && !x.Cut }) {
			continue
		}
		f := Finding{Host: p.host, Target: p.key, Text: "never fetched; a seed"}
		if via := expected[p]; via != p {
			f.Text = "never fetched; linked from " + via.String()
		}
		if n := len(requests); n > 0 {
			f.Text = fmt.Sprintf("requested %s, the last response %d at %s, and not again", plainly.Count(n, "time"),
				requests[n-1].Status, t.When(requests[n-1].End))
		}
		found = append(found, f)
	}
	return Sum(Coverage, len(expected), "all of "+plainly.Count(len(expected), "URL")+" that can be reached", found)
}

func (t *Trial) once() Row {
	var found []Finding
	checked, retries, repeats := 0, 0, 0
	answered := map[place]*Exchange{}
	for _, x := range t.all {
		if x.robots || x.Method != http.MethodGet {
			continue
		}
		checked++
		p := place{x.Host, x.key}
		first := answered[p]
		switch {
		case first != nil && first.Target != x.Target && first.Redirected():
			answered[p] = x // sent on to another spelling of the same
		case first == nil && x.mayRetry():
			retries++
		case first == nil:
			answered[p] = x
		default:
			if repeats++; repeats > t.Rules.Repeats {
				found = append(found, t.Find(x, "again: at %s it was answered with %d", t.When(first.Start), first.Status))
			}
		}
	}
	evidence := fmt.Sprintf("%s, %s that invited a retry", plainly.Count(len(answered), "URL"),
		plainly.Count(retries, "answer"))
	if repeats > 0 {
		evidence += fmt.Sprintf(", %s of the %d allowed", plainly.Count(repeats, "repeat"), t.Rules.Repeats)
	}
	return Sum(Once, checked, evidence, found)
}

// Redirected reports whether the answer is a redirect.
func (x *Exchange) Redirected() bool { return x.Status >= 300 && x.Status < 400 }

// mayRetry reports whether an answer is one after which the same may be asked again.
func (x *Exchange) mayRetry() bool {
	switch x.Status {
	case 0, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return x.Cut || x.failed || x.Status >= 500
}
