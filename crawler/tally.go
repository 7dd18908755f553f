package crawler

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

// tally keeps the lines of refusals in bounds: a trap refuses a million URLs for one reason. Of each kind, which is
// decision, reason and host, the first maxRefusals have a line each; those behind share counting lines, one for each
// further maxRefusals and one for what is left in the end.
//
// It remembers the kinds met last. What it forgets is counted first; should the kind come again, it begins anew. What was
// counted and not written yet is lost with the process, should that be killed: fewer than maxRefusals of a kind.
type tally struct {
	most int // kinds remembered

	mu    sync.Mutex
	kinds map[refusalKind]*list.Element // of *refusals
	order *list.List                    // the one met last comes first
}

type refusalKind struct{ decision, reason, host string }

type refusals struct {
	kind   refusalKind
	lines  int          // that were let through
	more   int64        // counted, and not written yet
	sample storage.Line // one of these
}

const (
	maxRefusals = 1000 // lines for each kind of refusal, and URLs for each counting line
	maxKinds    = 4096 // kinds remembered: with the longest URLs as samples about 16 MiB
)

func newTally(most int) *tally {
	return &tally{most: most, kinds: map[refusalKind]*list.Element{}, order: list.New()}
}

// add takes the line of a refusal and returns those that are to be written now: the line itself, none, or a counting line
// for it and others.
func (t *tally) add(l storage.Line) (write []storage.Line) {
	kind := refusalKind{string(l.Decision), l.Reason, hostPart(l.URL)}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.kinds[kind]
	if at == nil {
		if t.order.Len() >= t.most {
			oldest := t.order.Remove(t.order.Back()).(*refusals)
			delete(t.kinds, oldest.kind)
			write = oldest.count(write)
		}
		at = t.order.PushFront(&refusals{kind: kind})
		t.kinds[kind] = at
	}
	t.order.MoveToFront(at)
	r := at.Value.(*refusals)
	if r.lines < maxRefusals {
		r.lines++
		return append(write, l)
	}
	r.more++
	r.sample = l
	if r.more == maxRefusals {
		write = r.count(write)
	}
	return write
}

// rest returns counting lines for all that was counted and not written.
func (t *tally) rest() (write []storage.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := t.order.Front(); at != nil; at = at.Next() {
		write = at.Value.(*refusals).count(write)
	}
	return write
}

// count appends the counting line for what r counted, if there is any. It says nothing that would be true of the sample
// alone but where that was found.
func (r *refusals) count(write []storage.Line) []storage.Line {
	if r.more == 0 {
		return write
	}
	s := r.sample
	l := storage.Line{
		Time: time.Now(), URL: s.URL, Via: s.Via, Kind: s.Kind, Depth: s.Depth, Seed: s.Seed, Tag: s.Tag,
		Decision: s.Decision, Reason: s.Reason, Own: s.Own, Outcome: s.Outcome, Count: r.more,
	}
	r.more, r.sample = 0, storage.Line{}
	return append(write, l)
}

// hostPart is the beginning of a URL up to its path: scheme, host and port.
func hostPart(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return url[:len(url)-len(rest)+i]
	}
	return url
}

// writeRefusals writes what the tally gave. What it counted is forgotten there, and so is written though ctx be over.
func (c *Crawl) writeRefusals(ctx context.Context, all []storage.Line) error {
	for _, l := range all {
		within := ctx
		if l.Count > 0 {
			within = context.WithoutCancel(ctx)
		}
		if err := c.writeRefusal(within, l); err != nil {
			return err
		}
	}
	return nil
}

// countRest writes the counting lines of the run's end, and makes them durable.
func (c *Crawl) countRest(ctx context.Context) error {
	rest := c.tally.rest()
	if len(rest) == 0 {
		return nil
	}
	if err := c.writeRefusals(ctx, rest); err != nil {
		return err
	}
	return Barrier(c.cfg.Recorder, c.cfg.Ledger)(ctx)
}
