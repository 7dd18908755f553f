package coding

import (
	"context"
	"io"
)

// Limited reads a body up to a limit and remembers how that ended: a parser hands on errors of its reader and its own
// failures alike.
type Limited struct {
	Ctx  context.Context //nolint:containedctx // of the call that reads the body; its end ends the reading
	R    io.Reader
	Left int64 // bytes still allowed
	Over bool  // there were more
	Err  error // why reading failed; nil at the end of the body
}

// Read is that of io.Reader. Behind the limit it returns io.EOF.
func (l *Limited) Read(p []byte) (n int, err error) {
	if err := l.Ctx.Err(); err != nil {
		l.Err = err
		return 0, err
	}
	if l.Left == 0 {
		var probe [1]byte
		n, err = io.ReadFull(l.R, probe[:])
		l.Over = l.Over || n > 0
		n = 0
	} else {
		n, err = l.R.Read(p[:min(int64(len(p)), l.Left)])
		l.Left -= int64(n)
	}
	switch {
	case err != nil && err != io.EOF:
		l.Err = err
	case l.Over:
		err = io.EOF
	}
	return n, err
}
