package force_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	roleKey  = "CURTSY_FORCE_ROLE"  // the child's task; not set in the parent
	fileKey  = "CURTSY_FORCE_FILE"  // the frontier
	faultKey = "CURTSY_FORCE_FAULT" // the action of the hook below bbolt; see testdata/hook.go.txt
	armKey   = "CURTSY_FORCE_ARM"   // the value that faultKey gets once the script has something to lose
	clockKey = "CURTSY_FORCE_CLOCK" // by how many seconds the engine's clock is wrong
	limitKey = "CURTSY_FORCE_LIMIT" // by how many bytes the file may still grow
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
	work, ok := map[string]func(context.Context, string) error{
		"script": runScript,
		"hold":   holdFile,
		"step":   stepClock,
		"limit":  fillUntilLimit,
	}[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no role", role)
		os.Exit(2)
	}
	if err := work(context.Background(), os.Getenv(fileKey)); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

func say(word string, more ...any) {
	text := strings.ReplaceAll(fmt.Sprint(more...), "\n", " ")
	if _, err := fmt.Println(word, text); err != nil {
		panic(err) // the parent is gone
	}
}

// output is the output of a child.
type output struct {
	opened, armed, done bool
	steps               int    // acknowledged
	refused             string // the error of a call
	unpoisoned          string // the results of later calls, if one of them returned something else
}

func (d *output) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "opened":
		d.opened = true
	case "armed":
		d.armed = true
	case "step":
		d.steps++
	case "refused":
		d.refused = rest
	case "unpoisoned":
		d.unpoisoned = rest
	case "done":
		d.done = true
	}
}

type process struct {
	output
	cmd    *exec.Cmd
	heard  chan struct{} // closed at the end of its output
	errors bytes.Buffer
	once   sync.Once
	in     io.Closer
}

// start starts binary, or this one when it is empty, as a child. hear is called after each line of its output; it may
// be nil.
func start(t testing.TB, binary, role, file string, hear func(p *process), env ...string) *process {
	t.Helper()
	if binary == "" {
		self, err := os.Executable()
		require.NoError(t, err)
		binary = self
	}
	p := &process{cmd: exec.Command(binary), heard: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), roleKey+"="+role, fileKey+"="+file), env...)
	p.cmd.Stderr = &p.errors
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	p.in = in
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	go func() {
		defer close(p.heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if p.hear(lines.Text()); hear != nil {
				hear(p)
			}
		}
	}()
	return p
}

func ran(t testing.TB, binary, role, file string, env ...string) *process {
	t.Helper()
	p := start(t, binary, role, file, nil, env...)
	p.wait()
	return p
}

// kill kills the process, unless it has ended, and waits for its end and its output.
func (p *process) kill() {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		<-p.heard
		p.cmd.Wait()
	})
}

func (p *process) wait() (err error) {
	p.once.Do(func() {
		watch := time.AfterFunc(2*time.Minute, func() { p.cmd.Process.Kill() }) // a child that hangs must not hang the test
		defer watch.Stop()
		<-p.heard
		err = p.cmd.Wait()
	})
	return err
}

func long() bool { return os.Getenv("CURTSY_LONG") != "" }

func sizes(short, full int) int {
	if long() {
		return full
	}
	return short
}

// cannot skips a test that this machine cannot run, unless CURTSY_MUST_RUN is set.
func cannot(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CURTSY_MUST_RUN") != "" {
		t.Fatalf(format+"; and CURTSY_MUST_RUN is set", args...)
	}
	t.Skipf(format, args...)
}
