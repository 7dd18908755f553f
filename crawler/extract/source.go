package extract

import (
	"errors"
	"io"
)

// errDone is what source.err holds when the work was cancelled.
var errDone = errors.New("extract: cancelled")

// source reads a body up to a limit and remembers how that ended: the parser hands on errors of its reader and its
// own failures alike.
type source struct {
	done <-chan struct{} // closed when the work is cancelled; looked at before each read
	body io.Reader
	left int64 // bytes still allowed
	over bool  // there were more
	err  error // why reading failed; nil at the end of the body
}

func (s *source) Read(p []byte) (n int, err error) {
	select {
	case <-s.done:
		s.err = errDone
		return 0, s.err
	default:
	}
	if s.left == 0 {
		var probe [1]byte
		n, err = io.ReadFull(s.body, probe[:])
		s.over = s.over || n > 0
		n = 0
	} else {
		n, err = s.body.Read(p[:min(int64(len(p)), s.left)])
		s.left -= int64(n)
	}
	switch {
	case err != nil && err != io.EOF:
		s.err = err
	case s.over:
		err = io.EOF
	}
	return n, err
}

// fill reads until p is full; whole is true when the body ends, or fails, before that.
func (s *source) fill(p []byte) (n int, whole bool) {
	for n < len(p) {
		m, err := s.Read(p[n:])
		n += m
		if err != nil {
			return n, true
		}
	}
	return n, false
}
