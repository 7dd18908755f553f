package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/canon"
)

// makeFile makes a closed frontier with something in every bucket.
func makeFile(t testing.TB) string {
	t.Helper()
	e := newEngine(t, t.TempDir(), frontier.Options{})
	e.add(append(e.links("a", 0, 500), frontier.Candidate{URL: mustURL(t, "http://seed.test/"), Kind: frontier.KindSeed}))
	for range 30 {
		turn := e.turn(20)
		r := fetched(turn)
		r.Done, r.Deferred = r.Done[1:], []frontier.Deferral{{Print: r.Done[0].Print, After: 1 << 40, Reason: "status 500"}}
		r.Found = e.links("b", len(r.Done), 300)
		r.Host = &frontier.HostUpdate{Robots: make([]byte, 500), Memory: []byte(turn.Authority.String())}
		r.Blobs = [][]byte{[]byte("User-agent: *\nDisallow: /x\n"), make([]byte, 9000)}
		e.finish(r)
		e.sync()
	}
	e.shut()
	return e.file
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// openAll opens the file in all three ways, and returns the errors. A refusal must not change the file.
func openAll(t testing.TB, path string) map[string]error {
	t.Helper()
	before := read(t, path)
	errs := map[string]error{}
	if f, err := OpenReadOnly(path); err != nil {
		errs["OpenReadOnly"] = err
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Check(path); err != nil {
		errs["Check"] = err
	}
	if f, err := Open(path, frontier.Options{}); err != nil {
		errs["Open"] = err
		assert.Equal(t, string(before), string(read(t, path)), "the file has been changed, although it was refused")
	} else {
		f.Close()
	}
	for call, err := range errs {
		assert.Containsf(t, err.Error(), path, "%s: %v: does not name the file", call, err)
	}
	return errs
}

func TestOpen_OtherFilesAreDamaged(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 5000)), 0o600))
	empty := filepath.Join(dir, "empty") // bbolt takes it for a database that is yet to be made; a crawl would seem to be finished
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	other := filepath.Join(dir, "other")
	db, err := bbolt.Open(other, 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("somebody else's")); return err })
	require.NoError(t, err)
	db.Close()
	for _, path := range []string{text, empty, other} {
		for call, err := range openAll(t, path) {
			assert.ErrorIsf(t, err, frontier.ErrDamaged, "%s %s: %v, want frontier.ErrDamaged", call, path, err)
		}
		_, err := Open(path, frontier.Options{})
		assert.Errorf(t, err, "%s is opened", path)
	}
	if _, err := Open(dir, frontier.Options{}); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "no", "such"), frontier.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v, want ErrNotExist", err)
	}
	for _, open := range []func(string) error{
		func(p string) error { _, err := OpenReadOnly(p); return err }, func(p string) error { _, err := Check(p); return err },
	} {
		assert.ErrorIs(t, open(filepath.Join(dir, "none")), os.ErrNotExist, "no file")
	}
	_, err = os.Stat(filepath.Join(dir, "none"))
	assert.Error(t, err, "reading has made a file")
	_, err = Open(filepath.Join(dir, "x"), frontier.Options{Pace: -1})
	assert.Error(t, err, "a negative option is taken")
}

// setFormat sets the format number of a file, which it makes if need be.
func setFormat(t *testing.T, path string, n uint32) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	require.NoError(t, err)
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(layout.MetaBucket))
		if err != nil {
			return err
		}
		return b.Put([]byte(layout.FormatKey), binary.BigEndian.AppendUint32(nil, n))
	})
	require.NoError(t, errors.Join(err, db.Close()))
}

func TestOpen_NewerFormatIsRefused(t *testing.T) {
	path := makeFile(t)
	setFormat(t, path, layout.Format+1)
	errs := openAll(t, path)
	for _, call := range []string{"Open", "OpenReadOnly", "Check"} {
		assert.ErrorIsf(t, errs[call], frontier.ErrNewer, "%s: %v, want frontier.ErrNewer", call, errs[call])
	}
}

// No release wrote an older format. The error has advice, and the file stays as it is.
func TestOpen_OlderFormatIsRefusedWithAdvice(t *testing.T) {
	path, only := makeFile(t), filepath.Join(t.TempDir(), "frontier.db")
	setFormat(t, path, layout.Format-1)
	setFormat(t, only, layout.Format-1) // in no page of it is a newer one
	before := read(t, path)
	errs := openAll(t, path)
	_, _, errs["Compact"] = Compact(t.Context(), path, false)
	_, errs["Rebuild"] = repair.Rebuild(t.Context(), only, path+".out", nil)
	for call, err := range errs {
		if !errors.Is(err, frontier.ErrOlder) || !strings.Contains(err.Error(), "format 1, and this version reads 2") {
			t.Errorf("%s: %v, want frontier.ErrOlder", call, err)
		}
	}
	for _, call := range []string{"Open", "OpenReadOnly", "Check", "Compact"} {
		assert.Truef(t, strings.Contains(errs[call].Error(), "start the crawl again"), "%s gives no advice: %v", call, errs[call])
	}
	assert.Equal(t, string(before), string(read(t, path)), "the file has been changed")
}

func TestOpen_FileInUseIsRefused(t *testing.T) {
	path := makeFile(t)
	f := opened(t, path)
	errs := openAll(t, path)
	for _, call := range []string{"Open", "OpenReadOnly", "Check"} {
		assert.ErrorIsf(t, errs[call], frontier.ErrInUse, "%s: %v, want frontier.ErrInUse", call, errs[call])
	}
	require.NoError(t, f.Close())
	one := reader(t, path)
	defer one.Close()
	two, err := OpenReadOnly(path)
	require.NoError(t, err, "a second reader")
	defer two.Close()
	_, err = Open(path, frontier.Options{})
	require.ErrorIs(t, err, frontier.ErrInUse, "Open while it is read")
}

// readAll makes every call that reads, and claims due tasks.
func readAll(f *Frontier) error {
	ctx := context.Background()
	if _, err := frontier.SeedsOf(ctx, f); err != nil {
		return err
	}
	hs, err := f.Hosts(ctx, frontier.Host{}.Authority, 100)
	if err != nil {
		return err
	}
	for _, h := range hs {
		if _, _, err := f.Host(ctx, h.Authority); err != nil {
			return err
		}
	}
	_, err = f.Claim(ctx, frontier.Want{Hosts: 10, Tasks: 1000})
	return err
}

func TestReadOnly_ReadsWithoutTakingPart(t *testing.T) {
	path := makeFile(t)
	before := read(t, path)
	rw := opened(t, path)
	ctx := t.Context()
	want, err := rw.Stats(ctx)
	require.NoError(t, err)
	hosts, err := rw.Hosts(ctx, frontier.Host{}.Authority, 10)
	require.NoError(t, err)
	require.Lenf(t, hosts, 3, "%d hosts, error %v", len(hosts), err)
	require.NoError(t, rw.Close())
	require.NoError(t, os.WriteFile(path, before, 0o600))
	f := reader(t, path)
	got, err := f.Stats(ctx)
	if err != nil || got.Discovered != want.Discovered || got.Outcomes != want.Outcomes || got.Deferred != want.Deferred || got.Restarts != 0 {
		t.Fatalf("Stats: %+v, error %v; want %+v", got, err, want)
	}
	for _, w := range hosts {
		h, ok, err := f.Host(ctx, w.Authority)
		if err != nil || !ok || string(h.Memory) != string(w.Memory) || h.Queued != w.Queued || len(h.Robots) != len(w.Robots) {
			t.Fatalf("Host %s: %+v, %v, error %v", w.Authority, h, ok, err)
		}
	}
	seeds, err := frontier.SeedsOf(ctx, f)
	require.Truef(t, err == nil && len(seeds) == 1, "Seeds: %v, error %v", seeds, err)
	known, unknown := mustURL(t, "http://a.test/1"), mustURL(t, "http://a.test/none")
	seen, err := f.Seen(ctx, []canon.URL{known, unknown, known})
	require.Truef(t, err == nil && seen[0] && !seen[1] && seen[2], "Seen: %v, error %v", seen, err)
	for call, err := range writeCalls(f) {
		assert.ErrorIsf(t, err, frontier.ErrReadOnly, "%s: %v, want frontier.ErrReadOnly", call, err)
	}
	require.NoError(t, f.Close())
	require.Equal(t, string(before), string(read(t, path)), "the file has been changed")
}

// writeCalls makes every call that writes, and returns the errors.
func writeCalls(f *Frontier) map[string]error {
	ctx, errs := context.Background(), map[string]error{}
	_, errs["Add"] = f.Add(ctx, nil)
	_, errs["Claim"] = f.Claim(ctx, frontier.Want{})
	_, errs["ClaimAuthority"] = f.ClaimAuthority(ctx, f.hosts.all[0].authority)
	_, errs["Finish"] = f.Finish(ctx, nil)
	_, errs["Retry"] = f.Retry(ctx, frontier.Retrial{Outcome: frontier.Gone})
	_, errs["Steer"] = f.Steer(ctx, frontier.Steering{Act: frontier.Drop, Authority: f.hosts.all[0].authority})
	errs["Sync"] = f.Sync(ctx)
	return errs
}

// bbolt looks for the first key of a page in the branch above it, and spoils the tree when it writes the page and has
// not found it. An outdated branch may have a smaller key.
func TestCheckPages_BranchHasFirstChildKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier.db")
	db, err := dbfile.Open(path, layout.Create)
	require.NoError(t, err)
	err = db.Update(func(tx *bbolt.Tx) error {
		for range 20 {
			if _, err := layout.StateJournal.Append(tx, make([]byte, layout.ValueSize)); err != nil {
				return err
			}
		}
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, dbfile.Check(bytes.NewReader(b)))
	second := -1
	for at := 2 * 4096; at < len(b); at += 4096 {
		if binary.NativeEndian.Uint16(b[at+8:]) == dbfile.Branch && binary.NativeEndian.Uint16(b[at+10:]) > 2 {
			e := at + dbfile.HeaderSize + dbfile.ElementSize
			second = e + int(binary.NativeEndian.Uint32(b[e:]))
		}
	}
	require.GreaterOrEqual(t, second, 0, "no branch")
	b[second+7]-- // the first key of the second child, which is beyond those of the first
	assert.ErrorIs(t, dbfile.Check(bytes.NewReader(b)), frontier.ErrDamaged, "pages.Check")
}

// After a panic in a write bbolt may hold its own locks: neither Close nor a failed opening waits for them. After one
// in a read it holds none, and the file is released at once.
func TestGuard_PanicDoesNotHang(t *testing.T) {
	path := filepath.Join(t.TempDir(), "frontier.db")
	db, err := dbfile.Open(path, layout.Create)
	require.NoError(t, err)
	err = dbfile.Guard(func() error { return db.View(func(*bbolt.Tx) error { panic("spoilt") }) })
	require.ErrorIs(t, err, frontier.ErrDamaged)
	dbfile.Discard(db, fmt.Errorf("open: %w", err))
	f, err := Open(path, frontier.Options{})
	require.NoError(t, err, "the file was not released")
	spoilt := dbfile.Update(f.db, func(*bbolt.Tx) error { panic("spoilt") })
	tx, err := f.db.Begin(true) // as bbolt also leaves it when a rollback panics
	require.NoError(t, err)
	defer f.db.Close()
	defer tx.Rollback()
	f.mu.Lock()
	f.poison(fmt.Errorf("commit: %w", spoilt))
	f.mu.Unlock()
	assert.ErrorIs(t, f.Close(), frontier.ErrDamaged, "Close")
	dbfile.Discard(f.db, f.err)
}
