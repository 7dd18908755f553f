package crawler

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/engine"
	"curtsy/frontier/frontiertest"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/scratch"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

// archive is a recorder that keeps records in memory.
type archive struct {
	mu      sync.Mutex
	records []kept
	refused []storage.Line
	synced  int                        // of the records
	before  func(storage.Record) error // may be nil
}

type kept struct {
	storage.Record
	response string
}

func (a *archive) Record(ctx context.Context, r storage.Record) (storage.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return storage.Receipt{}, err
	}
	if a.before != nil {
		if err := a.before(r); err != nil {
			return storage.Receipt{}, err
		}
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
	mu    sync.Mutex
	all   []storage.Line
	begin func() error       // may be nil
	after func(storage.Line) // each; may be nil
}

func (l *lines) Begin(ctx context.Context) error {
	if l.begin != nil {
		return l.begin()
	}
	return ctx.Err()
}

func (l *lines) Append(ctx context.Context, line storage.Line) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	l.all = append(l.all, line)
	l.mu.Unlock()
	if l.after != nil {
		l.after(line)
	}
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
	t        *testing.T
	seeds    []string
	web      *crawltest.Web
	cfg      Config
	front    *frontiertest.Mortal
	file     string // of front
	archive  *archive
	ledger   *lines
	messages []string

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
	w := &world{t: t, seeds: seeds, web: web, archive: &archive{}, ledger: &lines{}, file: filepath.Join(t.TempDir(), engine.FileName)}
	w.open(frontier.Options{Tell: record.Closed(w.archive, w.ledger), LeaseLength: lease})
	var cs []frontier.Candidate
	for _, s := range seeds {
		cs = append(cs, seed(t, s, ""))
	}
	w.add(cs...)
	var mu sync.Mutex
	w.cfg = Config{
		Frontier: w.front, Recorder: w.archive, Ledger: w.ledger, Identity: fetch.Identity{Version: "1"},
		Workers: 8,
		Log: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			w.messages = append(w.messages, fmt.Sprintf(format, args...))
		},
	}
	w.fetchBy(func(*fetch.Config) {})
	return w
}

// fetchBy gives the crawl a fetcher that is configured otherwise.
func (w *world) fetchBy(change func(*fetch.Config)) {
	w.t.Helper()
	cfg := fetch.Config{
		Identity: fetch.Identity{Version: "1"}, Resolve: w.web.Resolve, Dial: w.web.Dial,
		AllowNet: []netip.Prefix{w.web.Net()}, SpoolDir: w.t.TempDir(),
	}
	change(&cfg)
	f, err := fetch.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { f.Close() })
	w.cfg.Fetcher = f
}

// doing is a fetcher whose Do is a function of the one below.
type doing struct {
	fetcher
	do func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error)
}

func (d doing) Do(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
	return d.do(ctx, r, d.fetcher)
}

// onDo puts do around the fetcher of the crawl.
func (w *world) onDo(do func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error)) {
	w.cfg.Fetcher = doing{w.cfg.Fetcher, do}
}

// onExchange calls f after each exchange.
func (w *world) onExchange(f func(fetch.Request, *fetch.Exchange)) {
	w.onDo(func(ctx context.Context, r fetch.Request, next fetcher) (*fetch.Exchange, error) {
		ex, err := next.Do(ctx, r)
		if err == nil {
			f(r, ex)
		}
		return ex, err
	})
}

// claiming is a frontier whose claims a test sees and changes.
type claiming struct {
	frontier.Frontier
	after func(*frontier.Claimed)
}

func (f claiming) Claim(ctx context.Context, w frontier.Want) (frontier.Claimed, error) {
	c, err := f.Frontier.Claim(ctx, w)
	f.after(&c)
	return c, err
}

// onRecord calls fault before the first records of a URL.
func (a *archive) onRecord(url string, times int64, fault func()) {
	var n atomic.Int64
	a.before = func(r storage.Record) error {
		if r.URL == url && n.Add(1) <= times {
			fault()
		}
		return nil
	}
}

// onLine calls fault after the first line on a URL.
func (l *lines) onLine(url string, fault func()) {
	var done atomic.Bool
	l.after = func(line storage.Line) {
		if line.URL == url && done.CompareAndSwap(false, true) {
			fault()
		}
	}
}

// logged counts the messages with a text.
func (w *world) logged(text string) (n int) {
	for _, s := range w.messages {
		if strings.Contains(s, text) {
			n++
		}
	}
	return n
}

// requests returns the requests to a host, in order.
func (w *world) requests(host string) []crawltest.Request {
	return slices.DeleteFunc(slices.Clone(w.web.Referee().Requests()), func(r crawltest.Request) bool { return r.Host != host })
}

// add adds candidates to the frontier.
func (w *world) add(cs ...frontier.Candidate) {
	w.t.Helper()
	if _, err := w.front.Add(w.t.Context(), cs); err != nil {
		w.t.Fatal(err)
	}
}

// seed is a candidate that an operator named.
func seed(t *testing.T, url, tag string) frontier.Candidate {
	t.Helper()
	u := parse(t, url)
	return frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: tag}
}

// host returns the frontier's state of the host of a URL.
func (w *world) host(url string) frontier.Host {
	w.t.Helper()
	h, ok, err := w.front.Host(w.t.Context(), parse(w.t, url).Authority())
	if err != nil || !ok {
		w.t.Fatalf("%s: %v, %v", url, ok, err)
	}
	return h
}

// memory returns the crawl's state of the host of a URL.
func (w *world) memory(url string) host.State {
	w.t.Helper()
	n, err := host.Read(w.host(url).Memory)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// policy returns the frontier's state of the robots.txt of a host.
func (w *world) policy(url string) (s robots.State) {
	w.t.Helper()
	if h := w.host(url); len(h.Robots) > 0 {
		if err := s.UnmarshalBinary(h.Robots); err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// retry reopens the URLs and hosts that match r, as an operator does.
func (w *world) retry(r frontier.Retrial) frontier.Retried {
	w.t.Helper()
	n, err := w.front.Retry(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// update finishes the only turn that is due without an exchange.
func (w *world) update(r frontier.Result) {
	w.t.Helper()
	got, err := w.front.Claim(w.t.Context(), frontier.Want{Hosts: 1, Tasks: 1})
	if err != nil || len(got.Turns) != 1 {
		w.t.Fatal(got, err)
	}
	r.Authority, r.Token = got.Turns[0].Authority, got.Turns[0].Token
	if _, err := w.front.Finish(w.t.Context(), []frontier.Result{r}); err != nil {
		w.t.Fatal(err)
	}
}

// reopen closes the frontier and opens it again, as a restart does.
func (w *world) reopen() {
	w.t.Helper()
	if err := w.front.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open(frontier.Options{})
}

// crashed kills the frontier and opens it again.
func (w *world) crashed() {
	w.front.Kill()
	w.open(frontier.Options{})
}

func (w *world) open(o frontier.Options) {
	w.t.Helper()
	o.Barrier, o.Pace = record.Barrier(w.archive, w.ledger), Floor
	f, err := frontiertest.OpenMortal(engine.Open, w.file, o)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { f.Close() })
	w.front, w.cfg.Frontier = f, f
}

func init() { dbfile.NoSync = true }

// bubble runs a case in virtual time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, f)
	})
}

// crawl prepares a run.
func (w *world) crawl() *Crawl {
	w.t.Helper()
	c, err := New(w.t.Context(), w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// run crawls until the end.
func (w *world) run() Summary {
	w.t.Helper()
	return w.finish(w.crawl())
}

// finish crawls until the end of a run that was prepared.
func (w *world) finish(c *Crawl) Summary {
	w.t.Helper()
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

// judged fails the test if the referee finds a violation.
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

// asked returns the targets of the requests to a host, in order.
func (w *world) asked(host string) []string {
	var out []string
	for _, r := range w.requests(host) {
		out = append(out, r.Target)
	}
	return out
}

// wantAskedInAnyOrder compares them as a set.
func (w *world) wantAskedInAnyOrder(host string, want ...string) {
	w.t.Helper()
	if got := slices.Sorted(slices.Values(w.asked(host))); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		w.t.Errorf("%s got requests for %q, want %q", host, got, want)
	}
}

// wantAsked compares them.
func (w *world) wantAsked(host string, want ...string) {
	w.t.Helper()
	if got := w.asked(host); !slices.Equal(got, want) {
		w.t.Errorf("%s got requests for %q, want %q", host, got, want)
	}
}

// wantOutcomes compares the ledger's lines on a URL.
func (w *world) wantOutcomes(url string, want ...string) {
	w.t.Helper()
	if got := w.ledger.of(url); !slices.Equal(got, want) {
		w.t.Errorf("the ledger has for %s: %q, want %q", url, got, want)
	}
}

// paced checks that no line of the ledger has a gap shorter than its delay, and that only
// the first exchange with a host has none.
func (w *world) paced() {
	w.t.Helper()
	met := map[string]bool{}
	for _, l := range w.ledger.all {
		host := parse(w.t, l.URL).Authority().Host()
		if l.Record != "" && (met[host] != (l.Gap > 0) || l.Time.IsZero() || l.Pace < Floor || l.PaceBy == "") {
			w.t.Errorf("%s: gap %v at %v", l.URL, l.Gap, l.Time)
		}
		met[host] = met[host] || l.Record != ""
		if l.Gap > 0 && l.Gap < l.Pace {
			w.t.Errorf("%s: gap %v, pace %v (%s)", l.URL, l.Gap, l.Pace, l.PaceBy)
		}
	}
}

func count(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

// pagesBy is a site without a robots.txt, whose other paths h answers.
func pagesBy(name string, h http.HandlerFunc) *crawltest.Site {
	return &crawltest.Site{Name: name, Handler: http.HandlerFunc(afterRobots(h))}
}

// afterRobots answers so to everything but robots.txt.
func afterRobots(then http.HandlerFunc) func(http.ResponseWriter, *http.Request) {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		then(rw, r)
	}
}

// withStatus answers with a status and no body.
func withStatus(code int, fields ...string) http.HandlerFunc {
	return body(code, "", fields...)
}

// body answers with a body and header fields, given by name and value.
func body(code int, text string, fields ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			rw.Header().Set(fields[i], fields[i+1])
		}
		rw.WriteHeader(code)
		fmt.Fprint(rw, text) // an error means that the client has gone
	}
}

// raw answers with octets, and closes the connection.
func raw(octets string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		conn.Write([]byte(octets))
	}
}

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// zipped is text, coded with gzip.
func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	z.Close()
	return b.String()
}
