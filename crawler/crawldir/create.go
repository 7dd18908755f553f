package crawldir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
)

// Seeds returns the next batch of seeds, at least one, and io.EOF after the last.
type Seeds func() ([]frontier.Candidate, error)

// SeedURLs returns seeds from URLs.
func SeedURLs(urls ...string) (Seeds, error) {
	var all []frontier.Candidate
	for _, u := range urls {
		c, err := Seed(u, "")
		if err != nil {
			return nil, &Misuse{err}
		}
		all = append(all, c)
	}
	return Given(all), nil
}

// Given returns seeds that are already in memory.
func Given(all []frontier.Candidate) Seeds {
	return func() ([]frontier.Candidate, error) {
		batch := all
		if all = nil; len(batch) == 0 {
			return nil, io.EOF
		}
		return batch, nil
	}
}

// Create makes a crawl directory with its settings and seeds durably and in one step: it writes under another name and
// renames. An existing empty directory is filled, never replaced: it may be a mount point, a link, or the working directory.
// Any other is refused: ErrTaken, ErrNotEmpty. Settings and seeds that cannot work are a Misuse.
func Create(ctx context.Context, dir string, s *Settings, seeds Seeds) error {
	first, err := seeds()
	if err != nil {
		return err
	}
	if err := s.Check(first); err != nil {
		return err
	}
	return CreateUnchecked(ctx, dir, s, func() (batch []frontier.Candidate, err error) {
		if batch, first = first, nil; batch != nil {
			return batch, nil
		}
		if batch, err = seeds(); err == nil {
			err = s.Check(batch)
		}
		return batch, err
	})
}

// CreateUnchecked is Create without checking settings and seeds, for networks of tests and simulations (Options.Dial).
func CreateUnchecked(ctx context.Context, dir string, s *Settings, seeds Seeds) error {
	config, err := s.TOML()
	if err != nil {
		return err
	}
	return lay(ctx, dir, func(tmp string) error {
		if s.Served != "" {
			if err := durable.WriteFile(in(tmp, ServedName), []byte(s.Served+"\n"), 0o666); err != nil {
				return fmt.Errorf("crawl directory: %w", err)
			}
		}
		return fill(ctx, tmp, s.Fleet.Locator, config, seeds)
	})
}

func lay(ctx context.Context, dir string, fill func(tmp string) error) (err error) {
	exists, err := mustBeFree(dir)
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	tmp := dir + ".new-" + strings.ToLower(rand.Text()[:8])
	if exists {
		tmp = filepath.Join(dir, ".new")
	} else if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return taken(dir, err)
	}
	defer os.RemoveAll(tmp)
	if entries, err := os.ReadDir(dir); exists && (err != nil || len(entries) != 1) {
		return taken(dir, err) // another process used it since mustBeFree
	}
	if err := fill(tmp); err != nil {
		return err
	}
	for _, sub := range []string{ArchiveName, LedgerName, IndexName} {
		if err := os.Mkdir(in(tmp, sub), 0o777); err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	if err := durable.Names(tmp); err != nil {
		return err
	}
	if exists {
		return moveInto(dir, tmp)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return taken(dir, err)
	}
	return durable.Names(filepath.Dir(dir))
}

func writeSettings(dir string, config []byte) error {
	if err := durable.WriteFile(in(dir, ConfigName), config, 0o666); err != nil {
		return fmt.Errorf("crawl directory: %w", err)
	}
	return nil
}

// fill writes the settings and the frontier, which is at locator, or in dir if that is empty.
func fill(ctx context.Context, dir, locator string, config []byte, seeds Seeds) error {
	if err := writeSettings(dir, config); err != nil {
		return err
	}
	enter := func(f frontier.Frontier) (err error) {
		for err == nil {
			var batch []frontier.Candidate
			if batch, err = seeds(); err == nil {
				_, err = f.Add(ctx, batch)
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	if locator != "" {
		return engine.Create(ctx, locator, dir, config, enter)
	}
	f, err := engine.Open(dir, frontier.Options{})
	if err != nil {
		return err
	}
	return errors.Join(enter(f), f.Close())
}

// moveInto moves a new crawl into its directory. The frontier comes last, because it makes the directory a crawl.
func moveInto(dir, tmp string) (err error) {
	names := []string{ConfigName, ArchiveName, LedgerName, IndexName, FrontierName}
	defer func() {
		for _, name := range names {
			if err != nil {
				os.RemoveAll(in(dir, name))
			}
		}
	}()
	for _, name := range names {
		if name == FrontierName {
			if err := durable.Names(dir); err != nil {
				return err
			}
		}
		if err := os.Rename(in(tmp, name), in(dir, name)); err != nil {
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return durable.Names(dir)
}

// taken explains why a directory is unavailable: another crawl may have taken it meanwhile.
func taken(dir string, err error) error {
	if _, used := mustBeFree(dir); used != nil {
		return used
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl directory: %w", &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist})
	}
	return fmt.Errorf("crawl directory %s: %w", dir, err)
}

// mustBeFree refuses a directory in use, and reports whether an empty one exists.
func mustBeFree(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR):
		return false, NotDirectory(dir)
	case err != nil:
		return false, misuse("crawl directory: %w", err)
	case len(entries) == 0:
		return true, nil
	}
	if _, err := os.Stat(in(dir, FrontierName)); err == nil {
		return true, dirMisuse(dir, ErrTaken, "%s already contains a crawl", dir)
	}
	return true, dirMisuse(dir, ErrNotEmpty, "%s is not empty", dir)
}

// schemeBytes are the bytes of a scheme (RFC 3986 3.1).
const schemeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"

func quoted(raw string) string {
	const most = 100
	if len(raw) > most {
		return strconv.Quote(raw[:most]) + "…"
	}
	return strconv.Quote(raw)
}

// Seed parses one seed URL. Unlike a link in a page it must include scheme and host.
func Seed(raw, tag string) (frontier.Candidate, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	switch {
	case !ok || strings.Trim(scheme, schemeBytes) != "":
		hint := ""
		if u, err := canon.Parse("http://" + raw); err == nil && u.Authority().Loopback() {
			hint = fmt.Sprintf("; did you mean http://%s?", raw)
		} else if err == nil && strings.Contains(u.Host(), ".") {
			hint = fmt.Sprintf("; did you mean https://%s?", raw)
		}
		return frontier.Candidate{}, fmt.Errorf("seed %s has no scheme: write it like https://host/path%s", quoted(raw), hint)
	case rest == "" || strings.ContainsAny(rest[:1], `/\?#:`):
		return frontier.Candidate{}, fmt.Errorf("seed %s has no host: write it like https://host/path", quoted(raw))
	}
	u, err := canon.Parse(raw)
	switch {
	case err == nil:
		return frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: tag}, nil
	case canon.ReasonOf(err) == canon.Scheme:
		return frontier.Candidate{}, fmt.Errorf("seed %s: scheme %q is not crawled, only http and https are", quoted(raw), scheme)
	}
	var detail *canon.Error
	if errors.As(err, &detail) && detail.Cause != nil {
		return frontier.Candidate{}, fmt.Errorf("seed %s is not a URL: %w", quoted(raw), detail.Cause)
	}
	return frontier.Candidate{}, fmt.Errorf("seed %s: %s", quoted(raw), canon.ReasonOf(err))
}

// Fleet is the frontier that the members of a crawl share. The zero value is a crawl without members.
type Fleet struct {
	Locator    string // see package engine
	OneMachine bool   // all members run on one machine: seeds may be loopback or private addresses
}

// An Unsupported is a setting or a command that a crawl with a shared frontier lacks, and the reason.
type Unsupported struct{ Name, Why string }

const countsItsOwn = "each member would count only its own"

// NotInFleet lists what a fleet does not support. Settings begin with --.
func NotInFleet() []Unsupported {
	return []Unsupported{
		{"--max-pages", countsItsOwn}, {"--max-bytes", countsItsOwn}, {"--max-per-domain", countsItsOwn}, {"--max-per-tag", countsItsOwn},
		{"--stop-when", countsItsOwn}, {"--per-host-per-day", "it counts in the ledger of one directory"},
		{"--max-urls", countsItsOwn}, {"--max-urls-per-host", countsItsOwn}, {"--max-urls-per-domain", countsItsOwn},
		{"--max-db-size", "the frontier is on the server's disk"},
		{"--order", "members take the URLs of a host in the order in which they were found"},
		{"--per-host", "a host gets one request at a time"},
		{"--mirror", "each member has only the pages that it fetched"},
		{"--dry-run", "it creates no crawl"},
		{"curtsy update", "a new generation starts with its own frontier"},
		{"curtsy watch", "a new generation starts with its own frontier"},
		{"curtsy config set", "it changes the settings in one directory"},
		{"curtsy frontier retry", "it opens URLs and hosts of other members"},
		{"curtsy frontier release", "it opens URLs of other members"},
		{"curtsy frontier drop", "each member writes what it closes into its own ledger"},
		{"curtsy frontier ls --urls", "it lists all URLs from a file"},
		{"curtsy frontier repair", "the frontier is on the server: save it with pg_dump, and restore it with pg_restore"},
		{"curtsy frontier export", "it lists all URLs from a file"},
	}
}

// RefusedInFleet returns an error for a name in NotInFleet, and nil for any other.
func RefusedInFleet(name string) error {
	all := NotInFleet()
	i := slices.IndexFunc(all, func(u Unsupported) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return misuse("%s: not supported in a fleet yet (%s)", name, all[i].Why)
}

// check refuses settings that a fleet lacks, and seeds that are a different computer for each member.
func (f Fleet) check(s *Settings, seeds []frontier.Candidate) error {
	if f.Locator == "" {
		return nil
	}
	if err := engine.CheckShared(f.Locator); err != nil {
		return misuse("--frontier: %w", err)
	}
	defaults := Defaults()
	have, usual := s.flags(), defaults.flags()
	for _, u := range NotInFleet() {
		name, _ := strings.CutPrefix(u.Name, "--")
		if f := have.Lookup(name); f != nil && f.DefValue != usual.Lookup(name).DefValue {
			return RefusedInFleet(u.Name)
		}
	}
	for _, r := range s.Hosts {
		if r.PerHostPerDay > 0 {
			return RefusedInFleet("--per-host-per-day")
		}
	}
	for _, c := range seeds {
		if err := f.reaches(c.URL); err != nil {
			return err
		}
	}
	return nil
}

func (f Fleet) reaches(u canon.URL) error {
	if a := u.Authority(); !f.OneMachine && crawler.NotPublic(a) {
		return misuse("%s differs on each machine: use --one-machine if there is only one", a.HostPort())
	}
	return nil
}

// Join makes dir the crawl directory of another member of a crawl, with its settings. Errors are those of Create.
func Join(ctx context.Context, dir string, f Fleet) error {
	if err := engine.CheckShared(f.Locator); err != nil {
		return misuse("--frontier: %w", err)
	}
	return lay(ctx, dir, func(tmp string) error {
		config, err := engine.Join(ctx, f.Locator, tmp)
		if err == nil {
			err = writeSettings(tmp, config)
		}
		if err == nil {
			_, err = ReadSettings(tmp) // refuses those of a newer version
		}
		if err != nil {
			return err
		}
		stored, err := engine.OpenReadOnly(tmp)
		if err != nil {
			return err
		}
		for seed, err := range stored.AllSeeds(ctx) {
			if err == nil && seed.From == "" {
				err = f.reaches(seed.URL)
			}
			if err != nil {
				return errors.Join(err, stored.Close())
			}
		}
		return stored.Close()
	})
}
