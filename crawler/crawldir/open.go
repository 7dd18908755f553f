package crawldir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
	"curtsy/storage/warc"
)

// Options configure a run beyond its directory. The zero value continues the crawl as it is.
type Options struct {
	// Settings replace those in the directory permanently. Nil keeps them.
	Settings *Settings
	// DryRun requests only the robots.txt of each host and DryMaps of its sitemaps. DryListed receives their entries, from
	// several goroutines at once, with the rule of the scope that excludes the URL; empty without one.
	DryRun    bool
	DryMaps   int
	DryListed func(u canon.URL, rule string)

	// Say receives notes for people, possibly from several goroutines. Nil drops them.
	Say func(Note)
	// Line receives each line before the ledger, from several goroutines at once. It must be fast, because workers wait for it.
	Line func(storage.Line)
	// Operator receives each act of an operator after the ledger recorded it.
	Operator func(ledger.Operator)
	// Attend runs a prepared crawl. Nil means Start.Crawl.Run.
	Attend func(ctx context.Context, s Start) (crawler.Summary, error)

	// Unheard runs without a control interface: the crawl cannot be queried or steered.
	Unheard bool

	// Resolve and Dial replace the real network. With a Dial, host names are not real, so the crawl takes no host locks.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dir is an open crawl directory, locked against other processes.
type Dir struct {
	Frontier frontier.Frontier
	Archive  *warc.Writer
	Ledger   *ledger.Writer

	path       string
	options    Options
	settings   Settings
	config     []byte // settings to write; nil if the directory has them
	evidence   evidence
	generation budget.Generation
	begun      atomic.Bool // the ledger has the mark of this run
}

// Open opens a crawl directory for a run. It cuts torn ends off archive and ledger, with a note. ctx may interrupt rebuilding
// the index. Errors are those of Require, and frontier.ErrInUse, ErrNewer, ErrOlder and ErrDamaged.
func Open(ctx context.Context, dir string, o Options) (_ *Dir, err error) {
	if err := Require(dir); err != nil {
		return nil, err
	}
	d := &Dir{path: dir, options: o}
	info, err := d.configure()
	if err != nil {
		return nil, err
	}
	fo := d.settings.FrontierOptions()
	opened := d.guards(&fo)
	defer func() {
		if opened(); err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	// The frontier's lock guards the directory: do not touch other files before.
	if d.Frontier, err = engine.Open(in(dir, FrontierName), fo); err != nil {
		return nil, err
	}
	if err := errors.Join(mayGoOn(dir), requireKept(dir)); err != nil {
		return nil, err
	}
	stats, err := d.Frontier.Stats(context.Background())
	if err != nil {
		return nil, err
	}
	d.generation = budget.GenerationOf(stats.Counts)
	info.Fields = append(slices.Clip(info.Fields), warc.Field{Name: "generation", Value: fmt.Sprint(d.generation.Number)})
	if err := RemoveLeftOvers(dir); err != nil {
		return nil, fmt.Errorf("crawl directory: %w", err)
	}
	if err := emptySpool(dir); err != nil {
		return nil, err
	}
	d.evidence.dry = o.DryRun
	err = d.evidence.open(ctx, dir, info, d.settings.Dedup, d.settings.lists, o.Say)
	d.Archive, d.Ledger = d.evidence.archive, d.evidence.ledger
	if err != nil {
		return nil, err
	}
	opened()
	return d, d.evidence.tellQuarantined(ctx, d.Frontier)
}

// configure loads the settings of the run and derives the warcinfo fields.
func (d *Dir) configure() (warc.Info, error) {
	if d.options.Settings != nil {
		d.settings = *d.options.Settings
		var err error
		if d.config, err = d.settings.TOML(); err != nil {
			return warc.Info{}, err
		}
		if b, err := durable.ReadFile(in(d.path, ConfigName)); err == nil && bytes.Equal(b, d.config) {
			d.config = nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return warc.Info{}, fmt.Errorf("read the settings of the crawl: %w", err)
		}
	} else {
		var err error
		if d.settings, err = ReadSettings(d.path); err != nil {
			return warc.Info{}, err
		}
	}
	if err := d.settings.OpenLists(d.path, d.say); err != nil {
		return warc.Info{}, err
	}
	return d.settings.archiveInfo(d.path, d.config, d.options.DryRun)
}

// guards makes the frontier of o record its closings, and sync archive and ledger, before each commit. Commits wait
// until the caller calls opened, once both are open or have failed to open.
func (d *Dir) guards(o *frontier.Options) (opened func()) {
	ready := make(chan struct{})
	whole := func(ctx context.Context) bool {
		select {
		case <-ready:
		case <-ctx.Done():
		}
		return ctx.Err() == nil && d.evidence.archive != nil && d.evidence.ledger != nil
	}
	o.Tell = func(ctx context.Context, closed frontier.Closings) error {
		if !whole(ctx) {
			return errors.New("archive and ledger are not open")
		}
		return record.Closed(d.evidence.archive, d.evidence.ledger)(ctx, closed)
	}
	o.Say = d.say
	o.Shared = func(s frontier.Share) bool {
		return d.begun.Load() && d.evidence.ledger.Fleet(context.Background(), ledger.Fleet(s)) == nil
	}
	o.Barrier = func(ctx context.Context) error {
		if !whole(ctx) {
			return nil
		}
		return record.Barrier(d.evidence.archive, d.evidence.ledger)(ctx)
	}
	return sync.OnceFunc(func() { close(ready) })
}

// Close makes everything durable. The frontier closes first, because its last commit syncs archive and ledger.
func (d *Dir) Close() error {
	if d.Frontier == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(in(d.path, SpoolName)), d.Frontier.Close(), d.evidence.close())
}

func (d *Dir) say(format string, args ...any) { plain(d.options.Say)(format, args...) }

// Inspect refuses a directory with a link, a pipe or the like, which a third party may have put there.
func Inspect(dir string) error {
	err := durable.Inspect(dir, ArchiveName, LedgerName, IndexName, SpoolName)
	if errors.Is(err, durable.ErrForeign) {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil // readers report other errors
}

// Require refuses a directory without a crawl: ErrNoCrawl, ErrNotDirectory, or an error of Inspect.
func Require(dir string) error {
	if err := Inspect(dir); err != nil {
		return err
	}
	_, err := os.Stat(in(dir, FrontierName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
			return NotDirectory(dir) // as Windows has it
		}
		return dirMisuse(dir, ErrNoCrawl, "%s holds no crawl: no %s in it", dir, FrontierName)
	case errors.Is(err, syscall.ENOTDIR):
		return NotDirectory(dir)
	case err != nil:
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// RequireWhole is Require, but also refuses a crawl with missing parts (ErrIncomplete), which a run would silently recreate.
func RequireWhole(dir string) error {
	if err := Require(dir); err != nil {
		return err
	}
	for _, part := range []struct{ name, anew string }{
		{ArchiveName, "make an empty folder of that name to continue without its content"},
		{LedgerName, "make an empty folder of that name to continue without its content"},
		{ConfigName, "make an empty file of that name to continue with the defaults"},
	} {
		path := in(dir, part.name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &DirError{dir, ErrIncomplete, fmt.Sprintf("%s is missing: put it back, or %s", path, part.anew)}
		} else if err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return nil
}

// RequireReachable refuses a crawl that served its own pages from a folder: its address is closed, so all would look broken.
func RequireReachable(dir string) error {
	b, err := durable.ReadFile(in(dir, ServedName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("crawl directory: %w", err)
	}
	folder := plainly.Argument(strings.TrimSuffix(string(b), "\n"))
	return fmt.Errorf("%[1]s contains a check of the folder %[2]s, which was served only during that check: check the folder again with "+
		"curtsy linkcheck %[2]s, or print the earlier result with curtsy linkcheck --offline %[3]s", dir, folder, plainly.Argument(dir))
}

// NotDirectory returns the error for a path that is not a directory.
func NotDirectory(dir string) error {
	if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
		return dirMisuse(dir, ErrNotDirectory, "%s is a file, not a crawl directory", dir)
	}
	return dirMisuse(dir, ErrNotDirectory, "%s is not a directory: a part of its path is a file", dir)
}

// leftOvers begin the names of snapshots and frontiers that a kill interrupted.
var leftOvers = []string{control.SnapshotPrefix, RebuiltName + ".new", FrontierName + ".new"}

// RemoveLeftOvers removes regular files with such names. The caller holds the frontier, so no process is writing one.
func RemoveLeftOvers(dir string) error {
	all, err := Entries(dir, "", "")
	errs := []error{err}
	for _, path := range all {
		is := func(prefix string) bool { return strings.HasPrefix(filepath.Base(path), prefix) }
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && slices.ContainsFunc(leftOvers, is) {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

func emptySpool(dir string) error {
	spool := in(dir, SpoolName)
	if err := os.RemoveAll(spool); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(spool, 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// Entries returns the paths in dir whose names start with prefix and contain part; none if dir is missing. Unlike
// filepath.Glob, it takes brackets, as in names of IPv6 hosts, literally.
func Entries(dir, prefix, part string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.Contains(e.Name(), part) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// A Misuse is an error in the request: an invalid setting, seed or directory.
type Misuse struct{ Err error }

func (m *Misuse) Error() string { return m.Err.Error() }

func (m *Misuse) Unwrap() error { return m.Err }

func misuse(format string, args ...any) error { return &Misuse{fmt.Errorf(format, args...)} }

// The kinds of a DirError.
var (
	ErrNoIndex      = errors.New("no index")     // no CDXJ file
	ErrNoCrawl      = errors.New("no crawl")     // no frontier
	ErrNotDirectory = errors.New("no directory") // a file, or below one
	ErrIncomplete   = errors.New("incomplete")   // an original part is missing
	ErrTaken        = errors.New("taken")        // another crawl is there
	ErrNotEmpty     = errors.New("not empty")    // something else is there
	ErrNotEnded     = errors.New("not ended")    // the crawl can continue, and cannot be updated
	ErrTouched      = errors.New("just touched") // another process used it meanwhile
)

// A DirError is a problem with a directory.
type DirError struct {
	Dir  string
	Kind error // one of those above
	text string
}

func (e *DirError) Error() string { return e.text }

func (e *DirError) Unwrap() error { return e.Kind }

func dirMisuse(dir string, kind error, format string, args ...any) error {
	return &Misuse{&DirError{dir, kind, fmt.Sprintf(format, args...)}}
}

// A Note is a sentence for people about a crawl directory or its run.
type Note struct {
	Kind NoteKind
	Text string
}

// NoteKind tells a program which advice to add.
type NoteKind int

// The kinds of notes.
const (
	Plain        NoteKind = iota // no advice
	IndexDamaged                 // part of an index is unreadable
	IndexWrong                   // an index points to a different record
	Quarantined                  // URLs were set aside that may have crashed the process
)

func plain(say func(Note)) func(format string, args ...any) {
	if say == nil {
		return func(string, ...any) {}
	}
	return func(format string, args ...any) { say(Note{Text: fmt.Sprintf(format, args...)}) }
}

// The names in a crawl directory.
const (
	ConfigName   = "crawl.toml"            // the effective settings
	ConfigBefore = ConfigName + ".before-" // begins the names of settings before, until a run has begun with others
	FrontierName = engine.FileName         // the URLs to crawl, and those crawled
	ArchiveName  = "warc"                  // the archive
	LedgerName   = "ledger"                // the decisions
	IndexName    = "index"                 // places in the archive by URL; rebuilt if it is missing
	SpoolName    = "spool"                 // bodies under way; emptied at each start
	ChangesName  = "changes.json"          // changes of the last generation
	ReportName   = "report"                // the report, as .html and .json
	ServedName   = "served-folder"         // the folder that the crawl itself served, if it did
	BadSeedsName = "bad-seeds.txt"         // lines of a seed list that were passed over

	NextName    = FrontierName + ".update"  // the frontier of the next generation while it is built
	RebuiltName = FrontierName + ".rebuilt" // one that is rebuilt, until it takes the place of the damaged one
)

func in(dir, name string) string { return filepath.Join(dir, name) }

// Place returns the crawl's own names, which no output file of a user may replace.
func Place() userfile.Place {
	return userfile.Place{
		Names: []string{
			ConfigName, FrontierName, NextName, ArchiveName, LedgerName, IndexName, SpoolName, OptOutName, BadSeedsName, ServedName, ChangesName,
			control.File, control.WatchFile, redact.JournalName, redact.PreparedName, mirror.Tree(""), ReportName + ".html", ReportName + ".json",
		},
		Is: func(dir string) bool {
			_, err := os.Lstat(in(dir, FrontierName))
			return err == nil || isFolder(in(dir, ArchiveName)) && isFolder(in(dir, LedgerName))
		},
	}
}

func isFolder(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// A Start is a prepared crawl.
type Start struct {
	Crawl *crawler.Crawl
	// Operated is the crawl for its operator, whose acts it records in the ledger.
	Operated control.Crawl

	Seeds int64 // number of seeds
	Named bool  // a seed is not on this machine
}

// A Result is the outcome of a run.
type Result struct {
	crawler.Summary
	Changes *Changes // of an update; otherwise nil
}

// Run runs a new, stopped or killed crawl until no URL is due soon, a budget is spent, or ctx ends.
func Run(ctx context.Context, dir string, o Options) (_ Result, err error) {
	d, err := Open(ctx, dir, o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Run(ctx)
}

// Run runs the crawl, unless it is finished. Call it once.
func (d *Dir) Run(ctx context.Context) (r Result, err error) {
	if err := d.tellKilled(ctx); err != nil {
		return r, err
	}
	more, err := d.settings.AsksForMore(ctx, d.Frontier)
	if err != nil {
		return r, err
	}
	var done bool
	if r.Summary, done, err = finished(ctx, d.Frontier); done && !more || err != nil {
		if done && !Done(in(d.path, ChangesName), d.generation.Number) {
			r.Changes, err = d.conclude(ctx, true)
		}
		return r, err
	}
	if d.config != nil {
		if err := replaceSettings(d.path, d.config); err != nil {
			return r, err
		}
	}
	start, release, err := d.prepare(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if r.Summary, err = d.attend(ctx, start); err != nil {
		return r, err
	}
	if !start.Crawl.Interrupted() { // after an interrupt, skip the comparison
		r.Changes, err = d.conclude(ctx, r.Status.Queued+r.Status.InFlight+r.Status.Deferred == 0)
	}
	return r, err
}

func (d *Dir) attend(ctx context.Context, s Start) (summary crawler.Summary, err error) {
	attend := d.options.Attend
	if attend == nil {
		attend = func(ctx context.Context, s Start) (crawler.Summary, error) { return s.Crawl.Run(ctx) }
	}
	if d.options.Unheard {
		return attend(ctx, s)
	}
	over, end := context.WithCancel(context.WithoutCancel(ctx))
	var beside errgroup.Group
	beside.Go(func() error { return control.Serve(over, d.path, s.Operated, d.Frontier) })
	summary, err = attend(ctx, s)
	end()
	return summary, errors.Join(err, beside.Wait())
}

// prepare makes the crawl. Call release after its end.
func (d *Dir) prepare(ctx context.Context) (start Start, release func() error, err error) {
	given, err := seedsGiven(ctx, d.Frontier)
	if err != nil {
		return start, nil, err
	}
	start.Seeds, start.Named = given.count, given.named
	fc, err := d.settings.FetchConfig(given.addresses, in(d.path, SpoolName))
	if err != nil {
		return start, nil, err
	}
	fc.Resolve, fc.Dial = d.options.Resolve, d.options.Dial
	f, err := fetch.New(fc)
	if err != nil {
		return start, nil, &Misuse{err}
	}
	opened := f.Close
	defer func() {
		if err != nil {
			err = errors.Join(err, opened())
		}
	}()
	cc, err := d.settings.CrawlerConfig(f, d.say)
	if err != nil {
		return start, nil, err
	}
	cc.Member, _ = d.Frontier.(frontier.Member)
	cc.Frontier, cc.Recorder, cc.Ledger = d.Frontier, d.Archive, beginning{d.Ledger, d.path, &d.begun}
	cc.DryRun, cc.DryMaps, cc.DryListed = d.options.DryRun, d.options.DryMaps, d.options.DryListed
	cc.Last = ledger.Last(in(d.path, LedgerName))
	cc.Asked = func() (storage.Asked, error) { return ledger.Asked(in(d.path, LedgerName), d.generation.Began) }
	if cc.Daily, err = Daily(d.path, &d.settings, time.Now()); err != nil {
		return start, nil, err
	}
	if d.options.Line != nil {
		cc.Ledger = tapped{cc.Ledger, d.options.Line}
	}
	if d.options.Dial == nil {
		locks, err := HostLocks(d.say)
		if err != nil {
			return start, nil, err
		}
		opened = func() error { return errors.Join(f.Close(), locks.Close()) }
		cc.HostLocks = locks
	}
	if d.generation.Number > 1 {
		if cc.Past, err = d.past(); err != nil {
			return start, nil, err
		}
	}
	if start.Crawl, err = crawler.New(ctx, cc); err != nil {
		return start, nil, &Misuse{err}
	}
	start.Operated = d.operated(start.Crawl)
	return start, opened, nil
}

// tapped passes each line to a function before the ledger.
type tapped struct {
	storage.Ledger
	line func(storage.Line)
}

func (h tapped) Append(ctx context.Context, l storage.Line) error {
	h.line(l)
	return h.Ledger.Append(ctx, l)
}

// HostLocks opens the locks that keep crawls of this user from requesting a host at once (politeness rule 17).
func HostLocks(say func(string, ...any)) (*hostlock.Locks, error) {
	path, err := hostlock.Path()
	var locks *hostlock.Locks
	if err == nil {
		locks, err = hostlock.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nYour crawls share this file, so that no two of them request a host at once: make the folder writable, or set HOME, XDG_CACHE_HOME (Linux) or LocalAppData (Windows) to one that is", err)
	}
	if why := locks.Missing(); why != "" {
		say("%s: do not run two crawls of the same hosts at once", why)
	}
	return locks, nil
}

// finished reports whether a crawl has finished, with its summary.
func finished(ctx context.Context, f frontier.Reader) (crawler.Summary, bool, error) {
	status, err := status.Of(ctx, f)
	if err != nil || status.State != "finished" {
		return crawler.Summary{}, false, err
	}
	stats, err := f.Stats(ctx)
	unanswered := stats.Counts[budget.SeedsUnanswered]
	return crawler.Summary{
		EndedBy: crawler.EndedDrained, Status: status, SeedsUnanswered: unanswered, Incomplete: unanswered > 0,
	}, true, err
}

// tellKilled reports URLs that may have killed the process.
func (d *Dir) tellKilled(ctx context.Context) error {
	st, err := d.Frontier.Stats(ctx)
	if err != nil || d.options.Say == nil {
		return err
	}
	if st.Suspects > 0 {
		d.say("%s in flight when the process died: each is tried again after the others, one at a time", plainly.Count(st.Suspects, "URL"))
	}
	if n := st.Reasons[frontier.Failed][frontier.ReasonQuarantined]; n > 0 {
		d.options.Say(Note{Quarantined, fmt.Sprintf("%s set aside: the process died %d times while nothing else was in flight",
			plainly.Count(n, "URL"), frontier.QuarantineStops)})
	}
	return nil
}

// givenSeeds is the part of its seeds that a run has to remember; it is small however many there are.
type givenSeeds struct {
	count     int64
	named     bool            // one is not on loopback
	addresses []frontier.Seed // exceptions of FetchConfig, one for each authority
}

// seedsGiven reads the seeds of a crawl, except for those that are redirect targets of seeds.
func seedsGiven(ctx context.Context, f frontier.Reader) (g givenSeeds, err error) {
	met := map[canon.Authority]bool{} // small: few seeds are addresses
	for s, err := range f.AllSeeds(ctx) {
		if err != nil {
			return givenSeeds{}, err
		}
		if s.From != "" {
			continue
		}
		g.count++
		a := s.URL.Authority()
		g.named = g.named || !a.Loopback()
		if _, literal := a.Addr(); met[a] || !literal && a.Host() != "localhost" {
			continue
		}
		met[a] = true
		g.addresses = append(g.addresses, s)
	}
	return g, nil
}

// Results of Unfetched that are not rules.
const (
	StillQueued = "still queued"
	NotFollowed = "reference not followed" // as of cite or longdesc, or of a page with too many links
)

// Unfetched returns a function that reports why the crawl did not request a URL that its pages name and its ledger lacks: a
// budget ("budget: max-urls"), a rule of the scope, why its host is closed, StillQueued, NotFollowed, or "" if it is done.
// embed means that pages need the URL to be complete.
func Unfetched(ctx context.Context, s *Settings, f frontier.Reader) (func(u canon.URL, embed bool) (string, error), error) {
	config, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	rules, err := scope.New(config, nil)
	if err != nil {
		return nil, err
	}
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		rules.Extend(seed.URL)
	}
	stats, err := f.Stats(ctx)
	if err != nil {
		return nil, err
	}
	over, queued := "", StillQueued
	for _, reason := range budget.Caps {
		if stats.Capped[reason[0]] > 0 {
			over = storage.RuleOfBudget + reason[1]
			break
		}
	}
	switch {
	case s.MaxPages > 0 && stats.Counts[budget.Pages] >= s.MaxPages:
		queued = storage.RuleOfBudget + budget.MaxPages
	case s.MaxBytes > 0 && stats.Counts[budget.Bytes] >= s.MaxBytes:
		queued = storage.RuleOfBudget + budget.MaxBytes
	}
	return func(u canon.URL, embed bool) (string, error) {
		seen, err := f.Seen(ctx, []canon.URL{u})
		if err != nil {
			return "", err
		}
		if seen[0] {
			h, _, err := f.Host(ctx, u.Authority())
			switch {
			case err != nil || h.Pending() == 0: // done, and the caller lacks its line
				return "", err
			case h.Condition == frontier.Open:
				return queued, nil
			}
			return cmp.Or(h.Reason, queued), nil
		}
		c := scope.Candidate{URL: u, Embed: embed, Depth: 1}
		if embed {
			c.Depth, c.Embeds = 0, 1
			if !rules.Covers(u) {
				c.Away = 1
			}
		}
		if v := rules.Judge(c); !v.In {
			return v.Rule, nil
		}
		return cmp.Or(over, NotFollowed), nil
	}, nil
}
