package main

import (
	"bytes"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience is how long a test waits for another process, which may take ten seconds to start.
const patience = 2 * time.Minute

// looking is the interval between two looks.
const looking = 2 * time.Millisecond

// within waits at most d until holds returns true, and reports whether it did. It returns early when over, if not nil, is closed.
func within(d, every time.Duration, over <-chan struct{}, holds func() bool) bool {
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	looks := time.NewTicker(every)
	defer looks.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-over:
			return false
		case <-deadline.C:
			return false
		case <-looks.C:
		}
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	require.Truef(t, within(patience, looking, nil, holds), "it never happened: %s", what)
}

// heardOutput is the output of a process so far.
type heardOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heardOutput) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heardOutput) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

type process struct {
	cmd       *exec.Cmd
	out, errs heardOutput
	over      chan struct{} // closed at its end
	err       error         // valid then
}

func launched(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, over: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.errs
	require.NoError(t, cmd.Start(), cmd.Args)
	go func() {
		p.err = cmd.Wait()
		close(p.over)
	}()
	return p
}

// until waits for something, and reports whether it happened before the process ended.
func (p *process) until(t *testing.T, what string, holds func() bool) bool {
	t.Helper()
	if within(patience, looking, p.over, holds) {
		return true
	}
	select {
	case <-p.over:
		return false
	default:
		p.kill()
		t.Fatalf("%v: it never happened: %s; standard error:\n%s", p.cmd.Args, what, p.errs.String())
		return false
	}
}

func (p *process) kill() bool {
	select {
	case <-p.over:
		return false
	default:
	}
	_ = p.cmd.Process.Kill() // it may be over
	<-p.over
	return p.err != nil
}

func (p *process) end() result {
	<-p.over
	return result{p.out.String(), p.errs.String(), p.cmd.ProcessState.ExitCode()}
}

// tellPeak in the environment names a file into which the process writes its peak memory at its end. The kernel's figure for the
// parent would include the parent's memory.
const tellPeak = "CURTSY_TEST_TELL_PEAK"

// tellingPeak makes a command write its peak memory, in bytes; 0 if unknown.
func tellingPeak(t *testing.T, cmd *exec.Cmd) (peak func() int64) {
	t.Helper()
	path := t.TempDir() + "/peak"
	cmd.Env = append(cmd.Env, tellPeak+"="+path)
	return func() int64 {
		t.Helper()
		b := fileOf(t, path)
		n, err := strconv.ParseInt(string(b), 10, 64)
		require.NoError(t, err)
		return n
	}
}
