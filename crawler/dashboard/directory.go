package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
)

// directory is a crawl directory as a source of a dashboard.
type directory struct {
	path   string
	follow *ledger.Follower

	mu     sync.Mutex
	remote *control.Remote // of the crawl that was met last; it may have ended
	disk   Disk
	sized  time.Time // when disk was found
	still  still
	gaps   gapsOf
	acts   []ledger.Mark
}

// still is the glance at a crawl that does not run, for as long as its frontier is what it was.
type still struct {
	look Look
	size int64
	at   time.Time // of the file; zero without a glance
}

// firstBack is how much of the ledger is read at first, in octets from its end.
const firstBack = 8 << 20

// sizeEvery is how often the files are measured: an archive may have thousands.
const sizeEvery = 5 * time.Second

// NewDirectory returns the source of a directory, which should hold a crawl: crawldir.Require.
func NewDirectory(path string) *directory {
	return &directory{path: path, follow: ledger.Follow(filepath.Join(path, crawldir.LedgerName), firstBack)}
}

// Name implements dashboard.Source.
func (d *directory) Name() string { return filepath.Clean(d.path) }

// asked asks the running crawl, which may be another than before. It is control.ErrNotRunning when there is none.
func (d *directory) asked(ctx context.Context, ask func(r *control.Remote) error) error {
	d.mu.Lock()
	remote := d.remote
	d.mu.Unlock()
	if remote != nil {
		if err := ask(remote); !errors.Is(err, control.ErrNotRunning) {
			return err
		}
	}
	remote, err := control.Connect(ctx, d.path)
	d.mu.Lock()
	d.remote = remote
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return ask(remote)
}

// read opens the frontier of a crawl that does not run.
func (d *directory) read(ask func(f frontier.Stored) error) error {
	f, err := engine.OpenReadOnly(d.path)
	if errors.Is(err, frontier.ErrInUse) {
		return fmt.Errorf("%s is in use by a crawl that is starting or ending, or by another command", d.path)
	}
	if err != nil {
		return err
	}
	return errors.Join(ask(f), f.Close())
}

// ask asks the crawl if it runs, and its frontier if not.
func (d *directory) ask(ctx context.Context, running func(r *control.Remote) error, stopped func(f frontier.Stored) error) error {
	err := d.asked(ctx, running)
	if errors.Is(err, control.ErrNotRunning) {
		return d.read(stopped)
	}
	return err
}

// Look implements dashboard.Source.
func (d *directory) Look(ctx context.Context) (l Look, err error) {
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		l.Look, err = r.Look(ctx)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		l, err = d.stillLook(ctx)
	} else {
		l.Running = err == nil
	}
	l.Disk = d.size()
	return l, err
}

// stillLook reads the frontier, unless it is as it was.
func (d *directory) stillLook(ctx context.Context) (Look, error) {
	fi, err := os.Stat(filepath.Join(d.path, crawldir.FrontierName))
	if err != nil {
		return Look{}, err
	}
	d.mu.Lock()
	was := d.still
	d.mu.Unlock()
	if was.at.Equal(fi.ModTime()) && was.size == fi.Size() {
		return was.look, nil
	}
	now := still{size: fi.Size(), at: fi.ModTime()}
	err = d.read(func(f frontier.Stored) (err error) {
		if now.look.Status, err = status.Of(ctx, f); err != nil {
			return err
		}
		now.look.Waits, err = status.NewLive(f, status.Settings{}).Waits(ctx, 0)
		return err
	})
	if err != nil {
		return Look{}, err
	}
	now.look.Waits.Permitted = 0 // it asks nobody
	d.mu.Lock()
	d.still = now
	d.mu.Unlock()
	return now.look, nil
}

// size measures the files, once in a while.
func (d *directory) size() Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.sized) < sizeEvery {
		return d.disk
	}
	d.disk = Disk{
		Archive: octets(filepath.Join(d.path, crawldir.ArchiveName)), Ledger: octets(filepath.Join(d.path, crawldir.LedgerName)),
		Free: Free(d.path),
	}
	if fi, err := os.Stat(filepath.Join(d.path, crawldir.FrontierName)); err == nil {
		d.disk.Frontier = fi.Size()
	}
	d.sized = time.Now()
	return d.disk
}

// octets is how long the files in a folder are together.
func octets(folder string) (sum int64) {
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what vanishes meanwhile is not there
		}
		if fi, err := e.Info(); err == nil && fi.Mode().IsRegular() {
			sum += fi.Size()
		}
		return nil
	})
	if err != nil {
		return 0
	}
	return sum
}

// Hosts implements dashboard.Source.
func (d *directory) Hosts(ctx context.Context, q status.Query) (p status.Page, err error) {
	err = d.ask(ctx, func(r *control.Remote) (err error) {
		p, err = r.Hosts(ctx, q)
		return err
	}, func(f frontier.Stored) (err error) {
		p, err = status.NewLive(f, status.Settings{}).Hosts(ctx, q)
		return err
	})
	return p, err
}

// Host implements dashboard.Source.
func (d *directory) Host(ctx context.Context, a canon.Authority) (o status.One, err error) {
	err = d.ask(ctx, func(r *control.Remote) (err error) {
		o, err = r.Host(ctx, a)
		return err
	}, func(f frontier.Stored) (err error) {
		o, err = status.NewLive(f, status.Settings{}).One(ctx, a)
		return err
	})
	return o, err
}

// Explain implements dashboard.Source.
func (d *directory) Explain(ctx context.Context, u canon.URL) (e explain.Explanation, err error) {
	q := explain.Question{URL: u}
	err = d.ask(ctx, func(r *control.Remote) (err error) {
		e, err = r.Explain(ctx, q)
		return err
	}, func(f frontier.Stored) error {
		s, err := crawldir.ReadSettings(d.path)
		if err != nil {
			return err
		}
		if err := s.OpenLists(d.path, func(string, ...any) {}); err != nil {
			return err
		}
		c, err := s.CrawlerConfig(nil, nil)
		if err != nil {
			return err
		}
		c.Frontier = f
		e, err = crawler.ExplainStopped(ctx, c, q)
		return err
	})
	return e, err
}

// Decisions implements dashboard.Source.
func (d *directory) Decisions(most int) ([]storage.Line, int64, error) {
	lines, passed, err := d.follow.Next(most)
	acts := d.follow.Acts()
	slices.Reverse(acts)
	d.mu.Lock()
	d.acts = acts
	d.mu.Unlock()
	return lines, passed, err
}

// Acts implements dashboard.Source.
func (d *directory) Acts() []ledger.Mark {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acts
}

// Settings implements dashboard.Source. A running crawl has them in the same file.
func (d *directory) Settings(context.Context) (s Settings, err error) {
	now, err := crawldir.ReadSettings(d.path)
	if err != nil {
		return s, err
	}
	text := func(name string) string {
		t, _ := now.Text(name)
		return t
	}
	s = Settings{
		Budgets: map[string]string{}, Include: now.Include, Exclude: now.Exclude, Delay: text("delay"), OptOuts: now.OptOut,
	}
	for _, name := range control.Budgets() {
		s.Budgets[name] = text(name)
	}
	for _, r := range now.Hosts {
		if r.Delay > 0 {
			s.Hosts = append(s.Hosts, HostDelay{Match: r.Match, Delay: r.Delay.String()})
		}
	}
	return s, nil
}

// Gaps implements dashboard.Source. It reads the last part of the ledger, and keeps what it found for a while.
func (d *directory) Gaps(ctx context.Context, a canon.Authority, most int) (gaps []Gap, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gaps.of == a && time.Since(d.gaps.at) < gapsEvery {
		return d.gaps.all, nil
	}
	f := ledger.Follow(filepath.Join(d.path, crawldir.LedgerName), firstBack)
	f.Only(a.Origin())
	lines, _, err := f.Next(most)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if u, err := canon.Parse(l.URL); err == nil && u.Authority() == a && l.Gap > 0 {
			gaps = append(gaps, Gap{Kept: l.Gap, Due: l.Pace, By: l.PaceBy})
		}
	}
	d.gaps = gapsOf{a, gaps, time.Now()}
	return gaps, ctx.Err()
}

// gapsOf are the pauses of a host, as they were at an instant.
type gapsOf struct {
	of  canon.Authority
	all []Gap
	at  time.Time
}

// gapsEvery is how long they are kept.
const gapsEvery = 5 * time.Second

var _ Source = (*directory)(nil)
