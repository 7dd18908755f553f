package hostlock

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asChild makes the test binary one of several processes: its value is the role, with arguments.
const asChild = "CURTSY_HOSTLOCK_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(asChild); role != "" {
		if err := child(role, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child holds a host, or a back-off, until its standard input ends; or it takes and releases a host repeatedly and records the times.
func child(role string, args []string) error {
	l, err := Open(args[0])
	if err != nil {
		return err
	}
	a := authority(&testing.T{}, args[1])
	if role == "hold" {
		if wait, err := l.Take(a, time.Nanosecond); wait != 0 || err != nil {
			return fmt.Errorf("wait %v, %w", wait, err)
		}
		fmt.Println("taken")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		return l.Release(a, time.Hour)
	}
	if role == "rest" {
		if err := l.Rest(a, time.Now(), Wish{Wait: 48 * time.Hour, Status: 429}); err != nil {
			return err
		}
		fmt.Println("asked")
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		return nil
	}
	diary, err := os.OpenFile(args[2], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	for n := 0; n < 200; {
		wait, err := l.Take(a, 0)
		if err != nil {
			return err
		}
		if wait > 0 {
			continue // the wait is for others to sleep; here it is the race that counts
		}
		n++
		for _, what := range []string{"begins", "ends"} { // two writes: those of another process could come between
			if _, err := fmt.Fprintf(diary, "%d %s\n", os.Getpid(), what); err != nil {
				return err
			}
		}
		if err := l.Release(a, 0); err != nil {
			return err
		}
	}
	return nil
}

func start(t *testing.T, role string, args ...string) (cmd *exec.Cmd, out *bufio.Reader, stop func()) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), asChild+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewReader(pipe), func() { in.Close() }
}

// Politeness rule 17: the other process has the host until it releases it or is killed.
func TestRule17_AnotherProcessHasTheHost(t *testing.T) {
	for _, kill := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "locks")
		l, a := open(t, path), authority(t, "http://a.test")
		other, out, stop := start(t, "hold", path, a.String())
		line, err := out.ReadString('\n')
		require.Truef(t, err == nil && strings.TrimSpace(line) == "taken", "%q, %v", line, err)
		mustWait(t, l, a, Busy)
		mustTake(t, l, authority(t, "http://b.test"), 0)
		if kill {
			require.NoError(t, other.Process.Kill())
			_ = other.Wait() // the error is that it was killed
			mustTake(t, l, a, 0)
			continue
		}
		released := time.Now()
		stop()
		require.NoError(t, other.Wait())
		wait, err := l.Take(a, 0)
		assert.Truef(t, err == nil && wait >= time.Hour-time.Since(released) && wait <= time.Hour, "after its release: %v, %v; want the rest of an hour", wait, err)
	}
}

func TestRule17_ManyProcessesTakeTurns(t *testing.T) {
	dir := t.TempDir()
	path, diary := filepath.Join(dir, "locks"), filepath.Join(dir, "diary")
	open(t, path) // skips where there are no locks
	var all []*exec.Cmd
	var begin []func()
	for range 4 {
		cmd, out, stop := start(t, "race", path, "http://a.test", diary)
		all, begin = append(all, cmd), append(begin, stop)
		line, err := out.ReadString('\n')
		require.Truef(t, err == nil && line == "ready\n", "%q, %v", line, err)
	}
	for _, now := range begin {
		now()
	}
	for _, cmd := range all {
		require.NoError(t, cmd.Wait())
	}
	b, err := os.ReadFile(diary)
	require.NoError(t, err)
	lines := strings.Fields(strings.ReplaceAll(string(b), " ", ":"))
	require.Len(t, lines, 1600, "lines")
	for i := 0; i < len(lines); i += 2 {
		who, _, _ := strings.Cut(lines[i], ":")
		require.Truef(t, lines[i] == who+":begins" && lines[i+1] == who+":ends", "line %d: %s, %s: two at once", i, lines[i], lines[i+1])
	}
}
