package model

import (
	"fmt"
	"slices"
	"time"

	"curtsy/frontier"
)

// taken returns the tasks of h that the engine has given. They must be the head of what is ready: those never
// deferred in their order, and any of those whose deferral is over, but those tried before only after all others. A suspect comes after all of them, in a turn of its
// own. Of some tasks the follower cannot know whether they are suspects: the engine tells.
func (f *Follower) taken(h *host, given []frontier.Task, most int, now time.Time) []*task {
	f.Helper()
	innocent, doubtful := f.dealer.ready(h, now)
	sure := slices.DeleteFunc(slices.Clone(doubtful), func(t *task) bool { return t.fewest() == 0 })
	all := len(innocent) + len(doubtful)
	fewest, largest := min(most, len(innocent)), min(most, all-len(sure))
	if len(innocent) == 0 && all > 0 {
		fewest = min(most, 1)
	}
	if largest == 0 {
		largest = fewest
	}
	if n := len(given); n < fewest || n > largest {
		f.Fatalf("%s: %d tasks, want %d to %d", h.authority, n, fewest, largest)
	}
	var ts []*task
	for _, x := range given {
		t := f.match(h, x, innocent, doubtful)
		if x.Stops > 0 && (len(given) > 1 || len(innocent) > 0) {
			f.Fatalf("%s: task %s has %d stops, and comes with %d others, before %d", h.authority, x.URL, x.Stops, len(given)-1, len(innocent))
		}
		plain := func(t *task) bool { return !t.deferred }
		if i := slices.IndexFunc(innocent, plain); i >= 0 && slices.Contains(innocent, t) && plain(t) && innocent[i] != t {
			f.Fatalf("%s: task %s comes before %s", h.authority, x.URL, innocent[i].URL)
		}
		untried := func(t *task) bool { return t.Attempts == 0 }
		if i := slices.IndexFunc(innocent, untried); i >= 0 && slices.Contains(innocent, t) && !untried(t) {
			f.Fatalf("%s: task %s, tried before, comes before %s", h.authority, x.URL, innocent[i].URL)
		}
		gone := func(o *task) bool { return o == t }
		innocent, doubtful = slices.DeleteFunc(innocent, gone), slices.DeleteFunc(doubtful, gone)
		f.prints[taskID{h.authority, x.Print}] = t.Print
		ts = append(ts, t)
	}
	return ts
}

// match returns the task that the engine has given as x: one of those that are ready, as the model says it is.
func (f *Follower) match(h *host, x frontier.Task, ready ...[]*task) *task {
	f.Helper()
	p := frontier.Print(secret, x.URL)
	all := slices.Concat(ready...)
	i := slices.IndexFunc(all, func(t *task) bool { return t.Print == p })
	if i < 0 {
		f.Fatalf("%s: task %s is not ready, or was given twice", h.authority, x.URL)
	}
	t := all[i]
	if x.Stops != t.Stops && !slices.ContainsFunc(t.counts, func(c count) bool { return c.stops == x.Stops }) {
		f.Fatalf("%s: task %s has %d stops, want %d to %d", h.authority, x.URL, x.Stops, t.fewest(), t.Stops)
	}
	if t.fewest() < t.Stops {
		f.record(event{at: time.Now(), pinned: &pinned{authority: h.authority, print: p, stops: x.Stops}})
	}
	same := t.Task
	same.Print = x.Print // keyed by the engine's own secret
	f.want("the task", fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", same))
	return t
}

// extended follows the tasks that a turn is given in addition.
func (f *Follower) extended(r frontier.Result, given []frontier.Task, now time.Time) {
	f.Helper()
	h, l := f.dealer.hosts[r.Authority], f.dealer.leases[r.Authority]
	innocent, doubtful := f.dealer.ready(h, now)
	most := max(r.Want, 0)
	if l.stops > 0 || h.hold.at(now).act != 0 {
		most = 0
	}
	if len(given) == 0 && (most == 0 || len(innocent) == 0) {
		return
	}
	for _, x := range given {
		f.want("stops of a task that is not given in a turn of its own", x.Stops, 0)
	}
	ts := f.taken(h, given, min(most, len(innocent)+len(doubtful)), now)
	for _, t := range ts {
		t.leased = true
	}
	l.tasks = append(l.tasks, ts...)
}
