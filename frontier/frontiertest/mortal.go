package frontiertest

import (
	"context"
	"errors"
	"sync/atomic"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Mortal is a frontier that a test can kill like a process.
type Mortal struct {
	frontier.Frontier
	killed atomic.Bool
}

// OpenMortal opens the frontier in the file at path by open, which is that of an engine.
func OpenMortal(open func(path string, o frontier.Options) (frontier.Frontier, error), path string, o frontier.Options) (m *Mortal, err error) {
	m = &Mortal{}
	barrier := o.Barrier
	o.Barrier = func(ctx context.Context) error {
		if m.killed.Load() {
			return errors.New("the frontier was killed")
		}
		if barrier == nil {
			return nil
		}
		return barrier(ctx)
	}
	m.Frontier, err = open(path, o)
	return m, err
}

// Kill ends the frontier as kill -9 would: what was applied and not committed is lost, every later call fails, and the next
// opening finds an unclean stop.
func (m *Mortal) Kill() {
	m.killed.Store(true)
	nobody, _ := canon.ParseAuthority("http://nobody.test")
	_, _ = m.Steer(context.Background(), frontier.Steering{Act: frontier.Rest, Authority: nobody}) // a commit, which fails
	_ = m.Close()
}
