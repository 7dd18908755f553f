package crawldir

import (
	"context"
	"errors"
	"slices"
	"strings"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

// Fleet is the frontier that the members of a crawl share. The zero value is none.
type Fleet struct {
	Locator    string // as package engine has it
	OneMachine bool   // all members run on one machine: seeds may be loopback or private addresses
}

// An Unsupported is a setting or a command that a crawl with a shared frontier does not have yet, and why.
type Unsupported struct{ Name, Why string }

const countsItsOwn = "each member would count only its own"

// NotInFleet lists what is refused. Settings begin with --.
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

// RefusedInFleet is the error of something in NotInFleet, and nil for anything else.
func RefusedInFleet(name string) error {
	all := NotInFleet()
	i := slices.IndexFunc(all, func(u Unsupported) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return misuse("%s: not supported in a fleet yet (%s)", name, all[i].Why)
}

// check refuses settings that a fleet does not have, and seeds that are other computers for each member.
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

// reaches refuses a seed that is another computer for each member.
func (f Fleet) reaches(u canon.URL) error {
	if a := u.Authority(); !f.OneMachine && crawler.NotPublic(a) {
		return misuse("%s differs on each machine: use --one-machine if there is only one", a.HostPort())
	}
	return nil
}

// Join makes dir the crawl directory of one more member of a crawl, with the settings of all. Errors are those of Create.
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
			_, err = ReadSettings(tmp) // those of a newer version cannot be
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
