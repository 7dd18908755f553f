package export

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"curtsy/storage"
	"curtsy/storage/plainly"
	"curtsy/storage/report"
	"curtsy/storage/tables"
)

// failure sums up failures of one class.
type failure struct {
	Count, Deferred int64
	First, Last     time.Time
	URL, Reason     string // of the first failure
}

func addFailure(to, more *failure) {
	to.Count, to.Deferred = to.Count+more.Count, to.Deferred+more.Deferred
	if to.First.IsZero() || more.First.Before(to.First) {
		to.First, to.URL, to.Reason = more.First, more.URL, more.Reason
	}
	to.Last = later(to.Last, more.Last)
}

// failures adds up the failures that the report counts, by authority and class.
func failures(ctx context.Context, in *Inputs, out *Out) (err error) {
	all := newSums(in, addFailure)
	defer func() { err = all.close(err) }()
	for _, c := range in.Crawls {
		err := c.decided(ctx, out, func(e *entry) error {
			l := &e.Line
			if !report.Failed(l) {
				return nil
			}
			key, authority := hostOf(l.URL)
			class := cmp.Or(report.Class(l.Reason), "other")
			f, err := all.of(keyOf(key, authority, class, fmt.Sprint(bit(l.Decision == storage.DecisionRobots)), c.Name))
			if err != nil {
				return err
			}
			addFailure(f, &failure{Count: 1, Deferred: bit(l.Outcome == storage.OutcomeDeferred), First: l.Time, Last: l.Time,
				URL: l.URL, Reason: l.Reason})
			return nil
		})
		if err != nil {
			return err
		}
	}
	fill := newFiller(&tables.Errors)
	return all.all(func(key []string, f *failure) error {
		r := fill.row()
		r.host(key)
		r.set("class", tables.Text(key[2]))
		r.set("robots", tables.Flag(key[3] == "1"))
		r.set("crawl", tables.Text(key[4]))
		r.set("meaning", tables.Some(plainly.Meaning(key[2])))
		r.set("count", tables.Long(f.Count))
		r.set("deferred", tables.Long(f.Deferred))
		r.set("first_time", instant(f.First))
		r.set("last_time", instant(f.Last))
		r.set("example_url", tables.Text(f.URL))
		r.set("example_reason", tables.Some(f.Reason))
		return out.Row(r.r)
	})
}
