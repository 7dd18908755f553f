package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/fetch"
	recorder "curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// lives is a crawl that is killed again and again, with a real archive, index and ledger.
//
// A kill is an instant of virtual time at which every goroutine is blocked. The files as they are then are what a
// killed process leaves: they are copied, and the next life goes on with the copies. (Writes that are torn are the
// matter of frontier/bolt/force.)
type lives struct {
	play
	kills int

	dir     string // of the life that is on
	killed  int
	cut     int64 // octets of torn ends
	heaps   []uint64
	files   []int // open ones, after each life
	audited *audit.Result
}

var identity = fetch.Identity{Token: "curtsy", Version: "1", Contact: "mailbox@simulation.example.net"}

// segment is the size of archive and ledger segments: small, so that kills meet their rotation and packing.
const segment = 4 << 20

func (l *lives) run(t *testing.T) {
	root := directory(t)
	l.dir = filepath.Join(root, "0")
	began := monotonic()
	synctest.Test(t, func(t *testing.T) {
		l.referee = newReferee(l.w)
		for {
			next := filepath.Join(root, fmt.Sprint(l.killed+1))
			if !l.live(t, next) {
				break
			}
			if err := os.RemoveAll(l.dir); err != nil {
				t.Fatal(err)
			}
			l.dir = next
		}
		l.virtual = time.Since(l.referee.start)
	})
	l.wall = monotonic() - began
	l.judgeArchive(t)
}

// live is one life. It reports whether it was killed; then next is what it left.
func (l *lives) live(t *testing.T, next string) (killed bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e := l.open(ctx, t)
	f := &fetcher{w: l.w, r: l.referee, real: true}
	c, err := crawler.New(ctx, crawler.Config{
		Frontier: e.front, Fetcher: f, Recorder: e.archive, Ledger: e.ledger,
		Last:     ledger.Last(filepath.Join(l.dir, "ledger")),
		Asked:    func() (storage.Asked, error) { return ledger.Asked(filepath.Join(l.dir, "ledger"), time.Time{}) },
		Identity: identity, Workers: l.workers, MaxWait: 3 * time.Hour,
		Scope: scope.Config{Mode: scope.ModeAny, Traps: map[string]int{"depth": 0}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.referee.begins()
	ended := make(chan error)
	go func() {
		var err error
		l.summary, err = c.Run(ctx)
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(l.until()):
		synctest.Wait()
		killed = true
		l.killed++
		f.killed.Store(true)
		l.referee.kill()
		if err := leaves(l.dir, next); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-ended
	}
	if err != nil {
		t.Fatal(err)
	}
	if l.stats, err = e.front.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = nil
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
	l.weigh()
	return killed
}

// until is how long the next life lasts, if it has to be killed.
func (l *lives) until() time.Duration {
	if l.killed == l.kills {
		return 1 << 62
	}
	mean := float64(l.lasts) / float64(l.kills+1)
	d := time.Duration(2 * mean * unit(hash(uint64(l.killed), 77)))
	if l.killed%8 == 7 {
		d = time.Duration(hash(uint64(l.killed), 78) % uint64(10*time.Second)) // twice within seconds
	}
	return d
}

// weigh notes what is left of a life that is over.
func (l *lives) weigh() {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	l.heaps = append(l.heaps, sample[0].Value.Uint64())
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		l.files = append(l.files, len(open))
	}
}

// evidence is an open crawl directory.
type evidence struct {
	front   *bolt.Frontier
	archive *warc.Writer
	index   *cdxj.Store
	ledger  *ledger.Writer
}

func (e *evidence) close() error {
	return errors.Join(e.front.Close(), e.archive.Close(), e.index.Close(), e.ledger.Close())
}

func (l *lives) open(ctx context.Context, t *testing.T) *evidence {
	t.Helper()
	e := &evidence{}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(l.dir, 0o777))
	var err error
	e.front, err = bolt.Open(filepath.Join(l.dir, "frontier.db"), frontier.Options{
		Pace: crawler.Floor, LeaseLength: leaseLength,
		Barrier: func(ctx context.Context) error {
			l.referee.barrier()
			return recorder.Barrier(e.archive, e.ledger)(ctx)
		},
	})
	must(err)
	var finished ledger.Finished
	e.index, err = cdxj.Open(ctx, l.dir, cdxj.Options{Finished: finished.In("index")})
	must(err)
	if d := e.index.Damaged(); len(d) > 0 {
		t.Fatalf("after kill %d the index is damaged: %v", l.killed, d)
	}
	e.archive, err = warc.Open(warc.Options{
		Dir: filepath.Join(l.dir, "warc"), Name: "curtsy", SegmentSize: segment, Index: e.index, Originals: e.index, Finished: finished.In("warc"),
		Info: warc.Info{
			Software: "curtsy/1", Contact: identity.Contact, UserAgent: identity.UserAgent(), RobotsPolicy: "rfc9309",
			Fields: warc.Fields{{Name: "product-token", Value: identity.Token}, {Name: "pace-floor-ms", Value: "1000"},
				{Name: "ip-delay-ms", Value: "500"}, {Name: "max-crawl-delay-ms", Value: "300000"}, {Name: "own-sites", Value: "none"},
				{Name: "run-began", Value: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}},
		},
	})
	must(err)
	e.ledger, err = ledger.Open(ledger.Options{Dir: filepath.Join(l.dir, "ledger"), SegmentSize: segment, Software: "curtsy/1", Warcinfo: e.archive.InfoSHA256()})
	must(err)
	must(finished.Open(e.ledger))
	for _, cut := range []func() (string, int64){e.archive.Cut, e.ledger.Cut} {
		_, n := cut()
		l.cut += n
	}
	quarantined, err := e.front.Quarantined(ctx)
	must(err)
	must(recorder.Quarantined(ctx, e.archive, e.ledger, quarantined))
	var seeds []frontier.Candidate
	for i := range l.w.roots {
		u, err := canon.Parse(nameOf(i) + "/p/0")
		must(err)
		seeds = append(seeds, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
	}
	_, err = e.front.Add(ctx, seeds)
	must(err)
	return e
}

// leaves puts into next what is in dir. What is never written again is linked, all else copied.
func leaves(dir, next string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(next, strings.TrimPrefix(path, dir))
		switch {
		case d.IsDir():
			return os.MkdirAll(to, 0o777)
		case strings.HasSuffix(path, ".warc.gz"), strings.HasSuffix(path, ".zst"):
			return os.Link(path, to)
		}
		return copyFile(path, to)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return cmp.Or(err, out.Close())
}

// judgeArchive lets the audit judge what all lives left.
func (l *lives) judgeArchive(t *testing.T) {
	t.Helper()
	temp := directory(t)
	book, err := reconcile.Open(t.Context(), reconcile.Options{Dir: filepath.Join(l.dir, "ledger"), Root: l.dir, TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(l.dir, "warc", "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	l.audited, err = audit.Run(t.Context(), audit.Options{Files: files, Ours: true, TempDir: temp, Witnesses: []audit.Witness{book}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range l.audited.Findings {
		if !f.Note {
			t.Errorf("audit: %+v", f)
		}
	}
	if !l.audited.Clean {
		t.Errorf("the audit accuses %d kills of %+v", l.killed, l.audited.Counts)
	}
	var left []string
	err = filepath.WalkDir(l.dir, func(path string, d os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".open") || strings.HasSuffix(path, ".new") {
			left = append(left, path)
		}
		if i, err := d.Info(); err == nil && filepath.Base(path) == "frontier.db" {
			l.file = i.Size()
		}
		return err
	})
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}
