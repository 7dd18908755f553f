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
	"curtsy/crawler/scope"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

// changing changes the settings of a crawl whose directory is held: for good, in the file of settings, with a mark in
// the ledger that binds them, and at once in a crawl that runs.
type changing struct {
	dir      string
	frontier frontier.Frontier
	running  *crawler.Crawl                                       // nil for none
	tell     func(ctx context.Context, act ledger.Operator) error // to the ledger

	mu  sync.Mutex
	now Settings // in force
}

// maxPattern bounds a pattern of the scope, in octets.
const maxPattern = 1000

// change obeys an order, or says what would come of it.
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
		act.Hosts = hostrule.Rule{Match: cmp.Or(o.Host, everyHost)}.Name() // an audit knows hosts as URLs have them
		act.Delay = next.delayOf(act.Hosts)
	}
	// The mark stands before the first line that was written by it. A kill in between leaves the settings before, which the
	// mark of the last run binds.
	if err := c.tell(ctx, act); err != nil {
		return done, err
	}
	if c.running != nil {
		err = c.running.Change(ctx, is)
	} else {
		err = crawler.Reopen(ctx, c.frontier, was, is)
	}
	return done, errors.Join(err, removeBefore(c.dir))
}

// about says in a mark what a setting was, and is.
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

// obey changes a setting, and says what it was and is.
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

// listed are the elements of a list, in one line.
func listed(all []string) string { return cmp.Or(strings.Join(all, ", "), hostrule.NoWindow) }

// pattern adds a pattern to a list, or takes it away.
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

// everyHost is the match of all hosts. A pause that is raised while a run goes on is that of a [[host]]: the archive says at
// the beginning of a run what --delay it has.
const everyHost = "*"

// lengthen raises the pause of all hosts, or of some.
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

// delayOf is the least pause of the hosts that a match is for, as settings have it.
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

// terms are those in force and the next ones. It refuses what a running crawl would refuse, before anything is kept.
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

// terms are what a crawl that runs is told.
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

// concern counts the queued URLs that a change is about.
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
		// Of a wider scope, those are meant that would have been closed at their turn.
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

// scope is that of the crawl with settings.
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

// count goes through a snapshot of what is queued. An engine without snapshots leaves the count unknown.
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

// reload looks at the opt-out lists. What they have is closed when its turn comes.
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
	return done, c.tell(ctx, ledger.Operator{
		Act: o.Setting, About: "read again: " + done.After, URLs: done.URLs, Note: control.NoteOf(ctx),
	})
}
