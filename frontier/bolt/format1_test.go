package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// testdata/format1.db was written by the last version that wrote format 1: six hosts, deferred tasks, one of them with
// a replaced URL, all outcomes, reasons, blobs of one and several pieces, seeds, a fold with words behind it, a retry.
func format1(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "frontier.db")
	if err := os.WriteFile(path, read(t, "testdata/format1.db"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// what a reader is told of a frontier, times apart.
type told struct {
	stats frontier.Stats
	hosts []frontier.Host
	seeds []frontier.Seed
}

func tell(t testing.TB, path string) told {
	t.Helper()
	f, err := OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var w told
	if w.stats, err = f.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stats.Due, w.stats.Size, w.stats.State = 0, 0, 0
	if w.hosts, err = f.Hosts(t.Context(), canon.Authority{}, 1000); err != nil {
		t.Fatal(err)
	}
	for i := range w.hosts {
		w.hosts[i].Wait = 0
	}
	if w.seeds, err = frontier.SeedsOf(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestFormat1_IsReadAsItIs(t *testing.T) {
	path := format1(t)
	before := read(t, path)
	checkClean(t, path)
	w := tell(t, path)
	if got, want := w.stats.Outcomes, (frontier.Outcomes{0, 14, 14, 14, 14, 6, 15}); got != want {
		t.Errorf("outcomes %v, want %v", got, want)
	}
	if st := w.stats; st.Discovered != 214 || st.Queued != 117 || st.Deferred != 20 || st.Hosts != 6 || st.Refused != 1 || st.Counts["octets"] != 12000 {
		t.Errorf("%+v", st)
	}
	if got := w.stats.Reasons[frontier.Dropped]["trap: calendar"]; got != 1 {
		t.Errorf("reasons %v", w.stats.Reasons)
	}
	if len(w.seeds) != 3 || w.seeds[2].From != "http://seed.test/" {
		t.Errorf("seeds %v", w.seeds)
	}
	if string(read(t, path)) != string(before) {
		t.Error("the file has been changed")
	}
}

func TestFormat1_OpenWritesItAnew(t *testing.T) {
	path := format1(t)
	want := tell(t, path)
	f, err := Open(path, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"User-agent: *\nDisallow: /x\n", fmt.Sprintf("%04000d", 1)} {
		bs := makeBlobs([][]byte{[]byte(body)})
		if got, err := f.Blob(t.Context(), bs[0].sum); err != nil || string(got) != body {
			t.Errorf("Blob: %d octets, %v", len(got), err)
		}
	}
	moved := 0
	for _, r := range f.retries {
		if strings.HasSuffix(r.url, "?moved") {
			moved++
		}
		if r.reason != "status 503" || r.due < int64(time.Hour) {
			t.Errorf("%+v", r)
		}
	}
	if moved == 0 {
		t.Error("no replaced URL is left")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	checkClean(t, path)
	got := tell(t, path)
	if got.stats.Restarts != want.stats.Restarts+1 || got.stats.Unclean {
		t.Errorf("%+v", got.stats)
	}
	got.stats.Restarts, got.stats.Unclean = want.stats.Restarts, want.stats.Unclean
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	e := &engine{TB: t, file: path}
	e.start()
	if n := e.retry(frontier.Retrial{Outcome: frontier.Failed}); n.URLs != 14 {
		t.Errorf("%+v", n)
	}
	e.die()
}

// The new file is built beside the old one: a kill leaves a part of it there, which the next opening replaces.
func TestFormat1_AKillInBetweenLeavesTheOldFile(t *testing.T) {
	path := format1(t)
	want := tell(t, path)
	if err := os.WriteFile(path+".new", read(t, path)[:20_000], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tell(t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	f, err := Open(path, frontier.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	checkClean(t, path)
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("beside it: %v", err)
	}
}

func TestFormat1_ADirectoryThatTakesNoFileLeavesItAsItWas(t *testing.T) {
	path := format1(t)
	if err := os.MkdirAll(filepath.Join(path+".new", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	if _, err := Open(path, frontier.Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Open: %v", err)
	}
	if string(read(t, path)) != string(before) {
		t.Error("the file has been changed")
	}
}
