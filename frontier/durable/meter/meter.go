// Package meter reports the progress of long operations through a context. Whoever waits listens with With; whoever
// works says with Of how much there is to do in all and with Add how much more is done. Where nobody listens, both cost
// a look into the context.
package meter

import (
	"context"
	"io"
)

// Listener hears how far a work is. Its functions are called by the work's own goroutines, and return at once.
type Listener struct {
	Of  func(more int64) // there is so much more to do in all
	Add func(done int64) // so much more is done
}

type key struct{}

// With returns a context whose work l hears.
func With(ctx context.Context, l Listener) context.Context { return context.WithValue(ctx, key{}, l) }

// Of says that there is so much more to do in all.
func Of(ctx context.Context, more int64) {
	if l, ok := ctx.Value(key{}).(Listener); ok {
		l.Of(more)
	}
}

// Add says that so much more is done.
func Add(ctx context.Context, done int64) {
	if l, ok := ctx.Value(key{}).(Listener); ok {
		l.Add(done)
	}
}

// Reader returns r, and each byte that is read of it is done.
func Reader(ctx context.Context, r io.Reader) io.Reader {
	l, ok := ctx.Value(key{}).(Listener)
	if !ok {
		return r
	}
	return &reader{r, l}
}

type reader struct {
	r io.Reader
	l Listener
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.l.Add(int64(n))
	return n, err
}
