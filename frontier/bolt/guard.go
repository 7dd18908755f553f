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
			err = &panicked{r}
		}
	}()
	return f()
}

// panicked is a panic that became an error. bbolt is not to be trusted after one: it may hold its own locks for ever.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("%v: %v", p.value, ErrDamaged) }
func (p *panicked) Unwrap() error { return ErrDamaged }
