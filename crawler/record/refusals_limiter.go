package record

import (
	"container/list"
	"hash/maphash"
	"strings"
	"sync"
	"time"

	"curtsy/storage"
)

// limiter bounds the lines of refusals, since a trap may refuse a million URLs. A kind is a decision, reason and host. The first
// MaxLines of a kind have a line each; then each counting line covers further MaxLines, and one for the rest.
//
// It keeps the latest kinds, and writes the count of one that it forgets. A kill loses less than MaxLines of a kind. The methods
// may be called concurrently.
type limiter struct {
	most int // kinds

	mu    sync.Mutex
	kinds map[kind]*list.Element // of *counted
	order *list.List             // the latest first
}

type kind struct{ decision, reason, host string }

type counted struct {
	kind   kind
	lines  int          // written
	more   int64        // counted, not written
	sample storage.Line // one of more
}

const (
	MaxLines = 1000 // for each kind of refusal, and URLs for each counting line
	maxKinds = 4096 // in memory: about 16 MiB with the longest URLs
)

func newLimiter(most int) *limiter {
	return &limiter{most: most, kinds: map[kind]*list.Element{}, order: list.New()}
}

// Add takes the line of a refusal and returns the lines to write now: the line itself, none, or a counting line.
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

// Rest returns counting lines for all unwritten counts.
func (t *limiter) Rest() (write []storage.Line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := t.order.Front(); at != nil; at = at.Next() {
		write = at.Value.(*counted).count(write)
	}
	return write
}

// count appends a counting line for r, if there is a count. Of the sample it only has how it was found.
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

// hostPart returns scheme, host and port of a URL.
func hostPart(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return url[:len(url)-len(rest)+i]
	}
	return url
}

// flusher syncs refusals that the recorder may hold back. Commits of the frontier do that while turns end, but not while a crawl
// waits for a host.
type flusher chan struct{}

// Note records a refusal.
func (f flusher) Note() {
	select {
	case f <- struct{}{}:
	default:
	}
}

// Run syncs refusals before they are two times storage.MaxGather old, until over is closed or sync fails.
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

// Recent remembers the latest keys, to avoid repeated lines in the ledger. It may forget a key, which then is new again.
type Recent struct {
	seed maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]struct{}
}

// maxRecent bounds each of the two generations of a Recent: together about 5 MiB.
const maxRecent = 1 << 16

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
