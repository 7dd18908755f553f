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
	"curtsy/frontier/durable"
	"curtsy/frontier/postgres"
)

// memberHead begins the file that stands for the frontier in the crawl directory of a fleet's member. Two lines follow:
// the locator of the shared frontier, without a password, and the identity of the directory.
const memberHead = "curtsy member 1\n"

// maxMember is more than such a file has.
const maxMember = 8 << 10

// CheckShared refuses a locator that is none of a frontier on a server. It contacts nobody.
func CheckShared(locator string) error { return postgres.Check(locator) }

// Create makes the frontier that a locator on a server names, with the settings of all its members, and makes dir the
// directory of the first. Others can join when enter has entered the seeds; an error of it removes the frontier.
func Create(ctx context.Context, locator, dir string, settings []byte, enter func(frontier.Frontier) error) error {
	id := uuid.New()
	m := postgres.Member{Locator: locator, Dir: postgres.Dir(id), Name: dir, Place: place(dir)}
	return postgres.Create(ctx, m, settings, func(f *postgres.Frontier) error {
		return errors.Join(enter(f), writeMember(locator, dir, id))
	})
}

// Join makes dir the directory of one more member of the crawl that a locator names, and returns the settings of all.
func Join(ctx context.Context, locator, dir string) (settings []byte, err error) {
	if settings, err = postgres.Settings(ctx, locator); err != nil {
		return nil, err
	}
	return settings, writeMember(locator, dir, uuid.New())
}

func writeMember(locator, dir string, id uuid.UUID) error {
	return durable.WriteFile(filepath.Join(dir, FileName), []byte(memberHead+locator+"\n"+id.String()+"\n"), 0o666)
}

// member reads the file of a member; ok is false when path is another file, or none.
func member(path string) (m postgres.Member, ok bool, err error) {
	if fi, err := os.Lstat(path); err != nil || !fi.Mode().IsRegular() { // opening a pipe would wait
		return m, false, nil // the embedded engine says why
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

// Locator returns the locator of the shared frontier of the crawl directory dir, and empty when it has its own.
func Locator(dir string) string {
	m, _, _ := member(filepath.Join(dir, FileName))
	return m.Locator
}

// MemberID returns what identifies the crawl directory dir in its shared frontier, and empty when it has its own.
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
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // elsewhere the name must do
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return host + " " + strings.TrimSpace(string(boot)) + " " + dir
}

// held is a frontier on a server whose directory is held as long as it is open.
type held struct {
	frontier.Frontier
	frontier.Member
	hold io.Closer
}

func (h held) Close() error { return errors.Join(h.Frontier.Close(), h.hold.Close()) }

// heldStored is held for a frontier that is open for reading.
type heldStored struct {
	frontier.Stored
	hold io.Closer
}

func (h heldStored) Close() error { return errors.Join(h.Stored.Close(), h.hold.Close()) }

// hold takes the directory of a member.
func hold(m postgres.Member) (io.Closer, error) {
	c, err := durable.Hold(m.Name)
	if errors.Is(err, durable.ErrHeld) {
		err = fmt.Errorf("%s: %w", m.Name, frontier.ErrInUse)
	}
	return c, err
}

// openMember begins a session of a member.
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

// readMember opens the frontier of a member for reading.
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
