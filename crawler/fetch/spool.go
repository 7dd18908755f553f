package fetch

import (
	"fmt"
	"os"
	"sync"

	"curtsy/storage/spool"
)

// spoolFirst is how many bytes a body has room for in memory at first.
const spoolFirst = 8 << 10

// spooled keeps what is read of an exchange, to be read again. Its memory is used again by the next: whoever reads a
// body that is closed is told so.
type spooled struct {
	*spool.Spool
	pool   *sync.Pool
	closed bool
}

func (f *Fetcher) newSpooled() *spooled {
	return &spooled{Spool: f.memory.Get().(*spool.Spool), pool: &f.memory}
}

// newSpool makes one for the pool.
func newSpool(dir string) func() any {
	return func() any {
		s := &spool.Spool{Dir: dir, Pattern: "curtsy-body-*"}
		s.Grow(spoolFirst)
		return s
	}
}

// spoolError is a failure of our own disk.
type spoolError struct{ err error }

func (e *spoolError) Error() string { return e.err.Error() }
func (e *spoolError) Unwrap() error { return e.err }

// Write appends p. Its error is a *spoolError.
func (b *spooled) Write(p []byte) (int, error) {
	n, err := b.Spool.Write(p)
	if err != nil {
		return n, &spoolError{fmt.Errorf("spool a body in %s: %w", b.Dir, err)}
	}
	return n, nil
}

// ReadAt is that of io.ReaderAt.
func (b *spooled) ReadAt(p []byte, off int64) (int, error) {
	if b.closed {
		return 0, os.ErrClosed
	}
	return b.Spool.ReadAt(p, off)
}

// close gives the memory back and removes the file. A nil one has nothing to close.
func (b *spooled) close() error {
	if b == nil || b.closed {
		return nil
	}
	b.closed = true
	s := b.Spool
	b.Spool = nil
	err := s.Reset()
	b.pool.Put(s)
	if err != nil {
		return fmt.Errorf("fetch: remove a spooled body: %w", err)
	}
	return nil
}
