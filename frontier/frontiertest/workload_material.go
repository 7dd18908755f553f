package frontiertest

import (
	"fmt"
	"time"

	"curtsy/frontier"
)

// candidates makes n candidates: new ones and known ones, of all kinds, some of them refused.
func (w *workload) candidates(n int) []frontier.Candidate {
	var cs []frontier.Candidate
	for range n {
		number := w.urls
		if w.rand.IntN(3) == 0 {
			number = w.rand.IntN(w.urls + 1)
		} else {
			w.urls++
		}
		c := w.Links(fmt.Sprintf("%s/%d", worldHost(number*number), number))[0]
		c.Kind = []frontier.Kind{frontier.KindLink, frontier.KindRedirect, frontier.KindEmbed, frontier.KindSitemap, frontier.KindMap, frontier.KindScript}[w.rand.IntN(6)]
		c.Depth, c.Hops, c.Embeds, c.Away = w.rand.IntN(9), w.rand.IntN(3), w.rand.IntN(3), w.rand.IntN(3)
		if w.rand.IntN(8) == 0 {
			c.Refused = fmt.Sprintf("trap %d", w.rand.IntN(3))
		}
		cs = append(cs, c)
	}
	return cs
}

// result makes a result for a turn, and returns the tasks that it leaves.
func (w *workload) result(t frontier.Turn) (frontier.Result, []frontier.Task) {
	r := resultOf(t)
	var rest []frontier.Task
	for _, x := range t.Tasks {
		switch n := w.rand.IntN(10); {
		case n < 5:
			o := frontier.Outcome(1 + w.rand.IntN(7))
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: []string{"", "one", "two"}[w.rand.IntN(3)]})
		case n < 7:
			d := frontier.Deferral{Print: x.Print, After: w.duration(8000), Reason: fmt.Sprintf("reason %d", n)}
			if w.rand.IntN(3) == 0 {
				d.URL = x.URL
			}
			r.Deferred = append(r.Deferred, d)
		default:
			rest = append(rest, x)
		}
	}
	if w.rand.IntN(2) == 0 {
		r.Found = w.candidates(w.rand.IntN(12))
	}
	if w.rand.IntN(3) == 0 {
		r.Host = w.update()
	}
	if w.rand.IntN(2) == 0 {
		r.Wait = w.duration(3000)
	}
	if w.rand.IntN(4) == 0 {
		r.Extend = []frontier.Seed{{URL: w.URL("h0/extended"), Tag: fmt.Sprint(w.urls), From: "http://h0.test/seed"}}
		r.Blobs = [][]byte{fmt.Append(nil, "body ", w.rand.IntN(9))}
	}
	r.Counts = map[string]int64{"results": 1, "octets": w.rand.Int64N(1000)}
	r.Keep, r.Want = w.rand.IntN(5) == 0, w.rand.IntN(4)
	return r, rest
}

// duration returns up to most milliseconds, often none.
func (w *workload) duration(most int) time.Duration {
	return time.Duration(max(0, w.rand.IntN(most)-most/3)) * time.Millisecond
}

// update makes the state of a host. Few are refused: that is for good.
func (w *workload) update() *frontier.HostUpdate {
	u := &frontier.HostUpdate{Pace: w.duration(2000), Width: w.rand.IntN(3), Robots: fmt.Append(nil, w.rand.IntN(99))}
	switch n := w.rand.IntN(40); {
	case n == 0:
		u.Condition = frontier.Refused
	case n < 4:
		u.Condition = frontier.Retired
	case n < 10:
		u.Condition = frontier.Parked
	}
	if u.Condition != frontier.Open {
		u.Reason = fmt.Sprintf("reason %d", u.Condition)
	}
	return u
}
