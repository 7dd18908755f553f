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
	"strings"
	"syscall"

	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
)

// Seeds gives the next seeds of a crawl, at least one, and io.EOF after the last.
type Seeds func() ([]frontier.Candidate, error)

// SeedURLs are seeds that are written out.
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

// Given are seeds that are all at hand.
func Given(all []frontier.Candidate) Seeds {
	return func() ([]frontier.Candidate, error) {
		batch := all
		if all = nil; len(batch) == 0 {
			return nil, io.EOF
		}
		return batch, nil
	}
}

// Create makes a crawl directory with its settings and seeds, all durable, in one step: it is written under another name
// and renamed. One that exists and is empty is filled, and never replaced: it may be a mount point, a link, or where the
// user is. One that holds anything is refused: ErrTaken, ErrNotEmpty. Settings and seeds that cannot work are a Misuse.
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

// CreateUnchecked is Create of settings and seeds that nobody checks: for a network of one's own (Options.Dial), whose
// hosts nobody has to be told whom to ask about.
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

// lay makes a crawl directory. fill writes settings and frontier.
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
		return taken(dir, err) // since we looked, somebody came and went
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

// fill writes what a new crawl has. Its frontier is where locator says; empty for in the directory.
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

// moveInto moves a new crawl into its directory. The frontier comes last: with it there is a crawl.
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

// taken explains why a directory cannot be had: another crawl may have taken it meanwhile.
func taken(dir string, err error) error {
	if _, used := mustBeFree(dir); used != nil {
		return used
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("crawl directory: %w", &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist})
	}
	return fmt.Errorf("crawl directory %s: %w", dir, err)
}

// mustBeFree refuses a directory that is in use. It reports whether an empty one exists.
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
