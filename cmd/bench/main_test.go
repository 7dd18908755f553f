package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/scratch"
)

// asBench in the environment makes the test binary run as bench.
const asBench = "BENCH_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
	}
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=20") // of many processes
	}
	os.Exit(scratch.Run(m.Run))
}

// ran runs bench as a process, and checks its exit code and standard error.
func ran(t *testing.T, code int, says []string, args ...string) (out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	home := t.TempDir()
	cmd.Env = append(os.Environ(), asBench+"=1", "XDG_CONFIG_HOME="+home, "HOME="+home, "AppData="+home, "XDG_CACHE_HOME="+home, "LocalAppData="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q: exit code %d, want %d:\n%s%s", args, got, code, &stderr, &stdout)
	}
	for _, s := range says {
		if !strings.Contains(stderr.String(), s) {
			t.Errorf("%q: standard error lacks %q:\n%s", args, s, &stderr)
		}
	}
	return stdout.String()
}

func benched(t *testing.T, args ...string) (r result) {
	t.Helper()
	out := ran(t, cli.ExitDone, nil, append([]string{"--json", "--rounds", "1", "--dir", t.TempDir()}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	return r
}

func needsLoopback(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("127.0.1.1 is not an address of loopback here")
	}
}

func TestBench_EachSetupIsPoliteAndComplete(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // contenders
	}{
		{"--pages 50 --vs bare", "curtsy|bare|bare, Go's GC"},
		{"--setup many-hosts --pages 50 --hosts 10 --vs none", "curtsy"},
		{"--setup saturation --pages 50 --hosts 25 --pace 200ms", "curtsy"},
		{"--setup growth --hosts 2 --discovered 800,2000", "curtsy, 802 URLs|curtsy, 2002 URLs"},
		{"--setup hostile --pages 30", "curtsy|curtsy, page of 100 MiB|curtsy, gzip bomb of 128 MiB|curtsy, br bomb of 1 GiB"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			needsLoopback(t)
			if strings.Contains(tt.args, "hostile") && testing.Short() {
				t.Skip("it measures memory")
			}
			r := benched(t, strings.Fields(tt.args)...)
			var names []string
			for _, c := range r.Contenders {
				names = append(names, c.Name)
				x, f := c.Rounds[0], c.Rounds[0].Referee
				if f.Coverage != 1 || c.Name == curtsy && f.Pages != r.Pages || c.ours() == (f.Robots == 0) || len(f.violations()) > 0 && c.ours() {
					t.Errorf("%s: %+v", c.Name, f)
				}
				if x.PagesPerS <= 0 || x.CPUPerPage <= 0 || x.Allocs < 100 || x.PeakRSS <= 0 && runtime.GOOS != "windows" {
					t.Errorf("%s: %+v", c.Name, x)
				}
				if r.Setup == saturation && (f.Gaps != r.Pages || f.OfPermitted <= 0 || f.OfPermitted > 1.001) {
					t.Errorf("%s: %+v", c.Name, f)
				}
			}
			if got := strings.Join(names, "|"); got != tt.want || r.Setup == hostile && len(r.Added) != 3 {
				t.Errorf("contenders %q, added %+v", got, r.Added)
			}
		})
	}
}

func TestBench_ProfilesEachRound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := ran(t, cli.ExitDone, []string{"round 2 of 2: curtsy: "}, "--rounds", "2", "--pages", "20", "--vs", "none", "--profile", dir)
	for _, s := range []string{"one-host: 20 pages at 1 host, 16 at a time, 2 rounds", "PAGES/S", "\ncurtsy ", "the servers found no violation"} {
		assert.Containsf(t, out, s, "%q is missing:\n%s", s, out)
	}
	for _, names := range []string{"curtsy-[12].pprof", "curtsy-[12].allocs.pprof"} {
		if found, err := filepath.Glob(filepath.Join(dir, names)); len(found) != 2 {
			t.Errorf("profiles %s: %q, %v", names, found, err)
		}
	}
}

func TestBench_RefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--setup two-hosts":                        "write one-host",
		"--rounds 0":                               "--rounds and --pace must be positive",
		"--hosts 2":                                "--hosts does not apply to --setup one-host",
		"--setup many-hosts --pages 10":            "10 pages for 200 hosts",
		"--setup saturation --vs bare":             "observes no delay",
		"--vs none --vs bare":                      "none by itself",
		"--vs curl":                                "a command line with {url}",
		"--vs no-such-crawler{url}":                "not found",
		"--setup growth --vs wget":                 "have no end",
		"--vs checkers --pages 5":                  "omit --pages",
		`child {"Do":"bare","Seeds":["http://a"]}`: "loopback only",
	} {
		ran(t, cli.ExitUsage, []string{says}, strings.Fields(args)...)
	}
}
