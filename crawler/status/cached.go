package status

import (
	"context"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// mostLooked is how many hosts a question about a running crawl looks at. Going through all of a million takes the
// frontier's time from the crawl; a crawl of so many hosts has more of each kind than anybody reads.
const mostLooked = 10_000

// cached keeps the answer to such a question, so that asking often does not cost the crawl either: an answer is given
// again until fifty times as long has passed as it took to find.
type cached[T any] struct {
	turn chan struct{} // holds a token while somebody finds or reads the answer
	last *given[T]
}

type given[T any] struct {
	answer T
	at     time.Time
	took   time.Duration
}

func newCached[T any]() cached[T] {
	return cached[T]{turn: make(chan struct{}, 1), last: new(given[T])}
}

// forget has the next question answered anew: what it is about has just been changed by whoever will ask.
func (l cached[T]) forget() {
	l.turn <- struct{}{} // whoever holds it gives it back, cancelled or not
	*l.last = given[T]{}
	<-l.turn
}

// get returns the answer that is kept, or the one that find gives now.
func (l cached[T]) get(ctx context.Context, find func(context.Context) (T, error)) (T, error) {
	var none T
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	defer func() { <-l.turn }()
	begin := time.Now()
	if begin.Sub(l.last.at) < 50*l.last.took {
		return l.last.answer, nil
	}
	answer, err := find(ctx)
	if err != nil {
		return none, err
	}
	*l.last = given[T]{answer, time.Now(), time.Since(begin)}
	return answer, nil
}

// EachHost calls fn for the first most hosts, or all when most is zero, until it returns false.
func EachHost(ctx context.Context, f frontier.Reader, most int, fn func(frontier.Host) bool) error {
	const page = 10_000 // an engine may have no index in this order, and pay for each page with a walk over all hosts
	var after canon.Authority
	for n := 0; most == 0 || n < most; {
		limit := page
		if most > 0 {
			limit = min(page, most-n)
		}
		hosts, err := f.Hosts(ctx, after, limit)
		if err != nil || len(hosts) == 0 {
			return err
		}
		for _, h := range hosts {
			if !fn(h) {
				return nil
			}
		}
		n += len(hosts)
		if len(hosts) < limit {
			return nil
		}
		after = hosts[len(hosts)-1].Authority
	}
	return nil
}
