// This file starts a temporary PostgreSQL server for tests, on loopback, never as root.

package frontiertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type Server struct {
	Port   int
	crawls atomic.Int64
	dir    string
	cmd    *exec.Cmd
	over   chan struct{} // closed when cmd has ended
}

// Start starts a server that ends with the test. Without PostgreSQL's programs it skips the test, or fails it with
// CURTSY_MUST_RUN.
func Start(t testing.TB) *Server {
	initdb := program("initdb")
	if initdb == "" {
		const why = "PostgreSQL's initdb is not installed (Debian: apt install postgresql)"
		require.Empty(t, os.Getenv("CURTSY_MUST_RUN"), why)
		t.Skip(why)
	}
	dir := temporary(t)
	data := filepath.Join(dir, "data")
	out, err := command(dir, initdb, "-D", data, "-U", "curtsy", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").CombinedOutput()
	require.NoErrorf(t, err, "initdb: %s", out)
	// A user named locked needs a password; all others are trusted.
	const trust = "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n" +
		"host replication all 127.0.0.1/32 trust\n"
	require.NoError(t, os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte(trust), 0o600))
	return run(t, dir)
}

// run starts the server of a cluster, until the end of the test.
func run(t testing.TB, dir string) *Server {
	s := &Server{Port: freePort(t), dir: dir, over: make(chan struct{})}
	close(s.over)
	t.Cleanup(func() {
		s.stop(os.Interrupt) // a fast shutdown
		if t.Failed() {
			text, _ := os.ReadFile(s.log())
			t.Logf("the server's log:\n%s", text[max(0, len(text)-2000):])
		}
	})
	s.Restart(t)
	return s
}

func (s *Server) Standby(t testing.TB) *Server {
	dir := temporary(t)
	out, err := command(dir, program("pg_basebackup"), "-D", filepath.Join(dir, "data"), "-R", "--checkpoint=fast", "--no-sync",
		"-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "curtsy").CombinedOutput()
	require.NoErrorf(t, err, "pg_basebackup: %s", out)
	return run(t, dir)
}

// temporary makes a folder of the server's user, who cannot enter t.TempDir.
func temporary(t testing.TB) string {
	dir, err := os.MkdirTemp("", "pgtest-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, own(dir))
	return dir
}

func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// Restart starts the server again, and returns when it takes connections. A killed server may have processes left for a
// moment, and does not start until they end.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	ready := program("pg_isready")
	for range 1200 {
		select {
		case <-s.over:
			s.start(t)
		default:
		}
		if exec.CommandContext(t.Context(), ready, "-q", "-h", "127.0.0.1", "-p", fmt.Sprint(s.Port)).Run() == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the server does not take connections")
}

func (s *Server) start(t testing.TB) {
	f, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	require.NoError(t, err)
	defer f.Close()
	sets := []string{"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60"}
	if os.Getenv("CURTSY_LONG") == "" { // small tables in many short sessions; figures need the defaults
		sets = append(sets, "full_page_writes=off", "shared_buffers=16MB", "autovacuum=off", "jit=off")
	}
	args := []string{"-D", filepath.Join(s.dir, "data"), "-p", fmt.Sprint(s.Port)}
	for _, set := range sets {
		args = append(args, "-c", set)
	}
	cmd := command(s.dir, program("postgres"), args...)
	cmd.Stdout, cmd.Stderr = f, f
	require.NoError(t, cmd.Start())
	over := make(chan struct{})
	s.cmd, s.over = cmd, over
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
}

// Stop kills the server: the next start recovers.
func (s *Server) Stop() { s.stop(os.Kill) }

// CPU ends the server and returns the processor time of all its processes.
func (s *Server) CPU() time.Duration {
	s.stop(os.Interrupt)
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

func (s *Server) stop(how os.Signal) {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(how) // it may be over
		<-s.over
	}
}

// Locator returns the locator of a new crawl.
func (s *Server) Locator() string {
	return fmt.Sprintf("postgres://curtsy@127.0.0.1:%d/postgres?crawl=t%d&sslmode=disable", s.Port, s.crawls.Add(1))
}

// SQL runs statements as the owner, and returns the rows without headers.
func (s *Server) SQL(t testing.TB, statements string) string {
	cmd := exec.CommandContext(t.Context(), program("psql"), "-v", "ON_ERROR_STOP=1", "-qAt", "-h", "127.0.0.1", "-p", fmt.Sprint(s.Port), "-U", "curtsy", "-c", statements, "postgres")
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s: %s", statements, out)
	return string(out)
}

// program finds one of PostgreSQL's programs, some of which Debian keeps out of the path.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(all) == 0 {
		return ""
	}
	slices.SortFunc(all, strings.Compare)
	return all[len(all)-1]
}

func freePort(t testing.TB) int {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
