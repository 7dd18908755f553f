// Package dbfile opens and locks the file of a frontier, after a check of its pages; it creates one whole or not at
// all; and it turns a panic of bbolt, which a damaged page causes, into an error of package frontier.
package dbfile

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"

	"curtsy/frontier"
	"curtsy/frontier/durable"
)

const LockWait = 100 * time.Millisecond // bbolt tries every 50 ms

// NoSync leaves commits unsynced. Only tests set it, for frontiers that need not survive a crash of the machine.
var NoSync bool

// Open opens the database for writing, and makes it with create if it is missing.
func Open(path string, create func(*bbolt.Tx) error) (*bbolt.DB, error) {
	switch err := checkSize(path); {
	case errors.Is(err, os.ErrNotExist):
		if err := makeNew(path, create); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	default:
		db, err := openChecked(path)
		if err != nil {
			return nil, err
		}
		if err := db.Close(); err != nil {
			return nil, OpenError(path, err)
		}
	}
	return lock(path, Options(false))
}

func OpenReadOnly(path string) (*bbolt.DB, error) {
	if err := checkSize(path); err != nil {
		return nil, err
	}
	return openChecked(path)
}

// Hold keeps writers away from an untrusted file: nothing may be read through the result.
func Hold(path string) (*bbolt.DB, error) { return lock(path, Options(true)) }

// openChecked opens the database for reading and checks its pages, under a lock that keeps writers out.
func openChecked(path string) (*bbolt.DB, error) {
	db, err := lock(path, Options(true))
	if err != nil {
		return nil, err
	}
	file, err := durable.Open(path)
	if err == nil {
		defer file.Close()
		err = Check(file)
	}
	if err != nil {
		db.Close()
		return nil, OpenError(path, err)
	}
	return db, nil
}

func lock(path string, o *bbolt.Options) (db *bbolt.DB, err error) {
	var file *os.File
	o.OpenFile = func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
		file, err = durable.OpenFile(name, flag, mode)
		return file, err
	}
	err = Guard(func() error {
		db, err = bbolt.Open(path, 0o600, o)
		if errors.Is(err, syscall.ENOMEM) { // a limit on the address space: map the present file, and again as it grows
			o.InitialMmapSize = 0
			db, err = bbolt.Open(path, 0o600, o)
		}
		return err
	})
	switch {
	case err == nil && replaced(path, file):
		db.Close()
		return nil, fmt.Errorf("frontier/bolt: open %s: %w: it was just rewritten; try again", path, frontier.ErrInUse)
	case err == nil:
		db.AllocSize, db.NoSync, db.NoGrowSync = Growth(0), NoSync, NoSync
		return db, nil
	case errors.Is(err, bbolterrors.ErrTimeout):
		return nil, inUse(path)
	case errors.Is(err, bbolterrors.ErrInvalid), errors.Is(err, bbolterrors.ErrChecksum),
		errors.Is(err, bbolterrors.ErrVersionMismatch):
		err = fmt.Errorf("%w: %w", err, frontier.ErrDamaged)
	}
	return nil, OpenError(path, err)
}

// replaced reports whether path names another file: the former owner of the lock rewrote it. Writes to file would be
// lost.
func replaced(path string, file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return true
	}
	named, err := os.Stat(path)
	return err != nil || !os.SameFile(ours, named)
}

func inUse(path string) error {
	return fmt.Errorf("frontier/bolt: open %s: %w: wait until it ends, or stop it", path, frontier.ErrInUse)
}

// OpenError adds path to err and, when the file is not usable, advice.
func OpenError(path string, err error) error {
	switch {
	case errors.Is(err, frontier.ErrDamaged):
		return fmt.Errorf("frontier/bolt: open %s: %w: nothing was changed; keep the file, and continue from a copy", path, err)
	case errors.Is(err, frontier.ErrNewer):
		return fmt.Errorf("frontier/bolt: open %s: %w: use the version that wrote it, or a later one", path, err)
	case errors.Is(err, frontier.ErrOlder):
		return fmt.Errorf("frontier/bolt: open %s: %w: nothing was changed; start the crawl again, "+
			"or export it with the version that wrote it, and import that", path, err)
	}
	return fmt.Errorf("frontier/bolt: open %s: %w", path, err)
}

func Options(readOnly bool) *bbolt.Options {
	o := &bbolt.Options{
		Timeout:        LockWait,
		FreelistType:   bbolt.FreelistMapType, // the array type is searched from the start for every allocation
		NoFreelistSync: true,                  // it would be written by every commit; an open finds it again
		ReadOnly:       readOnly,
	}
	if !readOnly && runtime.GOOS != "windows" && strconv.IntSize == 64 {
		// Growing a map waits for all readers, and copies pages in use. Windows would make the file that large; elsewhere
		// only addresses are taken.
		gib := 1 << 30
		o.InitialMmapSize = 64 * gib
	}
	return o
}

// checkSize fails when the file is shorter than its last commit requires: bbolt would map it, and the process would die
// with SIGBUS at the first missing page. It also refuses an empty file: bbolt would turn it into a new one, and a crawl
// would seem to be finished. The error wraps os.ErrNotExist if the file is missing.
func checkSize(path string) error {
	file, err := durable.Open(path)
	if err != nil {
		return fmt.Errorf("frontier/bolt: open: %w", err)
	}
	defer file.Close()
	m, ok := LastMeta(file)
	info, err := file.Stat() // after the read: a file that is in use only grows
	if err != nil {
		return fmt.Errorf("frontier/bolt: open: %w", err)
	}
	switch {
	case info.IsDir():
		return fmt.Errorf("frontier/bolt: open %s: it is a directory", path)
	case info.Size() == 0:
		return OpenError(path, fmt.Errorf("it is empty: %w", frontier.ErrDamaged))
	case !ok:
		return OpenError(path, fmt.Errorf("it has no valid meta page: %w", frontier.ErrDamaged))
	case uint64(info.Size())/m.PageSize < m.Pages:
		err := fmt.Errorf("it is incomplete: %d bytes of %d: %w", info.Size(), m.Pages*m.PageSize, frontier.ErrDamaged)
		return OpenError(path, err)
	}
	return nil
}

// Growth returns the step in which a file of at most maxSize bytes grows, zero being unlimited: the default of bbolt,
// 16 MiB, is much for a small crawl.
func Growth(maxSize int64) int {
	const most = 4 << 20
	if maxSize == 0 {
		return most
	}
	return int(min(max(maxSize/64, 64<<10), most))
}

// WriteError adds the failed write and advice to err. After a failed write the frontier takes no more calls: the disk
// holds all acknowledged work, and perhaps the group that failed.
func WriteError(act, path string, err error) error {
	return fmt.Errorf("frontier/bolt: %s %s: %w: %s, then continue: acknowledged work is in the file",
		act, path, err, Advice(err))
}

// Advice returns advice about an error of a write. bbolt turns some errors into texts, which get the last one.
func Advice(err error) string {
	switch {
	case errors.Is(err, frontier.ErrDamaged):
		return "check the frontier, and keep a copy of it"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk, or what you may have of it, is full: free some space"
	case errors.Is(err, syscall.EFBIG):
		return "a file may not be larger: raise the limit (ulimit -f), or use another file system"
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "see to it that the file and its directory can be written"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: look at the system's log, and move the crawl to a sound disk"
	}
	return "check that the disk has space and no errors"
}

// Guard calls f, which uses the file through bbolt. bbolt trusts its memory map: in a damaged page it panics, or
// follows an address out of the map. Both become ErrDamaged.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{value: r}
		}
	}()
	return f()
}

func Update(db *bbolt.DB, f func(tx *bbolt.Tx) error) error {
	err := Guard(func() error { return db.Update(f) })
	if p := (*panicError)(nil); errors.As(err, &p) {
		p.writing = true
	}
	return err
}

// panicError is a panic that became an error. After one while writing, bbolt may never release its own locks.
type panicError struct {
	value   any
	writing bool
}

// Discard closes db after an opening that failed with err, unless that might never return.
func Discard(db *bbolt.DB, err error) {
	if p := (*panicError)(nil); errors.As(err, &p) && p.writing {
		return // the file is released when the process ends
	}
	db.Close()
}

// Stuck reports whether err, of this package, leaves a database whose Close might never return. The file is released
// when the process ends.
func Stuck(err error) bool {
	p := (*panicError)(nil)
	return errors.As(err, &p)
}

func (p *panicError) Error() string { return fmt.Sprintf("%v: %v", p.value, frontier.ErrDamaged) }
func (p *panicError) Unwrap() error { return frontier.ErrDamaged }

// makeNew makes the file at path, whole or not at all: it is renamed when it is durable, so that a crash leaves no file
// that looks like a damaged frontier.
func makeNew(path string, create func(*bbolt.Tx) error) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("frontier/bolt: make %s: %w", path, err)
	}
	db, err := lock(fresh, Options(false))
	if err != nil {
		return err
	}
	db.AllocSize = 64 << 10 // it may be opened with a bound on its size
	err = Update(db, create)
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = durable.Publish(fresh, path)
	}
	if err != nil {
		os.Remove(fresh)
		if errors.Is(err, os.ErrExist) { // another process was faster
			return inUse(path)
		}
		return WriteError("make", path, err)
	}
	return nil
}
