package frontiertest

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// fails runs a test that is expected to fail, and reports whether it does.
func fails(t testing.TB, test func(t testing.TB)) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a := &apart{TB: t, ctx: ctx}
	for _, f := range []func(){func() { test(a) }, a.cleanup} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
		cancel()
	}
	return a.failed.Load()
}

// apart is a test whose failure is no failure of another.
type apart struct {
	testing.TB
	ctx      context.Context
	failed   atomic.Bool
	cleanups []func()
}

func (a *apart) Context() context.Context { return a.ctx }
func (a *apart) Cleanup(f func())         { a.cleanups = append(a.cleanups, f) }
func (a *apart) Fail()                    { a.failed.Store(true) }
func (a *apart) Failed() bool             { return a.failed.Load() }
func (a *apart) FailNow()                 { a.Fail(); runtime.Goexit() }
func (a *apart) Error(...any)             { a.Fail() }
func (a *apart) Errorf(string, ...any)    { a.Fail() }
func (a *apart) Fatal(...any)             { a.FailNow() }
func (a *apart) Fatalf(string, ...any)    { a.FailNow() }

func (a *apart) cleanup() {
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
}
