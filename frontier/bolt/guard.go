package bolt

import (
	"fmt"
	"runtime/debug"
)

// guard calls f, which reads or writes the file through bbolt. bbolt reads a memory map and trusts what it finds:
// in a damaged page it panics, or follows an address out of the map. Both become ErrDamaged.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v: %w", r, ErrDamaged)
		}
	}()
	return f()
}
