package force_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/bolt/repair"
)

// holdFile keeps the file open until its input ends, and works on it before and after.
func holdFile(ctx context.Context, c *child) error {
	if err := c.open(options()); err != nil {
		return err
	}
	if err := c.addRange(ctx, 0, 100); err != nil {
		return err
	}
	c.about(event{Kind: armed})
	bufio.NewReader(os.Stdin).ReadString('\n')
	if err := c.turn(ctx, 1); err != nil {
		return err
	}
	if err := c.f.Close(); err != nil {
		return err
	}
	c.about(event{Kind: done})
	return nil
}

func TestLock_ASecondProcessIsRefusedAndTheFirstGoesOn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "frontier.db")
	v, ready := &verdict{model: newModel()}, make(chan struct{})
	p := start(t, "", "hold", file, 1, func(e event) {
		if v.hear(e); e.Kind == armed {
			close(ready)
		}
	})
	select {
	case <-ready:
	case <-p.heard:
		t.Fatalf("the child has ended: %s", p.errors.String())
	}
	before := mustRead(t, file)
	for range sizes(2, 20) {
		for call, open := range ways() {
			err := open(file)
			switch {
			case !errors.Is(err, frontier.ErrInUse):
				t.Errorf("%s in a second process: %v, want frontier.ErrInUse", call, err)
			case !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "wait until it ends, or stop it"):
				t.Errorf("%s in a second process: %q names no directory, or does not say what to do", call, err)
			}
		}
	}
	if mustRead(t, file) != before {
		t.Error("the file was changed by a process that was refused")
	}
	p.in.Close()
	if err := p.wait(); err != nil || v.ended != done {
		t.Fatalf("the first process: %v\n%s", err, p.errors.String())
	}
	v.compare(t, file, now())
	if len(v.faults) > 0 {
		t.Fatalf("%q", v.faults)
	}
	for call, open := range ways() {
		if err := open(file); err != nil {
			t.Errorf("%s after the first process has ended: %v", call, err)
		}
	}
	t.Logf("lock: %d attempts at a file in use refused, %d calls of its holder acknowledged, lost %d", 3*sizes(2, 20), v.tally.acknowledged, v.tally.lost)
}

// ways are those of opening a file; what is opened is closed.
func ways() map[string]func(string) error {
	return map[string]func(string) error{
		"Open": func(file string) error {
			f, err := bolt.Open(file, options())
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"OpenReadOnly": func(file string) error {
			f, err := bolt.OpenReadOnly(file)
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"Check": func(file string) error {
			_, err := repair.Check(file)
			return err
		},
	}
}

// The lock is that of a process: when it is killed, the next one opens the file at once.
func TestLock_AKilledProcessLeavesNoLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frontier.db")
	for range 2 {
		ready := make(chan struct{})
		p := start(t, "", "hold", file, 1, func(e event) {
			if e.Kind == armed {
				close(ready)
			}
		})
		select {
		case <-ready:
		case <-p.heard:
			t.Fatalf("the child has ended: %s", p.errors.String())
		}
		p.kill()
		clean(t, file)
	}
}
