// Package meter reports the progress of long operations through a context. With registers a listener; Of reports work
// to do and Add work done. Without a listener, both cost a look into the context.
package meter

import (
	"context"
	"io"
)

// Listener receives progress. The operation's goroutines call its functions, which must return at once.
type Listener struct {
	Of  func(more int64) // more work to do
	Add func(done int64) // more work done
}

type key struct{}

// With returns a context whose progress l receives.
func With(ctx context.Context, l Listener) context.Context { return context.WithValue(ctx, key{}, l) }

// Of reports more work to do.
func Of(ctx context.Context, more int64) {
	if l, ok := ctx.Value(key{}).(Listener); ok {
		l.Of(more)
	}
}

// Add reports more work done.
func Add(ctx context.Context, done int64) {
	if l, ok := ctx.Value(key{}).(Listener); ok {
		l.Add(done)
	}
}

// Reader returns r with Add called for each byte that is read.
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
