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
	"curtsy/storage/plainly"
)

// directory is a crawl directory as a Source.
type directory struct {
	path   string
	follow *ledger.Follower

	mu     sync.Mutex
	remote *control.Remote // the last running crawl; it may have ended
	disk   Disk
	sized  time.Time // when disk was measured
	still  still
	gaps   gapsOf
	acts   []ledger.Mark
}

// still caches the look at a stopped crawl until its frontier's file changes.
type still struct {
	look Look
	size int64
	at   time.Time // of the file; zero without a look
}

const (
	firstBack = 8 << 20         // bytes of the ledger's end to read first
	sizeEvery = 5 * time.Second // between measurements: an archive may have thousands of files
	gapsEvery = 5 * time.Second // between reads of a host's delays
)

// NewDirectory returns the Source of a crawl directory. The caller has checked it with crawldir.Require.
func NewDirectory(path string) *directory {
	return &directory{path: path, follow: ledger.Follow(filepath.Join(path, crawldir.LedgerName), firstBack)}
}

func (d *directory) Name() string { return filepath.Clean(d.path) }

// asked queries the running crawl, which may be a new process. It returns control.ErrNotRunning without one.
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

// read opens the frontier of a stopped crawl.
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

// ask queries the crawl if it runs, and otherwise its frontier.
func ask[T any](ctx context.Context, d *directory, running func(r *control.Remote) (T, error), stopped func(f frontier.Stored) (T, error)) (answer T, err error) {
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		answer, err = running(r)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		err = d.read(func(f frontier.Stored) (err error) {
			answer, err = stopped(f)
			return err
		})
	}
	return answer, err
}

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

// stillLook reads the frontier of a stopped crawl if it has changed.
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
	now.look.Waits.Permitted = 0 // a stopped crawl sends no requests
	d.mu.Lock()
	d.still = now
	d.mu.Unlock()
	return now.look, nil
}

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

// octets returns the total size of the files in a folder.
func octets(folder string) (sum int64) {
	err := filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // deleted meanwhile
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

func (d *directory) Hosts(ctx context.Context, q status.Query) (status.Page, error) {
	return ask(ctx, d, func(r *control.Remote) (status.Page, error) { return r.Hosts(ctx, q) }, func(f frontier.Stored) (status.Page, error) {
		return status.NewLive(f, status.Settings{}).Hosts(ctx, q)
	})
}

func (d *directory) Host(ctx context.Context, a canon.Authority) (status.One, error) {
	return ask(ctx, d, func(r *control.Remote) (status.One, error) { return r.Host(ctx, a) }, func(f frontier.Stored) (status.One, error) {
		return status.NewLive(f, status.Settings{}).One(ctx, a)
	})
}

func (d *directory) Explain(ctx context.Context, u canon.URL) (explain.Explanation, error) {
	q := explain.Question{URL: u}
	return ask(ctx, d, func(r *control.Remote) (explain.Explanation, error) { return r.Explain(ctx, q) }, func(f frontier.Stored) (e explain.Explanation, err error) {
		s, err := crawldir.ReadSettings(d.path)
		if err != nil {
			return e, err
		}
		if err := s.OpenLists(d.path, func(string, ...any) {}); err != nil {
			return e, err
		}
		c, err := s.CrawlerConfig(nil, nil)
		if err != nil {
			return e, err
		}
		return crawler.ExplainStopped(ctx, c, f, q)
	})
}

func (d *directory) Decisions(most int) ([]storage.Line, int64, error) {
	lines, passed, err := d.follow.Next(most)
	acts := d.follow.Acts()
	slices.Reverse(acts)
	d.mu.Lock()
	d.acts = acts
	d.mu.Unlock()
	return lines, passed, err
}

func (d *directory) Acts() []ledger.Mark {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acts
}

// Settings reads the file that a running crawl also keeps up to date.
func (d *directory) Settings(context.Context) (s Settings, err error) {
	now, err := crawldir.ReadSettings(d.path)
	if err != nil {
		return s, err
	}
	s = Settings{
		Budgets: map[string]string{}, Include: now.Include, Exclude: now.Exclude, Delay: now.Text("delay"), OptOuts: now.OptOut,
	}
	for _, name := range control.Budgets() {
		s.Budgets[name] = now.Text(name)
	}
	for _, r := range now.Hosts {
		if r.Delay > 0 {
			s.Hosts = append(s.Hosts, HostDelay{Match: r.Match, Delay: r.Delay.String()})
		}
	}
	return s, nil
}

// Gaps reads the last part of the ledger, and caches the result for gapsEvery.
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

// gapsOf caches the delays of one host.
type gapsOf struct {
	of  canon.Authority
	all []Gap
	at  time.Time
}

var _ Source = (*directory)(nil)

func (d *directory) Do(ctx context.Context, a Act) (said string, err error) {
	ctx = control.Noted(ctx, a.Reason)
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		said, err = do(ctx, r, a)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		return "", ErrReadOnly
	}
	return said, err
}

func do(ctx context.Context, r *control.Remote, a Act) (string, error) {
	switch a.Verb {
	case ActChange:
		done, err := r.Change(ctx, a.Change)
		return changed(a.Change, done), err
	case ActPause:
		return "Paused: no new requests start.", r.Pause(ctx, true)
	case ActGoOn:
		return "The crawl continues.", r.Pause(ctx, false)
	case ActDrain:
		return "The crawl ends after the requests in flight.", r.Drain(ctx)
	case ActSeed:
		added, err := r.Add(ctx, []frontier.Candidate{{URL: a.Seed, Kind: frontier.KindSeed, Seed: a.Seed.String()}})
		if err == nil && added.New == 0 {
			return fmt.Sprintf("%s was already known; the scope now includes it.", a.Seed), nil
		}
		return fmt.Sprintf("%s was added.", a.Seed), err
	case ActRetry:
		done, err := r.Retry(ctx, frontier.Retrial{Outcome: a.What, Authority: a.Host, Hosts: true})
		return fmt.Sprintf("%s of %s will be retried.", plainly.Count(done.URLs, "URL"), a.Host.Origin()), err
	}
	return steer(ctx, r, a)
}

func (d *directory) Try(ctx context.Context, c control.Change) (done control.Changed, err error) {
	c.Try = true
	err = d.asked(ctx, func(r *control.Remote) (err error) {
		done, err = r.Change(ctx, c)
		return err
	})
	if errors.Is(err, control.ErrNotRunning) {
		err = ErrReadOnly
	}
	return done, err
}

// changed describes the effect of a change.
func changed(c control.Change, done control.Changed) string {
	var text string
	switch {
	case c.Setting == control.SetOptOuts:
		text = "The opt-out lists were reread: " + done.After + "."
	case done.Before == "":
		text = fmt.Sprintf("%s now has %q.", c.Setting, done.After)
	case done.After == "":
		text = fmt.Sprintf("%s no longer has %q.", c.Setting, done.Before)
	default:
		text = fmt.Sprintf("%s is now %s; it was %s.", c.Setting, done.After, done.Before)
	}
	if done.URLs > 0 {
		text += fmt.Sprintf(" It affects %s of %d in the queue.", plainly.Count(done.URLs, "URL"), done.Pending)
	}
	for _, trouble := range done.Trouble {
		text += " " + trouble
	}
	return text
}

// steer executes an act on a host.
func steer(ctx context.Context, r *control.Remote, a Act) (string, error) {
	s := frontier.Steering{Authority: a.Host, Reason: a.Reason, For: a.For}
	switch a.Verb {
	case ActPark:
		s.Act = frontier.Park
	case ActDrop:
		s.Act = frontier.Drop
	case ActRelease:
		s.Act, s.Reason = frontier.Resume, ""
	default:
		return "", fmt.Errorf("unknown action %q", a.Verb)
	}
	done, err := r.Steer(ctx, s)
	switch {
	case err != nil:
		return "", err
	case !done.Changed:
		return fmt.Sprintf("%s: nothing to change.", a.Host.Origin()), nil
	case a.Verb == ActPark:
		return fmt.Sprintf("%s is paused.", a.Host.Origin()), nil
	case a.Verb == ActDrop:
		return fmt.Sprintf("%s is dropped: %s closed.", a.Host.Origin(), plainly.Count(done.URLs, "URL")), nil
	}
	return fmt.Sprintf("%s is unpaused; its delay still applies.", a.Host.Origin()), nil
}

// Source is a crawl on the dashboard. Its methods may be called concurrently, except for Decisions.
type Source interface {
	// Name returns the crawl directory.
	Name() string
	Look(ctx context.Context) (Look, error)
	Hosts(ctx context.Context, q status.Query) (status.Page, error)
	Host(ctx context.Context, a canon.Authority) (status.One, error)
	Explain(ctx context.Context, u canon.URL) (explain.Explanation, error)
	// Decisions returns new decisions, at most the last most, and how many it skipped. Only one goroutine calls it.
	Decisions(most int) (lines []storage.Line, passed int64, err error)
	// Gaps returns the delays between requests to a host, the last ones if there are more than most.
	Gaps(ctx context.Context, a canon.Authority, most int) ([]Gap, error)
	// Settings returns the settings that an operator may change.
	Settings(ctx context.Context) (Settings, error)
	// Acts returns the acts of operators, newest first, as of the last call of Decisions.
	Acts() []ledger.Mark
	// Try returns the effect that a change would have. Errors are those of Do.
	Try(ctx context.Context, c control.Change) (control.Changed, error)
	// Do executes an act and describes the result. It returns ErrReadOnly for a stopped crawl.
	Do(ctx context.Context, a Act) (said string, err error)
}

type Look struct {
	status.Look
	Disk    Disk
	Running bool // it accepts acts
}

// Disk is the disk space of a crawl in bytes.
type Disk struct {
	Archive  int64 `json:"archive_bytes"`
	Ledger   int64 `json:"ledger_bytes"`
	Frontier int64 `json:"frontier_bytes"`
	Free     int64 `json:"free_bytes,omitempty"` // for the crawling user; zero if unknown
}

// Gap is a delay between two requests to a host.
type Gap struct {
	Kept, Due time.Duration
	By        storage.PaceBy // the source of the delay
}

// ErrReadOnly means that a crawl does not run and accepts no acts.
var ErrReadOnly = errors.New("the crawl is not running; see curtsy frontier")

// The verbs of an Act. No act makes the crawl less polite.
const (
	ActPause   = "pause"   // start no requests
	ActGoOn    = "unpause" // end a pause
	ActDrain   = "drain"   // end the crawl
	ActPark    = "park"    // hold a host
	ActRelease = "release" // release a host, or reopen one that is retired or refused
	ActDrop    = "drop"    // close a host's pending URLs, and accept no others
	ActRetry   = "retry"   // retry a host's failed URLs
	ActSeed    = "seed"    // add a seed
	ActChange  = "change"  // change a setting
)

// Act is a command of an operator.
type Act struct {
	Verb   string
	Host   canon.Authority  // of park, release, drop and retry
	For    time.Duration    // of park; zero = until released
	Reason string           // for people; kept in the ledger
	What   frontier.Outcome // of retry
	Seed   canon.URL
	Change control.Change
}

// Settings are the settings that an operator may change, as crawl.toml writes them.
type Settings struct {
	Budgets          map[string]string // by name, with stop-when and window
	Include, Exclude []string
	Delay            string // of all hosts
	Hosts            []HostDelay
	OptOuts          []string // files of lists
}

// HostDelay is a longer delay of some hosts.
type HostDelay struct{ Match, Delay string }
