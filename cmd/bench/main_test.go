package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asBench in the environment makes the test binary be bench.
const asBench = "CURTSY_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		main()
	}
	if os.Getenv("GORACE") == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=20") // of hundreds of processes
	}
	os.Exit(m.Run())
}

// command is a command line, to be run as a process with a configuration folder of its own.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	config := t.TempDir()
	cmd.Env = append(os.Environ(), asBench+"=1", "XDG_CONFIG_HOME="+config, "HOME="+config, "AppData="+config, "XDG_CACHE_HOME="+config, "LocalAppData="+config)
	return cmd
}

// result is what a process left.
type result struct {
	out, err string
	code     int
}

// ended runs a command to its end.
func ended(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// want checks the exit code and that standard error says all of these.
func (r result) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d; standard error:\n%s\nstandard output:\n%.4000s", r.code, code, r.err, r.out)
	}
	for _, s := range says {
		if !strings.Contains(r.err, s) {
			t.Errorf("standard error lacks %q:\n%s", s, r.err)
		}
	}
}

// skipWithout skips a test that needs a program, unless the environment says that all must run.
func skipWithout(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CURTSY_MUST_RUN") != "" {
		t.Fatalf("%s is not installed, and CURTSY_MUST_RUN is set", program)
	}
	t.Skipf("%s is not installed", program)
}
