package force_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
)

// holdFile keeps the file open in a child until its input ends, and works on it before and after.
func holdFile(ctx context.Context, file string) error {
	f, err := openAndReport(file)
	if err != nil {
		return err
	}
	s := newScript()
	if err := s.steps[0](ctx, f); err != nil {
		return err
	}
	say("armed")
	bufio.NewReader(os.Stdin).ReadString('\n')
	if err := s.steps[1](ctx, f); err != nil {
		return err
	}
	return f.Close()
}

func held(t *testing.T, file string) *process {
	t.Helper()
	ready := make(chan struct{})
	p := start(t, "", "hold", file, func(p *process) {
		if p.armed {
			close(ready)
		}
	})
	select {
	case <-ready:
	case <-p.heard:
		t.Fatalf("the child has ended: %s", p.errors.String())
	}
	return p
}

func TestLock_SecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "frontier.db")
	p := held(t, file)
	before := mustRead(t, file)
	for range sizes(2, 20) {
		for call, open := range ways() {
			err := open(file)
			switch {
			case !errors.Is(err, frontier.ErrInUse):
				t.Errorf("%s in a second process: %v, want frontier.ErrInUse", call, err)
			case !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "wait until it ends, or stop it"):
				t.Errorf("%s in a second process: %q lacks the directory or the advice", call, err)
			}
		}
	}
	assert.Equal(t, before, mustRead(t, file), "the file was changed by a process that was refused")
	p.in.Close()
	err := p.wait()
	require.Truef(t, err == nil, "the first process: %v\n%s", err, p.errors.String())
	clean(t, file)
	list, urls := commits(t)
	assert.True(t, look(t, file, urls).same(list[1].is), "the file lacks something that the first process did")
	for call, open := range ways() {
		assert.NoErrorf(t, open(file), "%s after the first process has ended", call)
	}
}

// ways are those of opening a file and closing it.
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
			_, err := bolt.Check(file)
			return err
		},
	}
}

// The lock belongs to a process: when it is killed, the next one opens the file at once.
func TestLock_KilledProcessLeavesNoLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "frontier.db")
	for range 2 {
		p := held(t, file)
		p.kill()
		clean(t, file)
	}
}
