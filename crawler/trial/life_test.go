package trial

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/optout"
	"curtsy/storage/warc"
)

var identity = fetch.Identity{Token: "curtsy", Version: "1", Contact: "mailbox@trial.example.net"}

type crawl struct {
	dir     string
	front   *bolt.Frontier
	archive *warc.Writer
	index   *cdxj.Store
	ledger  *ledger.Writer
	fetcher *fetch.Fetcher
	crawl   *crawler.Crawl
	lists   *optout.Watch // taken-down hosts are left alone
	ready   chan struct{} // closed when archive and ledger are open, or have failed to open

	mu     sync.Mutex
	synced map[string]int64 // sizes of files after the last sync
}

type settings struct {
	standard robots.Standard
	delay    time.Duration
	ipDelay  time.Duration
	workers  int
	maxBody  int64
	keep     bool // the bodies of pages that ask not to be archived
	lease    time.Duration
	hosts    hostrule.Rules                          // that an operator has made
	exclude  []string                                // that an operator has made
	recorder func(storage.Recorder) storage.Recorder // nil for the plain archive

	own      string // own-sites in the archive: loopback, whose hosts then have no Floor, or none
	keyFile  string // of the operator's key; empty for one that is all zeros
	operator bool   // it is opened to change it, not to run
}

func draw(seed uint64) settings {
	d := throw(seed, "settings")
	s := settings{own: "none", delay: time.Second, ipDelay: []time.Duration{100, 500, 2000}[d.IntN(3)] * time.Millisecond, workers: 1 + d.IntN(64), keep: d.in(3)}
	if d.in(4) {
		s.standard = []robots.Standard{robots.Draft1996, robots.Std1994}[d.IntN(2)]
	}
	if d.in(4) {
		s.delay += time.Duration(d.IntN(2000)) * time.Millisecond
	}
	if d.in(4) {
		s.maxBody = int64(d.IntN(20_000) + 1)
	}
	return s
}

// ownWeb puts some hosts on loopback, which the crawl usually takes for the operator's.
func (o *settings) ownWeb(w *web) {
	w.local = true
	d := throw(w.seed, "own")
	o.own, o.delay = "loopback", time.Duration(d.IntN(3)*d.IntN(200))*time.Millisecond
	if d.in(4) {
		o.own = "none"
	}
}

func (o *settings) resettle(seed uint64, life int) {
	d := throw(seed, "delay", strconv.Itoa(life))
	if life == 0 || !d.in(4) {
		return
	}
	o.delay = time.Duration(d.IntN(4000)) * time.Millisecond
}

func (o *settings) signer() (*checkpoint.Signer, [][]byte, error) {
	if o.keyFile == "" {
		s, err := checkpoint.NewSigner(make([]byte, 32))
		return s, nil, err
	}
	secret, err := secretIn(o.keyFile)
	if err != nil {
		return nil, nil, err
	}
	s, err := checkpoint.NewSigner(secret)
	if err != nil {
		return nil, nil, err
	}
	led, err := crawldir.Rotations(o.keyFile, s.Key())
	var notes [][]byte
	for _, r := range led {
		notes = append(notes, r.Note)
	}
	return s, notes, err
}

func secretIn(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(strings.TrimSpace(string(b)))
}

func open(ctx context.Context, dir string, o settings, s *server, lasts time.Duration) (c *crawl, err error) {
	c = &crawl{dir: dir, synced: map[string]int64{}, ready: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(dir, "spool"), 0o777); err != nil {
		return c, err
	}
	if err := c.openEvidence(ctx, o); err != nil {
		return c, err
	}
	var recorder storage.Recorder = c.archive
	if o.recorder != nil {
		recorder = o.recorder(recorder)
	}
	fc := fetch.Config{Identity: identity, SpoolDir: filepath.Join(dir, "spool"), Resolve: s.resolve, Dial: s.dial}
	if s.w.local {
		fc.AllowNet = []netip.Prefix{netip.MustParsePrefix(localNet + "0/24")}
	}
	c.fetcher, err = fetch.New(fc)
	if err != nil {
		return c, err
	}
	delay := o.delay
	if delay == 0 {
		delay = -1
	}
	stats, err := c.front.Stats(ctx)
	if err != nil {
		return c, err
	}
	files, err := cdxj.Files(filepath.Join(dir, "index"))
	if err != nil {
		return c, err
	}
	g := budget.GenerationOf(stats.Counts)
	cc := crawler.Config{
		Frontier: c.front, Fetcher: c.fetcher, Recorder: recorder, Ledger: book{c.ledger, c}, Last: ledger.Last(filepath.Join(dir, "ledger")),
		Asked:    func() (storage.Asked, error) { return ledger.Asked(filepath.Join(dir, "ledger"), g.Began) },
		Identity: identity, Workers: o.workers, MaxTime: lasts, MaxWait: 30 * time.Minute, Delay: delay, IPDelay: o.ipDelay, Standard: o.standard,
		Sitemaps: crawler.Sitemaps{Robots: true}, LoopbackForeign: o.own != "loopback", OptOut: c.lists,
		MaxBody: o.maxBody, KeepNoArchive: o.keep, Scope: scope.Config{Mode: scope.ModeAny, Exclude: o.exclude}, Hosts: o.hosts,
	}
	if g.Number > 1 {
		cc.Past = &crawldir.Past{Archive: filepath.Join(dir, "warc"), Spool: fc.SpoolDir, Index: crawldir.Complete(files), Before: g.Began, MaxBody: o.maxBody}
	}
	c.crawl, err = crawler.New(ctx, cc)
	return c, err
}

func (c *crawl) openEvidence(ctx context.Context, o settings) (err error) {
	defer close(c.ready)
	as := crawldir.Settings{Delay: o.delay, OwnSite: []string{o.own}, Hosts: o.hosts}
	fo := as.FrontierOptions() // those of a real crawl: the trial includes their demands on the frontier
	fo.Operator, fo.LeaseLength, fo.Barrier, fo.Tell = o.operator, o.lease, c.barrier, c.tell
	c.front, err = bolt.Open(filepath.Join(c.dir, "frontier.db"), fo)
	if err != nil {
		return err
	}
	var finished ledger.Finished
	if c.index, err = cdxj.Open(ctx, c.dir, cdxj.Options{Finished: finished.In("index")}); err != nil {
		return err
	}
	if c.lists, err = optout.Open([]optout.File{{Path: filepath.Join(c.dir, optOutName), MayMiss: true}}, nil); err != nil {
		return err
	}
	ms := func(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }
	fields := warc.Fields{{Name: "product-token", Value: identity.Token}, {Name: "pace-floor-ms", Value: ms(max(o.delay, crawler.Floor))},
		{Name: "ip-delay-ms", Value: ms(o.ipDelay)}, {Name: "own-sites", Value: o.own}, {Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}}
	for _, r := range o.hosts {
		fields = append(fields, warc.Field{Name: "host-delay-ms", Value: ms(r.Delay) + " " + r.Name()})
	}
	listed := ""
	for _, v := range c.lists.Versions() {
		listed = v.SHA256
		fields = append(fields, warc.Field{Name: "opt-out-sha256", Value: listed})
	}
	c.archive, err = warc.Open(warc.Options{
		Dir: filepath.Join(c.dir, "warc"), Name: "curtsy", SegmentSize: 1 << 20, Index: c.index, Originals: c.index, Finished: finished.In("warc"),
		Info: warc.Info{
			Software: "curtsy/1", Contact: identity.Contact, UserAgent: identity.UserAgent(), RobotsPolicy: o.standard.String(),
			Fields: fields,
		},
	})
	if err != nil {
		return err
	}
	signer, rotations, err := o.signer()
	if err != nil {
		return err
	}
	c.ledger, err = ledger.Open(ledger.Options{Dir: filepath.Join(c.dir, "ledger"), SegmentSize: 1 << 20, Software: "curtsy/1", Signer: signer,
		Rotations: rotations, Warcinfo: c.archive.InfoSHA256(), OptOutsSHA256: listed})
	if err == nil {
		err = finished.Open(c.ledger)
	}
	if err != nil {
		return err
	}
	quarantined, err := c.front.Quarantined(ctx)
	if err != nil {
		return err
	}
	return record.Quarantined(ctx, c.archive, book{c.ledger, c}, quarantined)
}

func (c *crawl) barrier(ctx context.Context) error {
	if <-c.ready; c.archive == nil || c.ledger == nil {
		return nil
	}
	if err := record.Barrier(c.archive, c.ledger)(ctx); err != nil {
		return err
	}
	c.durable(evidence(c.dir))
	return nil
}

func (c *crawl) durable(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		if s, err := os.Stat(path); err == nil { // else it was packed meanwhile
			c.synced[path] = s.Size()
		}
	}
}

type book struct {
	*ledger.Writer
	c *crawl
}

func (b book) Begin(ctx context.Context) error { return b.noted(b.Writer.Begin(ctx)) }
func (b book) Sync(ctx context.Context) error  { return b.noted(b.Writer.Sync(ctx)) }

func (b book) noted(err error) error {
	if err == nil {
		b.c.durable(ledgerFiles(b.c.dir))
	}
	return err
}

func (c *crawl) tell(ctx context.Context, closed frontier.Closings) error {
	if <-c.ready; c.archive == nil || c.ledger == nil {
		return errors.New("no ledger")
	}
	return record.Closed(c.archive, book{c.ledger, c})(ctx, closed)
}

func evidence(dir string) []string {
	open, _ := filepath.Glob(filepath.Join(dir, "warc", "*.open")) // the pattern is valid
	return append(open, ledgerFiles(dir)...)
}

func ledgerFiles(dir string) []string {
	lines, _ := filepath.Glob(filepath.Join(dir, "ledger", "*.jsonl"))
	return lines
}

func (c *crawl) seed(ctx context.Context, w *web, hosts int) error {
	var seeds []frontier.Candidate
	for n := range hosts {
		u, err := canon.Parse("http://" + w.host(n).name + "/")
		if err != nil {
			return err
		}
		seeds = append(seeds, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
	}
	_, err := c.front.Add(ctx, seeds)
	return err
}

func (c *crawl) close() error {
	var errs []error
	if c.front != nil {
		errs = append(errs, c.front.Close())
	}
	if c.archive != nil {
		errs = append(errs, c.archive.Close())
	}
	if c.index != nil {
		errs = append(errs, c.index.Close())
	}
	if c.ledger != nil {
		errs = append(errs, c.ledger.Close())
	}
	if c.fetcher != nil {
		errs = append(errs, c.fetcher.Close())
	}
	return errors.Join(errs...)
}

// leave copies the directory as a kill leaves it: unsynced ends of files may be cut at random.
func (c *crawl) leave(t *testing.T, next string, d dice) {
	t.Helper()
	require.NoError(t, os.CopyFS(next, os.DirFS(c.dir)))
	require.NoError(t, os.RemoveAll(filepath.Join(next, "spool")))
	defer c.uncommit(t, next)
	if d.in(2) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range evidence(c.dir) {
		s, err := os.Stat(path)
		require.NoError(t, err)
		if lost := s.Size() - c.synced[path]; lost > 0 && d.in(2) {
			require.NoError(t, os.Truncate(strings.Replace(path, c.dir, next, 1), s.Size()-d.Int64N(lost+1)))
		}
	}
}

// uncommit removes checkpoints whose lines were cut off: a kill that loses those lines comes before the checkpoint.
func (c *crawl) uncommit(t *testing.T, next string) {
	t.Helper()
	book := filepath.Join(next, "ledger")
	lines := int64(0)
	for e, err := range ledger.Skim(book) {
		require.NoError(t, err)
		if e.Problem == nil {
			lines = e.Index + 1
		}
	}
	sizes, err := ledger.Checkpoints(book)
	require.NoError(t, err)
	var last []byte
	for _, size := range sizes {
		path := ledger.CheckpointPath(book, size)
		if size <= lines {
			last, err = os.ReadFile(path)
		} else {
			err = os.Remove(path)
		}
		require.NoError(t, err)
	}
	latest := filepath.Join(book, ledger.CheckpointName)
	_ = os.Remove(latest) // there may be none
	if last != nil {
		require.NoError(t, os.WriteFile(latest, last, 0o644))
	}
}
