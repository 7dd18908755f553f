package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
)

func TestADirectoryAndTheFileInItAreOneFrontier(t *testing.T) {
	dir := t.TempDir()
	f, err := engine.Open(dir, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := canon.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed}}); err != nil {
		t.Fatal(err)
	}
	for _, locator := range []string{dir, filepath.Join(dir, engine.FileName)} {
		if _, err := engine.Open(locator, frontier.Options{}); !errors.Is(err, frontier.ErrInUse) {
			t.Errorf("%s is open, and open again: %v", locator, err)
		}
		if _, err := engine.OpenReadOnly(locator); !errors.Is(err, frontier.ErrInUse) {
			t.Errorf("%s is open, and open to be read: %v", locator, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, locator := range []string{dir, filepath.Join(dir, engine.FileName)} {
		s, err := engine.OpenReadOnly(locator)
		if err != nil {
			t.Fatal(err)
		}
		seeds, err := frontier.SeedsOf(t.Context(), s)
		if err != nil || len(seeds) != 1 || seeds[0].URL != u {
			t.Errorf("%s: seeds %v, %v", locator, seeds, err)
		}
		if _, err := s.Add(t.Context(), nil); !errors.Is(err, frontier.ErrReadOnly) {
			t.Errorf("%s: Add: %v", locator, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if found, err := engine.Check(locator); err != nil || len(found) > 0 {
			t.Errorf("%s: Check: %q, %v", locator, found, err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%v in the directory, %v", names, err)
	}
}

func TestALocatorOfAnEngineThatThereIsNotIsRefused(t *testing.T) {
	const locator = "postgres://crawl@db.example/curtsy"
	errs := map[string]error{}
	_, errs["Open"] = engine.Open(locator, frontier.Options{})
	_, errs["OpenReadOnly"] = engine.OpenReadOnly(locator)
	_, errs["Check"] = engine.Check(locator)
	_, errs["CutShort"] = engine.CutShort(locator)
	_, _, errs["Compact"] = engine.Compact(context.Background(), locator, false)
	_, errs["Rebuild"] = engine.Rebuild(context.Background(), locator, filepath.Join(t.TempDir(), "x"), nil)
	errs["Import"] = engine.Import(locator, nil)
	for call, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "no engine for postgres://") {
			t.Errorf("%s: %v", call, err)
		}
	}
}
