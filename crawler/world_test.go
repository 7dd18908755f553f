package crawler

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/model"
	"curtsy/storage"
)

// archive is a recorder that keeps records in memory.
type archive struct {
	mu      sync.Mutex
	records []kept
	refused []storage.Line
	synced  int // of the records
}

type kept struct {
	storage.Record
	response string
}

func (a *archive) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return storage.Receipt{}, err
	}
	k := kept{Record: r}
	if r.Response != nil {
		b, err := io.ReadAll(io.NewSectionReader(r.Response, 0, r.Response.Size()))
		if err != nil {
			return storage.Receipt{}, err
		}
		k.response = string(b)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = append(a.records, k)
	return storage.Receipt{ID: fmt.Sprintf("record %d", len(a.records))}, nil
}

func (a *archive) Refuse(ctx context.Context, l storage.Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, l)
	return nil
}

func (a *archive) Sync(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.synced = len(a.records)
	return nil
}

// lines is a ledger in memory.
type lines struct {
	mu  sync.Mutex
	all []storage.Line
}

func (l *lines) Begin(ctx context.Context) error { return ctx.Err() }

func (l *lines) Append(ctx context.Context, line storage.Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	return nil
}

func (l *lines) Sync(context.Context) error { return nil }

// of returns the outcomes of a URL, in order, with their reasons.
func (l *lines) of(url string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.all {
		if line.URL == url && line.Outcome != "" {
			out = append(out, string(line.Outcome)+": "+line.Reason)
		}
	}
	return out
}

// world is a crawl with everything around it, over pipes: it belongs into a synctest bubble.
type world struct {
	t       *testing.T
	seeds   []string
	web     *crawltest.Web
	cfg     Config
	front   frontier.Frontier
	archive *archive
	ledger  *lines
	said    []string

	askedBefore map[string]int // requests of the generation before, by target
}

// newWorld serves sites in memory and prepares a crawl from seeds.
func newWorld(t *testing.T, seeds []string, sites ...*crawltest.Site) *world {
	t.Helper()
	return newWorldOf(t, seeds, crawltest.New(sites...))
}

func newWorldOf(t *testing.T, seeds []string, web *crawltest.Web) *world {
	t.Helper()
	return newWorldLeased(t, 0, seeds, web)
}

// newWorldLeased is newWorldOf with leases of a length; zero means the default.
func newWorldLeased(t *testing.T, lease time.Duration, seeds []string, web *crawltest.Web) *world {
	t.Helper()
	web.StartPipe()
	t.Cleanup(func() { web.Close() })
	return newWorldOn(t, lease, seeds, web)
}

// newWorldOn prepares a crawl of a web that is served already.
func newWorldOn(t *testing.T, lease time.Duration, seeds []string, web *crawltest.Web) *world {
	t.Helper()
	w := &world{t: t, seeds: seeds, web: web, archive: &archive{}, ledger: &lines{}}
	w.front = model.New(frontier.Options{Barrier: record.Barrier(w.archive, w.ledger), Tell: record.Closed(w.archive, w.ledger), Pace: Floor, LeaseLength: lease})
	t.Cleanup(func() { w.front.Close() })
	var cs []frontier.Candidate
	for _, s := range seeds {
		u := parse(t, s)
		cs = append(cs, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
	}
	if _, err := w.front.Add(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	f, err := fetch.New(fetch.Config{
		Identity: fetch.Identity{Version: "1"}, Resolve: web.Resolve, Dial: web.Dial,
		AllowNet: []netip.Prefix{web.Net()}, SpoolDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var mu sync.Mutex
	w.cfg = Config{
		Frontier: w.front, Fetcher: f, Recorder: w.archive, Ledger: w.ledger, Identity: fetch.Identity{Version: "1"},
		Workers: 8,
		Log: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			w.said = append(w.said, fmt.Sprintf(format, args...))
		},
	}
	return w
}

// run crawls until the end.
func (w *world) run() Summary {
	w.t.Helper()
	c, err := New(w.t.Context(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := c.Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.balanced(s.Status)
	if w.archive.synced != len(w.archive.records) {
		w.t.Errorf("%d of %d records are durable at the end of the run", w.archive.synced, len(w.archive.records))
	}
	return s
}

// balanced checks that every URL discovered is somewhere.
func (w *world) balanced(s status.Status) {
	w.t.Helper()
	sum := s.Fetched + s.Redirected + s.Gone + s.Failed + s.Disallowed + s.Dropped + s.Held + s.Queued + s.InFlight + s.Deferred
	if sum != s.Discovered {
		w.t.Errorf("the parts sum to %d, discovered are %d: %+v", sum, s.Discovered, s)
	}
}

// judged fails the test unless the referee finds nothing.
func (w *world) judged(rules crawltest.Rules) {
	w.t.Helper()
	rules.Seeds = w.seeds
	if report := w.web.Referee().Judge(rules); !report.OK() {
		var b writer
		report.WriteTable(&b)
		w.t.Errorf("the referee:\n%s", b)
	}
}

type writer []byte

func (w *writer) Write(b []byte) (int, error) { *w = append(*w, b...); return len(b), nil }
func (w writer) String() string               { return string(w) }

// asked returns the request targets that a host was asked for, in order.
func (w *world) asked(host string) []string {
	var out []string
	for _, r := range w.web.Referee().Requests() {
		if r.Host == host {
			out = append(out, r.Target)
		}
	}
	return out
}

// wantAsked compares them.
func (w *world) wantAsked(host string, want ...string) {
	w.t.Helper()
	if got := w.asked(host); !slices.Equal(got, want) {
		w.t.Errorf("%s was asked for %q, want %q", host, got, want)
	}
}

// wantOutcomes compares the ledger's lines on a URL.
func (w *world) wantOutcomes(url string, want ...string) {
	w.t.Helper()
	if got := w.ledger.of(url); !slices.Equal(got, want) {
		w.t.Errorf("the ledger says of %s: %q, want %q", url, got, want)
	}
}
