package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"curtsy/frontier/durable"
)

// packer compresses complete segments, one after the other, while the Writer goes on.
type packer struct {
	numbers []int         // what is to be packed; guarded by the Writer's mu
	done    chan struct{} // closed when the goroutine has ended; nil while there is none; guarded likewise
	err     error         // of the goroutine; read when done is closed
}

// pack has a segment packed. The caller holds w.mu.
func (w *Writer) pack(number int) {
	p := &w.packer
	p.numbers = append(p.numbers, number)
	if p.done == nil {
		p.done = make(chan struct{})
		go w.packAll(p.done) // Close waits for it
	}
}

// packAll packs until there is nothing more to do.
func (w *Writer) packAll(done chan struct{}) {
	defer close(done)
	for {
		w.mu.Lock()
		if len(w.packer.numbers) == 0 || w.packer.err != nil {
			w.packer.done = nil
			w.mu.Unlock()
			return
		}
		number := w.packer.numbers[0]
		w.packer.numbers = w.packer.numbers[1:]
		w.mu.Unlock()
		if err := packSegment(w.sys, w.dir, number); err != nil {
			w.mu.Lock()
			w.packer.err = fmt.Errorf("ledger: pack %s (it stays as it is, and the next open packs it): %w",
				path(w.dir, number), err)
			w.mu.Unlock()
		}
	}
}

// packSegment replaces a plain segment by a packed one. Broken off between any two steps it leaves one of them whole:
// the new file has its name only when it is durable, and only then the plain one goes.
func packSegment(sys system, dir string, number int) error {
	plain := path(dir, number)
	packed := plain + packedSuffix
	fresh := packed + newSuffix
	if err := sys.remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := compress(sys, plain, fresh); err != nil {
		return errors.Join(err, sys.remove(fresh))
	}
	if err := sys.rename(fresh, packed); err != nil {
		return errors.Join(err, sys.remove(fresh))
	}
	if err := sys.syncDir(dir); err != nil {
		return err
	}
	if err := sys.remove(plain); err != nil {
		return err
	}
	return sys.syncDir(dir)
}

func compress(sys system, from, to string) (err error) {
	in, err := durable.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := sys.create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(maxWindow/4))
	if err != nil {
		return err
	}
	_, err = io.Copy(z, in)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	return out.Sync()
}
