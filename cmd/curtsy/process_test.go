package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/frontier/postgres"
	"curtsy/storage/scratch"
)

// asCurtsy in the environment makes the test binary run as curtsy.
const asCurtsy = "CURTSY_TEST_AS_CURTSY"

// fleetTTL in the environment of such a process sets postgres.TTL.
const fleetTTL = "CURTSY_TEST_FLEET_TTL"

func TestMain(m *testing.M) {
	if os.Getenv(asCurtsy) != "" {
		beCurtsy()
	}
	os.Exit(scratch.Run(func() int { return apart(m) }))
}

// beCurtsy is main, and writes its peak memory if tellPeak is set.
func beCurtsy() {
	if d, err := time.ParseDuration(os.Getenv(fleetTTL)); err == nil {
		postgres.TTL = d
	}
	path := os.Getenv(tellPeak)
	if path == "" {
		main()
	}
	debug.SetGCPercent(100) // as users run it
	code := run(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if err := os.WriteFile(path, []byte(strconv.FormatInt(peakRSS(), 10)), 0o666); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// apart runs the tests with settings for many short processes.
func apart(m *testing.M) int {
	os.Unsetenv("GITHUB_ACTIONS") // these tests may run there
	if os.Getenv("GORACE") == "" {
		// With the race detector each process sleeps for a second at its end. These are hundreds.
		os.Setenv("GORACE", "atexit_sleep_ms=20")
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && runtime.GOMAXPROCS(0) < sideBySide {
		if err := flag.Set("test.parallel", strconv.Itoa(sideBySide)); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// sideBySide is the least number of parallel tests: they wait for delays, browsers and processes.
const sideBySide = 6

// amongOthers makes a test parallel, except in its long form, which may measure times.
func amongOthers(t *testing.T) {
	if !full() {
		t.Parallel()
	}
}

// curtsy is a command in another process, with a new configuration folder.
func curtsy(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return curtsyWithin(t, 15*time.Minute, args...)
}

func curtsyWithin(t *testing.T, within time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	config := t.TempDir()
	cmd.Env = append(os.Environ(), asCurtsy+"=1", "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config, "XDG_CACHE_HOME="+config, "LocalAppData="+config)
	return cmd
}

// result is the outcome of a process.
type result struct {
	out, err string
	code     int
}

func ended(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	p := launched(t, cmd)
	r := p.end()
	if exit := (*exec.ExitError)(nil); p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, p.err)
	}
	return r
}

// want checks the exit code, and that standard error contains each of says.
func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	assert.Equalf(t, code, r.code, "exit code %d, want %d; standard error:\n%s\nstandard output:\n%.4000s", r.code, code, r.err, r.out)
	for _, s := range says {
		assert.Contains(t, r.err, s, "standard error")
	}
}

// skipWithout skips a test without its programs, unless CURTSY_MUST_RUN is set.
func skipWithout(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%s is not installed, and CURTSY_MUST_RUN is set", p)
		t.Skipf("%s is not installed", p)
	}
}

func needsSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
}

// full reports whether tests run in full size (.ci/long).
func full() bool { return os.Getenv("CURTSY_LONG") != "" }

// peakRSS is the peak memory of this process in bytes (Linux); 0 elsewhere.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// A process that runs several command lines, like a test, keeps none of them in memory.
func TestCLI_ReleasesEndedCommand(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.Streams{})
	held := weak.Make(root)
	runtime.KeepAlive(root)
	for range 3 {
		runtime.GC()
	}
	assert.Nil(t, held.Value(), "the commands are held by something that lives as long as the process")
}
