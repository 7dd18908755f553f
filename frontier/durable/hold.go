package durable

import (
	"errors"
	"io"
	"os"
)

// ErrHeld says that another process holds a folder, or another part of this one.
var ErrHeld = errors.New("another process is at work in it")

// Hold takes a folder for one process alone, until it is closed or the process ends, however that ends. Another that
// wants to have it gets ErrHeld and is not kept waiting. It keeps out those only who Hold, too. A file system without
// locks keeps out nobody.
func Hold(dir string) (io.Closer, error) {
	f, alone, err := hold(dir)
	switch {
	case err != nil:
		return nil, err
	case !alone:
		err = ErrHeld
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, &os.PathError{Op: "hold", Path: dir, Err: err}
	case f == nil:
		return io.NopCloser(nil), nil
	}
	return f, nil
}
