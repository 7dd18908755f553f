package hostlock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"curtsy/frontier/canon"
)

// Locks are the host locks of this user. The methods may be called concurrently. Close them after use.
type Locks struct {
	file *os.File // nil where the system has no locks

	mu    sync.Mutex
	held  map[uint64]struct{} // hashes of the locks of this process
	rests map[uint64]int64    // ends of the back-offs that this process was asked for, by the hash of the host
	table sync.Mutex          // one writer of entries in this process
}

// Path returns the user's file. Its name has the number of the format.
func Path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("hostlock: no cache folder: %w", err)
	}
	return filepath.Join(cache, "curtsy", "hosts-2.lock"), nil
}

// Open opens or creates the file, and checks that locks work there. On a system without locks the Locks have no effect,
// and Missing returns why.
func Open(path string) (*Locks, error) {
	if missing != "" {
		return &Locks{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("hostlock: make the folder of %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("hostlock: open %s: %w", path, err)
	}
	if err := try(file); err != nil {
		return nil, fmt.Errorf("hostlock: lock a part of %s: %w", path, errors.Join(err, file.Close()))
	}
	return &Locks{file: file, held: map[uint64]struct{}{}, rests: map[uint64]int64{}}, nil
}

// try locks and unlocks a byte that no host has.
func try(file *os.File) error {
	ok, err := lock(file, tryAt)
	if err != nil || !ok {
		return err // another process is also trying: locks work
	}
	return unlock(file, tryAt)
}

// Missing returns why the system has no locks, or "".
func (l *Locks) Missing() string {
	if l.file == nil {
		return missing
	}
	return ""
}

// Where the locks lie: a range of offsets each, all behind any data.
const (
	hostsAt   = 1 << 62
	bucketsAt = 1 << 61
	tryAt     = 1 << 60
)

// Busy is the least wait while another crawl has the host.
const Busy = time.Second

// Take locks a and returns zero, or returns how long to wait, because another crawl has the host or has just had it. If this process
// ends before Release, others wait for pace from now.
func (l *Locks) Take(a canon.Authority, pace time.Duration) (wait time.Duration, err error) {
	return l.take(a.String(), pace)
}

// Release unlocks a, which others may take after rest.
func (l *Locks) Release(a canon.Authority, rest time.Duration) error {
	return l.release(a.String(), rest)
}

// Start grants the start of an exchange at a network by returning zero: no other process has one there until
// Started, which must follow. Otherwise it returns how long to wait.
func (l *Locks) Start(addr netip.Prefix, every time.Duration) (wait time.Duration, err error) {
	wait, err = l.take(addressName(addr), every)
	return min(wait, every), err
}

// Started ends a granted start: others have to wait for every.
func (l *Locks) Started(addr netip.Prefix, every time.Duration) error {
	return l.release(addressName(addr), every)
}

// addressName differs from every authority's name.
func addressName(addr netip.Prefix) string { return "address " + addr.String() }

func (l *Locks) take(name string, pace time.Duration) (wait time.Duration, err error) {
	if l.file == nil {
		return 0, nil
	}
	h := hash(name)
	if !l.hold(h) {
		return max(Busy, pace), nil
	}
	free, err := lock(l.file, hostAt(h))
	if err != nil {
		l.drop(h)
		return 0, fmt.Errorf("hostlock: take %s: %w", name, err)
	}
	now := time.Now()
	e, err := l.find(paces, h)
	wait = e.wait(now.UnixMicro())
	if err == nil && free {
		switch {
		case wait == 0:
			if err = l.store(h, up(now), pace); err == nil {
				return 0, nil
			}
		case e.until-now.UnixMicro() > e.rest+grain: // the clock was set back: the host would rest again at each look
			err = l.store(h, up(now), wait)
		}
	}
	if free {
		err = errors.Join(err, unlock(l.file, hostAt(h)))
	} else {
		wait = max(wait, Busy)
	}
	l.drop(h)
	if err != nil {
		return 0, fmt.Errorf("hostlock: take %s: %w", name, err)
	}
	return wait, nil
}

func (l *Locks) release(name string, rest time.Duration) error {
	if l.file == nil {
		return nil
	}
	h := hash(name)
	err := l.store(h, up(time.Now()), rest)
	err = errors.Join(err, unlock(l.file, hostAt(h)))
	l.drop(h)
	if err != nil {
		return fmt.Errorf("hostlock: release %s: %w", name, err)
	}
	return nil
}

func (l *Locks) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// hold locks h within this process.
func (l *Locks) hold(h uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ours := l.held[h]; ours {
		return false
	}
	l.held[h] = struct{}{}
	return true
}

func (l *Locks) drop(h uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, h)
}

// hash is the same in every process, and never zero.
func hash(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return max(binary.LittleEndian.Uint64(sum[:]), 1)
}

func hostAt(h uint64) int64 { return hostsAt | int64(h&(hostsAt-1)) }
