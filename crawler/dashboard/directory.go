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
func (d *directory) Hosts(ctx context.Context, q status.Query) (status.Page, error) {
	return ask(ctx, d, func(r *control.Remote) (status.Page, error) { return r.Hosts(ctx, q) }, func(f frontier.Stored) (status.Page, error) {
		return status.NewLive(f, status.Settings{}).Hosts(ctx, q)
	})
}

// Host implements dashboard.Source.
func (d *directory) Host(ctx context.Context, a canon.Authority) (status.One, error) {
	return ask(ctx, d, func(r *control.Remote) (status.One, error) { return r.Host(ctx, a) }, func(f frontier.Stored) (status.One, error) {
		return status.NewLive(f, status.Settings{}).One(ctx, a)
	})
}

// Explain implements dashboard.Source.
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

// Do implements dashboard.Source.
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

// Try implements dashboard.Source.
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

// changed says what came of a change.
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

// steer is what is done with a host.
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

// Source is a crawl to look at. Its methods may be called concurrently, but for Decisions.
type Source interface {
	// Name is what people call the crawl: its directory.
	Name() string
	Look(ctx context.Context) (Look, error)
	Hosts(ctx context.Context, q status.Query) (status.Page, error)
	Host(ctx context.Context, a canon.Authority) (status.One, error)
	Explain(ctx context.Context, u canon.URL) (explain.Explanation, error)
	// Decisions returns those that came since the call before, the last ones of more than most, and how many were passed
	// over. It is called by one goroutine.
	Decisions(most int) (lines []storage.Line, passed int64, err error)
	// Gaps returns the pauses that were kept between exchanges with a host, the last ones of more than most.
	Gaps(ctx context.Context, a canon.Authority, most int) ([]Gap, error)
	// Settings are those that an operator may change.
	Settings(ctx context.Context) (Settings, error)
	// Acts are what operators did, the last first. It may be called beside Decisions, which reads them.
	Acts() []ledger.Mark
	// Try says what would come of a change, and changes nothing. It is ErrReadOnly as Do is.
	Try(ctx context.Context, c control.Change) (control.Changed, error)
	// Do obeys an operator and says what came of it. It is ErrReadOnly for a crawl that takes no orders now.
	Do(ctx context.Context, a Act) (said string, err error)
}

// Look is a crawl at a glance.
type Look struct {
	status.Look
	Disk    Disk
	Running bool // it takes orders
}

// Disk is what a crawl takes, in octets.
type Disk struct {
	Archive  int64 `json:"archive_bytes"`
	Ledger   int64 `json:"ledger_bytes"`
	Frontier int64 `json:"frontier_bytes"`
	Free     int64 `json:"free_bytes,omitempty"` // for whoever crawls; zero where the system does not say
}

// Gap is a pause between two exchanges with a host.
type Gap struct {
	Kept, Due time.Duration
	By        storage.PaceBy // who asked for it
}

// ErrReadOnly says that a crawl does not run, and takes no orders.
var ErrReadOnly = errors.New("the crawl is not running; see curtsy frontier")

// The verbs of an Act. None of them lowers politeness: what a host is owed it gets.
const (
	ActPause   = "pause"   // begin no exchange
	ActGoOn    = "unpause" // end a pause
	ActDrain   = "drain"   // end the crawl
	ActPark    = "park"    // give a host no turn
	ActRelease = "release" // end that, or open a host that is retired or refused
	ActDrop    = "drop"    // close what is pending of a host, and refuse more
	ActRetry   = "retry"   // try again what failed at a host
	ActSeed    = "seed"    // add a seed
	ActChange  = "change"  // change a setting
)

// Act is what an operator wants.
type Act struct {
	Verb   string
	Host   canon.Authority  // of park, release, drop and retry
	For    time.Duration    // of park; zero for without an end
	Reason string           // why, for people: the ledger has it
	What   frontier.Outcome // of retry
	Seed   canon.URL
	Change control.Change
}

// Settings are those that an operator may change, as crawl.toml writes them.
type Settings struct {
	Budgets          map[string]string // by their names, stop-when and window among them
	Include, Exclude []string
	Delay            string // of all hosts
	Hosts            []HostDelay
	OptOuts          []string // files of lists
}

// HostDelay is a longer pause of some hosts.
type HostDelay struct{ Match, Delay string }
