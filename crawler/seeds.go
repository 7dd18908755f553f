package crawler

import (
	"curtsy/crawler/scope"
	"curtsy/frontier"
)

// seedChain reports whether c is a seed or what a seed redirects to.
func seedChain(c frontier.Candidate) bool {
	return c.Kind == frontier.KindSeed || c.Kind == frontier.KindRedirect && c.Depth == 0 && c.Embeds == 0
}

// extend widens the scope to where a seed's redirects ended. The links of that very page are judged by it already; it
// becomes durable with the turn, and is said again should the turn come to nothing.
func (c *Crawl) extend(v *visit, task frontier.Task) {
	key := task.URL.Key()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, again := c.extending[key]; !again && c.scope.Judge(scope.Candidate{URL: task.URL}).In {
		return
	}
	c.extending[key] = struct{}{}
	c.scope.Extend(task.URL)
	v.result.Extend = append(v.result.Extend, frontier.Seed{URL: task.URL, Tag: task.Tag, From: task.Seed})
	c.cfg.Log("seed %s redirects to %s: the scope now includes it", task.Seed, task.URL)
}

// unanswered notes that a seed got no usable answer.
func (v *visit) unanswered(task frontier.Candidate, why string) {
	v.count(CountSeedsUnanswered, 1)
	v.seeds = append(v.seeds, task.Seed+": "+why)
}
