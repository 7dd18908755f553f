package dbfile

import (
	"errors"
	"fmt"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Guard calls f, which reads or writes the file through bbolt. bbolt reads a memory map and trusts what it finds:
// in a damaged page it panics, or follows an address out of the map. Both become ErrDamaged.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{value: r}
		}
	}()
	return f()
}

// Update is db.Update under Guard.
func Update(db *bbolt.DB, f func(tx *bbolt.Tx) error) error {
	err := Guard(func() error { return db.Update(f) })
	if p := (*panicked)(nil); errors.As(err, &p) {
		p.writing = true
	}
	return err
}

// panicked is a panic that became an error. bbolt is not to be trusted after one: when it was writing, it may hold its
// own locks for ever.
type panicked struct {
	value   any
	writing bool
}

// Discard closes db after an opening that failed with err, unless that might wait for ever.
func Discard(db *bbolt.DB, err error) {
	if p := (*panicked)(nil); errors.As(err, &p) && p.writing {
		return // the file is released when the process ends
	}
	db.Close()
}

// Stuck reports whether err, of this package, leaves a database that cannot be closed: a Close might wait for ever. The
// file is released when the process ends.
func Stuck(err error) bool {
	p := (*panicked)(nil)
	return errors.As(err, &p)
}

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", p.value, frontier.ErrDamaged) }
func (p *panicked) Unwrap() error { return frontier.ErrDamaged }
