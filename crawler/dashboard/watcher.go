package dashboard

import (
	"context"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/status"
	"curtsy/storage"
)

// How often a source is asked, and how much of it is read at one time.
const (
	lookEvery  = time.Second     // of one that runs
	restEvery  = 3 * time.Second // of one that does not
	lookTime   = 5 * time.Second // what an answer may take
	mostRead   = 100             // decisions a second that are read; of more the last
	firstRead  = 2000            // at the first look
	slowSample = time.Minute
)

// watcher follows one source. It alone asks for what changes all the time, however many browsers look.
type watcher struct {
	source Source

	mu     sync.Mutex
	look   Look
	err    error // of the last look; nil before the first
	first  bool  // there was a look
	at     time.Time
	unread error          // why the ledger could not be read
	fine   status.Samples // ten minutes
	long   status.Samples // a day
	tally  *tally
}

func newWatcher(s Source) *watcher {
	return &watcher{
		source: s, tally: newTally(),
		fine: status.Keep(601, lookEvery/2), long: status.Keep(1441, slowSample),
	}
}

// follow asks until ctx ends.
func (w *watcher) follow(ctx context.Context) {
	most := firstRead
	for {
		running := w.once(ctx, most)
		most = mostRead
		wait := lookEvery
		if !running {
			wait = restEvery
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// once asks once, and reports whether the crawl runs.
func (w *watcher) once(ctx context.Context, most int) bool {
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	look, err := w.source.Look(within)
	lines, passed, lineErr := w.source.Decisions(most)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	if w.err = err; err == nil {
		w.look, w.first, w.at = look, true, now
		x := status.Sample{
			At: now, Pages: look.Status.Pages, Bytes: look.Status.Bytes, Exchanges: look.Status.Exchanges,
			Permitted: look.Waits.Permitted, Archive: look.Disk.Archive,
		}
		w.fine.Add(x)
		w.long.Add(x)
	}
	w.unread = lineErr
	for _, l := range lines {
		w.tally.add(l)
	}
	w.tally.passed += passed
	return err == nil && look.Running
}

// seen is what is known of a crawl at one instant, to be shown while the watcher goes on.
type seen struct {
	Look
	Err       error
	Unread    error
	First     bool
	At        time.Time
	Now       status.Rates // of the last ten seconds
	Minute    status.Rates
	Course    []status.Rates // the last ten minutes, in parts
	Span      time.Duration
	LongRates []status.Rates
	LongSpan  time.Duration
	Since     time.Time
	Read      int64
	Passed    int64
	Failures  []failing
}

func (w *watcher) seen() seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return seen{
		Look: w.look, Err: w.err, Unread: w.unread, First: w.first, At: w.at,
		Now: w.fine.Over(10 * time.Second), Minute: w.fine.Over(time.Minute),
		Course: w.fine.Course(100), Span: w.fine.Span(), LongRates: w.long.Course(120), LongSpan: w.long.Span(),
		Since: w.tally.since, Read: w.tally.seen, Passed: w.tally.passed,
		Failures: w.tally.failures(),
	}
}

// answers are the status codes that hosts answered with last, of those whose decisions are still kept.
func (w *watcher) answers(rows []status.Row) map[string]int {
	found := make(map[string]int, len(rows))
	for _, r := range rows {
		found[r.Host] = 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, left := len(w.tally.last)-1, len(found); i >= 0 && left > 0; i-- {
		l := &w.tally.last[i]
		if had, asked := found[originOf(l.URL)]; asked && had == 0 && l.Status > 0 {
			found[originOf(l.URL)] = l.Status
			left--
		}
	}
	return found
}

// originOf is the part of a canonical URL before its path.
func originOf(text string) string {
	_, rest, ok := strings.Cut(text, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return text[:len(text)-len(rest)+i]
	}
	return text
}

// newest are the last decisions that match.
func (w *watcher) newest(n int, match func(*storage.Line) bool) []storage.Line {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tally.newest(n, match)
}
