package force_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The environment of a child.
const (
	roleKey  = "CURTSY_FORCE_ROLE" // what the child does; not set in the parent
	fileKey  = "CURTSY_FORCE_FILE" // the frontier
	seedKey  = "CURTSY_FORCE_SEED" // of its random numbers
	faultKey = "CURTSY_FORCE_FAULT"
	clockKey = "CURTSY_FORCE_CLOCK"
	limitKey = "CURTSY_FORCE_LIMIT"
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleKey)
	if role == "" {
		code := m.Run()
		if hooked.path != "" {
			os.RemoveAll(filepath.Dir(hooked.path))
		}
		os.Exit(code)
	}
	work, ok := roles()[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no role", role)
		os.Exit(2)
	}
	c := &child{teller: teller{out: os.Stdout}, file: os.Getenv(fileKey)}
	c.seed, _ = strconv.ParseUint(os.Getenv(seedKey), 10, 64)
	if err := work(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

// roles are what a child may do.
func roles() map[string]func(context.Context, *child) error {
	return map[string]func(context.Context, *child) error{
		"crowd":  crowd,
		"script": script,
		"hold":   holdFile,
		"step":   stepClock,
		"limit":  limited,
	}
}

// process is a child as its parent sees it.
type process struct {
	cmd    *exec.Cmd
	heard  chan struct{} // closed when all that it told has been heard
	errors bytes.Buffer
	listen error
	once   sync.Once
	in     io.Closer
}

// start starts binary, or this one when it is empty, as a child that tells hear what it does.
func start(t testing.TB, binary, role, file string, seed uint64, hear func(event), env ...string) *process {
	t.Helper()
	if binary == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		binary = self
	}
	p := &process{cmd: exec.Command(binary), heard: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), roleKey+"="+role, fileKey+"="+file, seedKey+"="+strconv.FormatUint(seed, 10)), env...)
	p.cmd.Stderr = &p.errors
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		defer close(p.heard)
		p.listen = listen(out, hear)
		io.Copy(io.Discard, out)
	}()
	return p
}

// kill kills the process, unless it has ended, and waits for it and for what it told.
func (p *process) kill() {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		<-p.heard
		p.cmd.Wait()
	})
}

// wait waits until the process ends by itself.
func (p *process) wait() (err error) {
	p.once.Do(func() {
		watch := time.AfterFunc(2*time.Minute, func() { p.cmd.Process.Kill() }) // a child that hangs must not hang the test
		defer watch.Stop()
		<-p.heard
		err = p.cmd.Wait()
	})
	return err
}

// long reports whether the full sizes are asked for.
func long() bool { return os.Getenv("CURTSY_LONG") != "" }

// sizes returns the size for a run.
func sizes(short, full int) int {
	if long() {
		return full
	}
	return short
}

// cannot skips a test that this machine cannot run, unless it must.
func cannot(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CURTSY_MUST_RUN") != "" {
		t.Fatalf(format+"; and CURTSY_MUST_RUN is set", args...)
	}
	t.Skipf(format, args...)
}
