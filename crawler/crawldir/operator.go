package crawldir

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/control"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/redact"
)

// The ledger has a mark for each act of an operator, wherever the order came from. The act comes before its mark, unless it
// ends something: a kill in between loses the last mark, and never leaves a mark without its act.

// noting records an act of an operator in a ledger.
type noting func(ctx context.Context, act ledger.Operator) error

// operated is a running crawl for its operator. It implements control.Crawl.
type operated struct {
	*crawler.Crawl
	*changing
}

func (d *Dir) operated(c *crawler.Crawl) control.Crawl {
	note := func(ctx context.Context, act ledger.Operator) error {
		err := d.Ledger.Operator(context.WithoutCancel(ctx), act) // it was done
		if err == nil && d.options.Operator != nil {
			d.options.Operator(act)
		}
		return err
	}
	return &operated{c, &changing{dir: d.path, frontier: d.Frontier, running: c, note: note, now: d.settings}}
}

func (o *operated) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	return steer(ctx, o.Crawl, o.frontier, s, o.note)
}

func (o *operated) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	return retry(ctx, o.Crawl, r, o.note)
}

func (o *operated) Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error) {
	added, err := o.Crawl.Add(ctx, seeds)
	if err != nil {
		return added, err
	}
	return added, o.note(ctx, ofSeeds(ctx, seeds, added))
}

func (o *operated) Pause(ctx context.Context, on bool) error {
	if s, err := o.Status(ctx); err == nil && (s.State == "paused") == on {
		return nil
	}
	o.Crawl.Pause(on)
	act := ledger.ActGoOn
	if on {
		act = ledger.ActPause
	}
	return o.note(ctx, ledger.Operator{Act: act, Note: control.NoteOf(ctx)})
}

// Drain writes its mark first, because the run then ends and closes the ledger.
func (o *operated) Drain(ctx context.Context) error {
	err := o.note(ctx, ledger.Operator{Act: ledger.ActDrain, Note: control.NoteOf(ctx)})
	o.Crawl.Drain()
	return err
}

func (o *operated) Change(ctx context.Context, order control.Change) (control.Changed, error) {
	return o.changing.change(ctx, order)
}

// steer executes a command about a host, and records it if it had an effect.
func steer(ctx context.Context, f interface {
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
}, hosts frontier.Reader, s frontier.Steering, note noting) (frontier.Steered, error) {
	done, err := f.Steer(ctx, s)
	if err != nil || !done.Changed && done.URLs == 0 {
		return done, err
	}
	act := ledger.Operator{About: s.Authority.Origin(), URLs: done.URLs, Note: s.Reason}
	if h, ok, err := hosts.Host(ctx, s.Authority); err == nil && ok && s.Act != frontier.Drop {
		act.URLs = h.Queued + h.Deferred
	}
	if act.Note == "" {
		act.Note = control.NoteOf(ctx)
	}
	switch s.Act {
	case frontier.Park:
		if act.Act = ledger.ActPark; s.For > 0 {
			act.About += ", for " + s.For.Round(time.Second).String()
		}
	case frontier.Drop:
		if act.Act = ledger.ActDrop; len(s.URLs) > 0 {
			act.About += ", of it some URLs"
		}
	case frontier.Resume:
		act.Act = ledger.ActRelease
	default:
		return done, nil
	}
	return done, note(ctx, act)
}

// retry reopens closed URLs, and records it if it had an effect.
func retry(ctx context.Context, f interface {
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
}, r frontier.Retrial, note noting) (frontier.Retried, error) {
	done, err := f.Retry(ctx, r)
	if err != nil || done.URLs == 0 && done.Hosts == 0 {
		return done, err
	}
	act := ledger.Operator{Act: ledger.ActRetry, URLs: done.URLs, Note: control.NoteOf(ctx)}
	switch r.Outcome {
	case 0:
		act.About = "closed hosts"
	case frontier.Held:
		act.Act, act.About = ledger.ActRelease, "what was held"
	default:
		act.About = r.Outcome.String()
	}
	if !r.Authority.IsZero() {
		act.About += " of " + r.Authority.Origin()
	}
	if r.Reason != "" {
		act.About += ": " + r.Reason
	}
	return done, note(ctx, act)
}

// ofSeeds describes seeds by their hosts: their own lines have the paths.
func ofSeeds(ctx context.Context, seeds []frontier.Candidate, added frontier.Added) ledger.Operator {
	act := ledger.Operator{Act: ledger.ActSeeds, URLs: int64(added.New), Note: control.NoteOf(ctx)}
	var last canon.Authority
	for i, s := range seeds {
		a := s.URL.Authority()
		if a == last {
			continue
		}
		last = a
		if len(act.About) > ledger.MaxAbout/2 {
			act.About += fmt.Sprintf(" and those of %d further seeds", len(seeds)-i)
			break
		}
		if act.About != "" {
			act.About += " "
		}
		act.About += a.Origin()
	}
	return act
}

// changing changes the settings of a crawl whose directory the caller holds: permanently in the settings file, with a mark
// in the ledger that binds them, and at once in a running crawl.
type changing struct {
	dir      string
	frontier frontier.Frontier
	running  *crawler.Crawl // nil if stopped
	note     noting

	mu  sync.Mutex
	now Settings // in force
}

const maxPattern = 1000 // bytes

func (c *changing) change(ctx context.Context, o control.Change) (done control.Changed, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Setting == control.SetOptOuts {
		return c.reload(ctx, o)
	}
	if engine.Locator(c.dir) != "" {
		return done, control.Bad(RefusedInFleet("curtsy config set"))
	}
	next := c.now
	next.OptOut = slices.Clone(c.now.OptOut) // Check makes paths absolute
	if done.Before, done.After, err = next.obey(o); err != nil {
		return done, control.Bad(err)
	}
	if err := next.Check(nil); err != nil {
		return done, control.Bad(err)
	}
	was, is, err := c.terms(&next)
	if err != nil {
		return done, control.Bad(err)
	}
	if err := c.concern(ctx, o, &next, &done); err != nil || o.Try {
		return done, err
	}
	config, err := next.TOML()
	if err != nil {
		return done, err
	}
	if err := replaceSettings(c.dir, config); err != nil {
		return done, err
	}
	c.now = next
	sum := sha256.Sum256(config)
	act := ledger.Operator{
		Act: o.Setting, About: about(o, done), URLs: done.URLs, Note: control.NoteOf(ctx), Settings: hex.EncodeToString(sum[:]),
	}
	if o.Setting == control.SetDelay {
		act.Hosts = hostrule.Rule{Match: cmp.Or(o.Host, everyHost)}.Name() // an audit matches hosts as URLs write them
		act.Delay = next.delayOf(act.Hosts)
	}
	// The mark precedes the first line under the new settings. A kill before it leaves the old settings in force.
	if err := c.note(ctx, act); err != nil {
		return done, err
	}
	if c.running != nil {
		err = c.running.Change(ctx, is)
	} else {
		err = crawler.Reopen(ctx, c.frontier, was, is)
	}
	return done, errors.Join(err, removeNamed(c.dir, ConfigBefore))
}

func about(o control.Change, done control.Changed) string {
	switch {
	case done.Before == "":
		return "added " + done.After
	case done.After == "":
		return "removed " + done.Before
	case o.Setting == control.SetDelay && o.Host == "":
		return fmt.Sprintf("all hosts: %s, was %s", done.After, done.Before)
	case o.Host != "":
		return fmt.Sprintf("%s: %s, was %s", o.Host, done.After, done.Before)
	}
	return fmt.Sprintf("%s, was %s", done.After, done.Before)
}

func (s *Settings) obey(o control.Change) (before, after string, err error) {
	switch o.Setting {
	case control.SetMaxPages, control.SetMaxPerHost, control.SetMaxPerDomain, control.SetMaxPerTag, control.SetMaxBytes, control.SetMaxTime:
		f := s.flags().Lookup(o.Setting)
		before = f.DefValue
		if err := f.Value.Set(strings.TrimSpace(o.Value)); err != nil {
			return "", "", misuse("%s: %w", o.Setting, err)
		}
		after = f.Value.String()
	case control.SetStopWhen, control.SetWindow:
		list := &s.StopWhen
		if o.Setting == control.SetWindow {
			list = &s.Window
		}
		before = listed(*list)
		*list = nil
		for line := range strings.Lines(o.Value) {
			if line = strings.TrimSpace(line); line != "" {
				*list = append(*list, line)
			}
		}
		after = listed(*list)
	case control.SetInclude:
		return pattern(o, &s.Include)
	case control.SetExclude:
		return pattern(o, &s.Exclude)
	case control.SetDelay:
		return s.lengthen(o)
	default:
		return "", "", misuse("%q cannot be changed while the crawl runs; %s can", o.Setting, strings.Join(append(control.Budgets(), control.SetInclude, control.SetExclude, control.SetDelay), ", "))
	}
	if before == after {
		return "", "", misuse("%s is %s already", o.Setting, after)
	}
	return before, after, nil
}

func listed(all []string) string { return cmp.Or(strings.Join(all, ", "), hostrule.NoWindow) }

func pattern(o control.Change, list *[]string) (before, after string, err error) {
	at := slices.Index(*list, o.Value)
	switch _, bad := regexp.Compile(o.Value); {
	case o.Value == "":
		return "", "", misuse("%s: the pattern is missing", o.Setting)
	case len(o.Value) > maxPattern:
		return "", "", misuse("%s: a pattern has at most %d bytes", o.Setting, maxPattern)
	case o.Remove && at < 0:
		return "", "", misuse("%s: no pattern %q", o.Setting, o.Value)
	case o.Remove:
		*list = slices.Delete(slices.Clone(*list), at, at+1)
		return o.Value, "", nil
	case bad != nil:
		return "", "", misuse("%s: %w; patterns are as RE2 has them", o.Setting, bad)
	case at >= 0:
		return "", "", misuse("%s: the pattern %q is there already", o.Setting, o.Value)
	}
	*list = append(slices.Clone(*list), o.Value)
	return "", o.Value, nil
}

// everyHost matches all hosts. A delay raised during a run becomes such a rule: the archive states --delay at the start.
const everyHost = "*"

func (s *Settings) lengthen(o control.Change) (before, after string, err error) {
	var d Duration
	if err := d.Set(strings.TrimSpace(o.Value)); err != nil {
		return "", "", misuse("%s: %w", o.Setting, err)
	}
	write := func(d time.Duration) string { v := Duration(d); return v.String() }
	if o.Host == "" {
		o.Host = everyHost
	}
	was := s.delayOf(o.Host)
	switch next := time.Duration(d); {
	case next < was:
		return "", "", misuse("%s: %s is less than %s: %w", o.Setting, write(next), write(was), crawler.ErrLessPolite)
	case next == was:
		return "", "", misuse("%s is %s already", o.Setting, write(was))
	default:
		s.Hosts = slices.Clone(s.Hosts)
		name := hostrule.Rule{Match: o.Host}.Name()
		i := slices.IndexFunc(s.Hosts, func(r hostrule.Rule) bool { return r.Name() == name })
		if i < 0 {
			i, s.Hosts = len(s.Hosts), append(s.Hosts, hostrule.Rule{Match: o.Host})
		}
		s.Hosts[i].Delay = next
	}
	return write(was), write(time.Duration(d)), nil
}

// delayOf returns the shortest delay of the hosts that a match selects.
func (s *Settings) delayOf(match string) time.Duration {
	d := max(s.Delay, crawler.Floor)
	match = hostrule.Rule{Match: match}.Name()
	if a, err := canon.ParseAuthority("http://" + match); err == nil {
		return max(d, s.Hosts.Of(a).Delay)
	}
	for _, r := range s.Hosts {
		if r.Name() == match {
			d = max(d, r.Delay)
		}
	}
	return d
}

// terms returns the current and the next terms. It refuses changes that a running crawl would, before storing any.
func (c *changing) terms(next *Settings) (was, is crawler.Terms, err error) {
	if was, err = c.now.terms(); err == nil {
		is, err = next.terms()
	}
	if err == nil && c.running != nil {
		err = c.running.Check(is)
	}
	if _, ok := is.Window.Opens(time.Now()); err == nil && !ok {
		err = misuse("window %s does not open within two weeks", is.Window)
	}
	return was, is, err
}

func (s *Settings) terms() (crawler.Terms, error) {
	conditions, err := s.stopWhen()
	if err != nil {
		return crawler.Terms{}, err
	}
	spans, err := hostrule.ParseSpans(s.Window)
	return crawler.Terms{
		MaxPages: s.MaxPages, MaxPerHost: s.MaxPerHost, MaxPerDomain: s.MaxPerDomain, MaxPerTag: s.MaxPerTag, MaxBytes: s.MaxBytes, MaxTime: s.MaxTime,
		StopWhen: conditions, Window: spans, Hosts: s.Hosts, Include: s.Include, Exclude: s.Exclude,
	}, err
}

func (c *changing) concern(ctx context.Context, o control.Change, next *Settings, done *control.Changed) error {
	switch o.Setting {
	case control.SetInclude, control.SetExclude:
		was, err := c.scope(ctx, &c.now)
		if err != nil {
			return err
		}
		is, err := c.scope(ctx, next)
		if err != nil {
			return control.Bad(err)
		}
		// With a wider scope, these are URLs that the old scope would have closed at their turn.
		return c.count(ctx, done, func(u frontier.Candidate) bool {
			asked := crawler.InScope(u)
			return was.Judge(asked).In != is.Judge(asked).In
		})
	case control.SetDelay:
		rule := hostrule.Rule{Match: cmp.Or(o.Host, everyHost)}
		done.Known = true
		return status.EachHost(ctx, c.frontier, 0, func(h frontier.Host) bool {
			n := h.Queued + h.Deferred
			done.Pending += n
			if rule.Matches(h.Authority.Host()) {
				done.URLs += n
			}
			return true
		})
	}
	return nil
}

func (c *changing) scope(ctx context.Context, s *Settings) (*scope.Scope, error) {
	sc, err := s.ScopeConfig()
	if err != nil {
		return nil, err
	}
	maps, err := s.SitemapConfig()
	if err != nil {
		return nil, err
	}
	sc.Sitemaps = maps.Robots || len(maps.URLs) > 0
	of, err := scope.New(sc, nil)
	if err != nil {
		return nil, err
	}
	for seed, err := range c.frontier.AllSeeds(ctx) {
		if err != nil {
			return nil, err
		}
		of.Extend(seed.URL)
	}
	return of, nil
}

// count examines a snapshot of the queue. Without snapshots the count remains unknown.
func (c *changing) count(ctx context.Context, done *control.Changed, concerned func(frontier.Candidate) bool) (err error) {
	path := in(c.dir, control.NewSnapshot())
	switch err := c.frontier.Snapshot(ctx, path); {
	case errors.Is(err, frontier.ErrNoSnapshot):
		return nil
	case err != nil:
		return errors.Join(err, removed(path))
	}
	defer func() { err = errors.Join(err, removed(path)) }()
	f, err := engine.OpenReadOnly(path)
	if err != nil {
		return err
	}
	done.Known = true
	return errors.Join(f.List(ctx, func(i frontier.Item) error {
		if i.URL == nil || i.URL.Outcome != 0 {
			return nil
		}
		if done.Pending++; concerned(i.URL.Candidate) {
			if done.URLs++; len(done.Examples) < control.MostExamples {
				done.Examples = append(done.Examples, i.URL.URL.String())
			}
		}
		return nil
	}), f.Close())
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// reload rereads the opt-out lists. The crawl closes newly listed URLs when their turn comes.
func (c *changing) reload(ctx context.Context, o control.Change) (done control.Changed, err error) {
	lists := c.now.lists
	if lists == nil || c.running == nil {
		return done, control.Bad(misuse("a crawl that does not run reads its opt-out lists when it is resumed"))
	}
	if o.Try {
		return done, control.Bad(misuse("opt-out lists cannot be tried: a list that was changed is in force within a second by itself"))
	}
	before, entries := digestOf(lists.Lists())
	done.Before = fmt.Sprintf("%d entries, %.8s", entries, before)
	after, entries := digestOf(lists.Reload())
	done.After, done.Trouble = fmt.Sprintf("%d entries, %.8s", entries, after), lists.Troubles()
	if err := c.count(ctx, &done, func(u frontier.Candidate) bool { return lists.URL(u.URL) != nil }); err != nil {
		return done, err
	}
	return done, c.note(ctx, ledger.Operator{
		Act: o.Setting, About: "read again: " + done.After, URLs: done.URLs, Note: control.NoteOf(ctx),
	})
}

// Stopped is a stopped crawl that an operator changes. Everything that it closes gets a ledger line.
type Stopped struct {
	frontier.Frontier
	dir      string
	settings *Settings
}

// OpenStopped opens a stopped crawl with the settings s, or those in its directory if nil. URLs that opening closes have
// their lines when it returns. Errors are frontier.ErrInUse, ErrNewer, ErrOlder and ErrDamaged.
func OpenStopped(ctx context.Context, dir string, s *Settings) (f Stopped, err error) {
	if s, err = settingsIn(dir, s); err != nil {
		return f, err
	}
	f.dir, f.settings = dir, s
	o, told := s.FrontierOptions(), f
	o.Operator = true
	o.Tell = func(ctx context.Context, closed frontier.Closings) error {
		return told.tell(ctx, nil, func(e *evidence) error { return record.Closed(e.archive, e.ledger)(ctx, closed) })
	}
	if f.Frontier, err = engine.Open(dir, o); err != nil {
		return f, err
	}
	// Only one user at a time opens the archive: the frontier's commit, or a caller of tell.
	if err = requireKept(dir); err == nil {
		err = errors.Join(RemoveLeftOvers(dir), f.Sync(ctx))
	}
	if err == nil {
		err = f.tellQuarantined(ctx)
	}
	if err != nil {
		return f, errors.Join(err, f.Close())
	}
	return f, nil
}

func settingsIn(dir string, s *Settings) (*Settings, error) {
	if s != nil {
		return s, nil
	}
	read, err := ReadSettings(dir)
	return &read, err
}

// Steer executes a command about a host. A drop records its closings, and fails without a ledger.
func (f Stopped) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if s.Act == frontier.Drop {
		if err := RequireWhole(f.dir); err != nil { // before any change
			return frontier.Steered{}, err
		}
	}
	return steer(ctx, f.Frontier, f.Frontier, s, f.note)
}

// Retry reopens closed URLs.
func (f Stopped) Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
	return retry(ctx, f.Frontier, r, f.note)
}

// Change changes a setting for later runs.
func (f Stopped) Change(ctx context.Context, o control.Change) (control.Changed, error) {
	c := &changing{dir: f.dir, frontier: f.Frontier, note: f.note, now: *f.settings}
	done, err := c.change(ctx, o)
	*f.settings = c.now // for the next change
	return done, err
}

// note records an act of an operator. A crawl without a run has no ledger, and no requests to account for.
func (f Stopped) note(ctx context.Context, act ledger.Operator) (err error) {
	if !isFolder(in(f.dir, LedgerName)) {
		return nil
	}
	if f.MayMark() != nil { // another key signs a run of its user, as for the closings of a drop
		return f.tell(ctx, nil, func(e *evidence) error { return errors.Join(e.ledger.Begin(ctx), e.ledger.Operator(ctx, act)) })
	}
	if err := f.Mend(ctx, nil); err != nil {
		return err
	}
	w, err := f.Ledger(nil)
	if err != nil {
		return fmt.Errorf("it was done, and the ledger does not say so: %w", err)
	}
	return errors.Join(w.Operator(ctx, act), w.Close())
}

// KeepRests copies back-offs that are only in the ledger after a kill into the frontier, since the next run would read
// them from the ledger. It is for callers that remove ledger lines. It skips unknown hosts in gone, named as by
// hostmap.Host: no trace may remain of them, so the frontier must not learn their names.
func (f Stopped) KeepRests(ctx context.Context, gone []string) error {
	stats, err := f.Stats(ctx)
	if err != nil || !stats.Unclean {
		return err
	}
	rests, _, err := record.ReadRests(ledger.Last(in(f.dir, LedgerName)))
	if err != nil {
		return err
	}
	clock := record.Start()
	for a := range rests {
		h, known, err := f.Host(ctx, a)
		if err != nil {
			return err
		}
		memory, err := host.Read(h.Memory)
		if err != nil {
			return fmt.Errorf("crawl directory: %s: %w", a, err)
		}
		left, ok := rests.Left(a, &memory, clock)
		if !ok || !known && slices.Contains(gone, hostmap.Host(a.String())) {
			continue
		}
		if _, err := f.Steer(ctx, frontier.Steering{Act: frontier.Rest, Authority: a, For: left.Wait}); err != nil {
			return err
		}
	}
	return nil
}

// Add adds seeds, and records those on hosts that an operator dropped.
func (f Stopped) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	added, err := f.Frontier.Add(ctx, cs)
	if err == nil {
		err = f.note(ctx, ofSeeds(ctx, cs, added))
	}
	if len(added.Barred) == 0 {
		return added, err
	}
	return added, errors.Join(err, f.tell(ctx, nil, func(e *evidence) error {
		return record.Barred(ctx, e.archive, e.ledger, cs, added)
	}))
}

// Find returns the authorities that a host name may mean.
func (f Stopped) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return control.Find(ctx, f.Frontier, host)
}

// tell opens the evidence to write lines, and repairs torn ends as a run does.
func (f Stopped) tell(ctx context.Context, say func(Note), do func(e *evidence) error) (err error) {
	info, err := f.settings.archiveInfo(f.dir, nil, false)
	if err != nil {
		return err
	}
	var e evidence
	defer func() { err = errors.Join(err, e.close()) }()
	if err := e.open(ctx, f.dir, info, nil, f.settings.lists, say); err != nil {
		return err
	}
	return do(&e)
}

func (f Stopped) tellQuarantined(ctx context.Context) error {
	if all, err := f.Quarantined(ctx); err != nil || len(all) == 0 {
		return err
	}
	return f.tell(ctx, nil, func(e *evidence) error { return e.tellQuarantined(ctx, f.Frontier) })
}

// Mend repairs archive, index and ledger after a kill, as a run does, and passes notes on torn ends to say.
func (f Stopped) Mend(ctx context.Context, say func(Note)) error {
	open, err := Entries(in(f.dir, ArchiveName), "", ".warc.gz.open")
	if err != nil || len(open) == 0 {
		return err
	}
	return f.tell(ctx, say, func(*evidence) error { return nil })
}

// ErrOtherKey means that another key than the user's signed the ledger.
var ErrOtherKey = errors.New("the ledger is signed with another key than yours")

// Ledger opens only the ledger, for marks about the archive's content. The caller closes it. A ledger that another key signed
// is ErrOtherKey: users of that key would not trust the marks.
func (f Stopped) Ledger(say func(Note)) (*ledger.Writer, error) {
	if err := f.MayMark(); err != nil {
		return nil, err
	}
	info, err := f.settings.archiveInfo(f.dir, nil, false)
	if err != nil {
		return nil, err
	}
	return openLedger(f.dir, ledger.Options{SettingsSHA256: info.Fields.Get(configDigest)}, false, say)
}

// MayMark refuses a ledger that another key signed, before anything is changed.
func (f Stopped) MayMark() error {
	latest, err := ledger.Latest(in(f.dir, LedgerName))
	if err != nil || len(latest.Signatures) == 0 {
		return nil // opening it reports the damage
	}
	signer, rotations, err := LedgerSigner(true)
	if err != nil {
		return fmt.Errorf("%w, which is unavailable: %w", ErrOtherKey, err)
	}
	if latest.SignedBy(signer.Key()) || slices.ContainsFunc(rotations, func(r Rotation) bool { return latest.SignedBy(r.Old) }) {
		return nil
	}
	return fmt.Errorf("%w (%s): do this as the user who crawls, or with a copy of that user's ledger.key in your configuration folder",
		ErrOtherKey, signer.Name())
}

// mayGoOn refuses a directory with an unfinished takedown.
func mayGoOn(dir string) error {
	if redact.Pending(dir) {
		return fmt.Errorf("crawl directory: %w: curtsy audit or curtsy resume finish it", redact.ErrUnfinished)
	}
	return nil
}
