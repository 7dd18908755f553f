package crawler

import (
	"slices"

	"curtsy/crawler/budget"
	"curtsy/crawler/scope"
	"curtsy/frontier"
)

// findings are what one answer brings to the crawl, links above all. They are a value apart until the answer is on
// record: then the turn accepts them. A panic, or the end of the lease's time, lets them go; what the exchange cost is
// counted by the visit at once.
type findings struct {
	urls    []frontier.Candidate // in scope; those that the turn has already come first
	refused []refusal            // found and refused, without a line of the ledger yet
	extend  []frontier.Seed      // to what the scope was extended
	seeds   []string             // seeds that ended without a usable answer, with why
	counts  []tallied
	pages   int64 // 2xx HTML answers
	added   int   // URLs that were new and did not wait for the turn's end
}

// tallied is what a total grows by.
type tallied struct {
	name string
	n    int64
}

// refusal is a discovered URL that the scope refused and that gets a line of the ledger.
type refusal struct {
	frontier.Candidate
	timeless bool
}

// findings begins those of one answer. They are valid until the next ones are begun.
func (v *visit) findings() *findings {
	f := &v.spare
	*f = findings{urls: v.result.Found, refused: f.refused[:0], counts: f.counts[:0]}
	return f
}

// accept takes over what was found.
func (v *visit) accept(f *findings) {
	v.result.Found = f.urls
	v.result.Extend = append(v.result.Extend, f.extend...)
	v.seeds = append(v.seeds, f.seeds...)
	for _, c := range f.counts {
		v.count(c.name, c.n)
	}
	v.pages += f.pages
	v.memory.Pages += uint64(f.pages)
	v.added += f.added
}

func (f *findings) count(name string, n int64) {
	if n == 0 {
		return
	}
	if i := slices.IndexFunc(f.counts, func(c tallied) bool { return c.name == name }); i >= 0 {
		f.counts[i].n += n
		return
	}
	f.counts = append(f.counts, tallied{name, n})
}

// isPage counts the answer as a page.
func (f *findings) isPage() {
	f.pages++
	f.count(budget.Pages, 1)
}

// settleSeed notes what became of a seed, or of the end of its redirects.
func (f *findings) settleSeed(b *seedBook, task frontier.Task, d decision) {
	switch {
	case d.outcome == frontier.Redirected:
		return
	case d.outcome == frontier.Fetched:
		b.Answered(task.Seed, f.count)
	case d.reason == scope.RuleSample: // it was not to be asked
	case d.outcome == frontier.Disallowed:
		f.unanswered(b, task.Seed, "not requested, because robots.txt forbids it")
	default:
		f.unanswered(b, task.Seed, d.outcome.String()+": "+d.reason)
	}
	b.EndOfChain(task)
}

// unanswered notes that a seed got no usable answer.
func (f *findings) unanswered(b *seedBook, seed, why string) {
	f.seeds = append(f.seeds, seed+": "+why)
	b.Unanswered(seed, f.count)
}

// extendTo widens the scope to where a seed's redirects ended. The links of that very page are judged by it already; it
// becomes durable with the turn, and is said again should the turn come to nothing.
func (c *bounds) extendTo(f *findings, task frontier.Task) {
	c.book.Extend(task.URL, func() bool { return c.scope.Load().Judge(scope.Candidate{URL: task.URL}).In }, func() {
		c.scope.Load().Extend(task.URL)
		f.extend = append(f.extend, frontier.Seed{URL: task.URL, Tag: task.Tag, From: task.Seed})
		c.cfg.Log("seed %s redirects to %s: the scope now includes it", task.Seed, task.URL)
	})
}
