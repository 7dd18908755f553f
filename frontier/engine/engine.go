// Package engine opens a frontier by its locator.
//
// # The locator
//
// A locator is a crawl directory, whose frontier is the file FileName in it, or such a file, such as a snapshot or a
// rebuilt frontier. Both use the embedded engine, frontier/bolt.
//
// A locator with the scheme postgres:// is a frontier on a server, frontier/postgres, that several processes share: its
// members. Create makes it, Join adds a member. In the crawl directory of a member the file FileName is text that names
// the shared frontier, so that the directory opens like any other.
//
// # The lock
//
// An open frontier is locked: one Open, or several OpenReadOnly, at a time. Its lock is that of the crawl directory: a
// process that changes archive, index or ledger of a stopped crawl holds its frontier meanwhile. Others get
// frontier.ErrInUse. With a frontier on a server each member locks its own directory.
//
// # Maintenance
//
// Check, Compact, Import and Rebuild are about frontiers of the embedded engine that no crawl holds.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/bolt/repair"
	"curtsy/frontier/durable"
	"curtsy/frontier/postgres"
)

// FileName is the name of the frontier in a crawl directory.
const FileName = "frontier.db"

// Open opens a frontier for a run, or creates it in the directory or as the file. Errors are frontier.ErrInUse,
// ErrNewer, ErrOlder and ErrDamaged, or those of the file system; after an error nothing has been changed.
func Open(locator string, o frontier.Options) (frontier.Frontier, error) {
	path, err := file(locator)
	if err != nil {
		return nil, err
	}
	if m, ok, err := member(path); ok {
		if err != nil {
			return nil, err
		}
		return openMember(m, o)
	}
	f, err := bolt.Open(path, o)
	if err != nil {
		return nil, err // without f: an interface that holds a nil is not nil
	}
	return f, nil
}

// OpenReadOnly opens a frontier for reading. Several may do so at a time, none while a crawl runs. A frontier on a
// server (a locator with a scheme) can be read at any time.
func OpenReadOnly(locator string) (frontier.Stored, error) {
	if strings.HasPrefix(locator, postgres.Scheme) {
		s, err := postgres.OpenReadOnly(locator, postgres.Dir{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	path, err := file(locator)
	if err != nil {
		return nil, err
	}
	if m, ok, err := member(path); ok {
		if err != nil {
			return nil, err
		}
		return readMember(m)
	}
	f, err := bolt.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// file returns the file of a locator.
func file(locator string) (string, error) {
	fi, err := os.Stat(locator)
	if err == nil && fi.IsDir() {
		return filepath.Join(locator, FileName), nil
	}
	scheme, _, ok := strings.Cut(locator, "://")
	if ok && err != nil && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz") == "" { // no path looks like it, unless it exists
		return "", fmt.Errorf("frontier/engine: no engine for %s://: name a crawl directory", scheme)
	}
	return locator, nil
}

// embeddedFile is file for a frontier of the embedded engine.
func embeddedFile(locator string) (string, error) {
	path, err := file(locator)
	if err == nil {
		if _, ok, _ := member(path); ok {
			err = fmt.Errorf("%s: the frontier is on a server: save it with pg_dump, and restore it with pg_restore", locator)
		}
	}
	return path, err
}

// Import makes a frontier, which must not exist, from the items of next, up to io.EOF. It appears whole or not at all.
func Import(locator string, next func() (frontier.Item, error)) error {
	path, err := embeddedFile(locator)
	if err != nil {
		return err
	}
	return repair.Import(path, next)
}

// Check examines a frontier that no crawl holds and returns its faults. It changes nothing. The error reports that it
// could not be examined.
func Check(locator string) ([]string, error) {
	path, err := embeddedFile(locator)
	if err != nil {
		return nil, err
	}
	return bolt.Check(path)
}

// CutShort reports whether the last commit was cut short, as by a power failure: it is lost, but the file is sound.
func CutShort(locator string) (bool, error) {
	path, err := embeddedFile(locator)
	if err != nil {
		return false, err
	}
	return bolt.CutShort(path)
}

// Compact rewrites a frontier that no crawl holds without superseded records, with forget also without the texts of
// records of only fetched and redirected URLs, and returns its size before and after.
func Compact(ctx context.Context, locator string, forget bool) (before, after int64, err error) {
	path, err := embeddedFile(locator)
	if err != nil {
		return 0, 0, err
	}
	return bolt.Compact(ctx, path, forget)
}

type Salvage = repair.Salvage

type Ended = repair.Ended

// Rebuild makes a new frontier, in the file to, from the readable parts of a damaged one and the endings of ended, up
// to io.EOF. The damaged one does not change.
func Rebuild(ctx context.Context, locator, to string, ended func() (Ended, error)) (Salvage, error) {
	path, err := embeddedFile(locator)
	if err != nil {
		return Salvage{}, err
	}
	return repair.Rebuild(ctx, path, to, ended)
}

// memberHead starts the file that replaces the frontier in the crawl directory of a fleet's member. Two lines follow:
// the locator of the shared frontier, without a password, and the identity of the directory.
const memberHead = "curtsy member 1\n"

const maxMember = 8 << 10 // bytes of such a file

// CheckShared returns an error unless locator is that of a frontier on a server. It does not connect to it.
func CheckShared(locator string) error { return postgres.Check(locator) }

// Create makes the frontier of a locator on a server, with the settings of all its members, and makes dir the directory
// of the first. Others can join when enter has added the seeds; an error of it removes the frontier.
func Create(ctx context.Context, locator, dir string, settings []byte, enter func(frontier.Frontier) error) error {
	id := uuid.New()
	m := postgres.Member{Locator: locator, Dir: postgres.Dir(id), Name: dir, Place: place(dir)}
	return postgres.Create(ctx, m, settings, func(f *postgres.Frontier) error {
		return errors.Join(enter(f), writeMember(locator, dir, id))
	})
}

// Join makes dir the directory of another member of the crawl of a locator, and returns the settings of all.
func Join(ctx context.Context, locator, dir string) (settings []byte, err error) {
	if settings, err = postgres.Settings(ctx, locator); err != nil {
		return nil, err
	}
	return settings, writeMember(locator, dir, uuid.New())
}

func writeMember(locator, dir string, id uuid.UUID) error {
	return durable.WriteFile(filepath.Join(dir, FileName), []byte(memberHead+locator+"\n"+id.String()+"\n"), 0o666)
}

// member reads the file of a member; ok is false when path is another file, or does not exist.
func member(path string) (m postgres.Member, ok bool, err error) {
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() { // opening a pipe would wait
		return m, false, nil // the embedded engine reports why
	}
	f, err := os.Open(path)
	if err != nil {
		return m, false, nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(len(memberHead))))
	if err != nil || string(text) != memberHead {
		return m, false, nil
	}
	if text, err = io.ReadAll(io.LimitReader(f, maxMember)); err != nil {
		return m, true, err
	}
	lines := strings.Split(string(text), "\n")
	damaged := fmt.Errorf("%s: %w", path, frontier.ErrDamaged)
	if len(lines) != 3 || lines[2] != "" {
		return m, true, damaged
	}
	id, err := uuid.Parse(lines[1])
	if err != nil {
		return m, true, damaged
	}
	dir := filepath.Dir(path)
	return postgres.Member{Locator: lines[0], Dir: postgres.Dir(id), Name: dir, Place: place(dir)}, true, nil
}

// Locator returns the locator of the shared frontier of the crawl directory dir, empty when it has its own.
func Locator(dir string) string {
	m, _, _ := member(filepath.Join(dir, FileName))
	return m.Locator
}

// MemberID returns the identity of the crawl directory dir in its shared frontier, empty when it has its own.
func MemberID(dir string) string {
	m, shared, err := member(filepath.Join(dir, FileName))
	if !shared || err != nil {
		return ""
	}
	return uuid.UUID(m.Dir).String()
}

// place names a directory on a running machine.
func place(dir string) string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // other systems have only the host name
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return host + " " + strings.TrimSpace(string(boot)) + " " + dir
}

// held is a frontier on a server whose directory is held while it is open.
type held struct {
	frontier.Frontier
	frontier.Member
	hold io.Closer
}

func (h held) Close() error { return errors.Join(h.Frontier.Close(), h.hold.Close()) }

// heldStored is held for reading.
type heldStored struct {
	frontier.Stored
	hold io.Closer
}

func (h heldStored) Close() error { return errors.Join(h.Stored.Close(), h.hold.Close()) }

func hold(m postgres.Member) (io.Closer, error) {
	c, err := durable.Hold(m.Name)
	if errors.Is(err, durable.ErrHeld) {
		err = fmt.Errorf("%s: %w", m.Name, frontier.ErrInUse)
	}
	return c, err
}

func openMember(m postgres.Member, o frontier.Options) (frontier.Frontier, error) {
	c, err := hold(m)
	if err != nil {
		return nil, err
	}
	f, err := postgres.Open(m, o)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return held{f, f, c}, nil
}

func readMember(m postgres.Member) (frontier.Stored, error) {
	c, err := hold(m)
	if err != nil {
		return nil, err
	}
	s, err := postgres.OpenReadOnly(m.Locator, m.Dir)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return heldStored{s, c}, nil
}
