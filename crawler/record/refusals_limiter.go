package record

import (
	"container/list"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

// limiter keeps the lines of refusals in bounds: a trap refuses a million URLs for one reason. A kind of refusal is its
// decision, reason and host. The first MaxLines of each kind have a line each; those behind share counting lines, one for
// each further MaxLines and one for the rest at the end.
//
// It remembers the kinds met last. A kind that it forgets is counted first; should the kind come again, it begins anew.
// A kill loses the counts that are not written yet: fewer than MaxLines of a kind.
//
// Its methods may be called concurrently.
type limiter struct {
	most int // kinds remembered

	mu    sync.Mutex
	kinds map[kind]*list.Element // of *counted
	order *list.List             // the one met last comes first
}

type kind struct{ decision, reason, host string }

type counted struct {
	kind   kind
	lines  int          // that were let through
	more   int64        // counted, and not written yet
	sample storage.Line // one of these
}

const (
	MaxLines = 1000 // for each kind of refusal, and URLs for each counting line
	maxKinds = 4096 // that a run remembers: with the longest URLs as samples about 16 MiB
)

// newLimiter returns a limiter that remembers so many kinds.
func newLimiter(most int) *limiter {
	return &limiter{most: most, kinds: map[kind]*list.Element{}, order: list.New()}
}

// Add takes the line of a refusal and returns those that are to be written now: the line itself, none, or a counting line
// for it and others.
func (t *limiter) Add(l storage.Line) (write []storage.Line) {
	kind := kind{string(l.Decision), l.Reason, hostPart(l.URL)}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.kinds[kind]
	if at == nil {
		if t.order.Len() >= t.most {
			oldest := t.order.Remove(t.order.Back()).(*counted)
			delete(t.kinds, oldest.kind)
			write = oldest.count(write)
		}
		at = t.order.PushFront(&counted{kind: kind})
		t.kinds[kind] = at
	}
	t.order.MoveToFront(at)
	r := at.Value.(*counted)
	if r.lines < MaxLines {
		r.lines++
		return append(write, l)
	}
	r.more++
	r.sample = l
	if r.more == MaxLines {
		write = r.count(write)
	}
	return write
}

// Rest returns counting lines for all that was counted and not written.
func (t *limiter) Rest() (write []storage.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := t.order.Front(); at != nil; at = at.Next() {
		write = at.Value.(*counted).count(write)
	}
	return write
}

// count appends the counting line for what r counted, if there is any. It says nothing that would be true of the sample
// alone but where that was found.
func (r *counted) count(write []storage.Line) []storage.Line {
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

// flusher knows that the recorder may hold refusals that are not in the archive yet. While turns end, the frontier's
// commits have them written in time; a crawl that waits for a host has no commits.
type flusher chan struct{}

// newFlusher returns a Flusher that knows of no refusal.
func newFlusher() flusher { return make(flusher, 1) }

// Note says that there is another refusal.
func (f flusher) Note() {
	select {
	case f <- struct{}{}:
	default: // it is known
	}
}

// Run has refusals synced before they are two times storage.MaxGather old, until over is closed or sync fails.
func (f flusher) Run(over <-chan struct{}, sync func() error) error {
	for {
		select {
		case <-f:
		case <-over:
			return nil
		}
		t := time.NewTimer(storage.MaxGather)
		select {
		case <-t.C:
		case <-over:
			t.Stop()
			return nil
		}
		if err := sync(); err != nil {
			return err
		}
	}
}

// Recent remembers which keys it has met, the last ones of them: it may forget, and then says of a key that it is
// new. It keeps lines of the ledger that say the same apart by more than a page.
type Recent struct {
	seed maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]struct{}
}

// maxRecent bounds each of the two generations of a Recent: together about 5 MiB.
const maxRecent = 1 << 16

// NewRecent returns a Recent that has met nothing.
func NewRecent() *Recent {
	return &Recent{seed: maphash.MakeSeed(), now: map[uint64]struct{}{}}
}

// Met reports whether key is remembered.
func (r *Recent) Met(key string) bool {
	h := maphash.String(r.seed, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, now := r.now[h]
	_, old := r.old[h]
	return now || old
}

// First reports whether key is new, and remembers it.
func (r *Recent) First(key string) bool {
	h := maphash.String(r.seed, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.now[h]; ok {
		return false
	}
	_, met := r.old[h]
	if len(r.now) >= maxRecent {
		r.now, r.old = make(map[uint64]struct{}, maxRecent), r.now
	}
	r.now[h] = struct{}{}
	return !met
}
