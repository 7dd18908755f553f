// Package scratch gives the tests of a package an empty home and a folder for temporary files.
package scratch

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// Run calls run, which runs a package's tests, with an empty home directory, so that the user's files stay untouched, and
// a temporary directory that it removes. The latter is in memory if there is room, since some tests create thousands of
// files; with CURTSY_LONG it is on disk, since full sizes take gigabytes. The time zone is far from UTC, so that tests
// find local times in output.
//
// Unless GOGC is set, garbage collection waits for four times the live memory, also in processes that the tests start:
// most leave garbage and keep little.
func Run(run func() int) int {
	parent := ""
	if os.Getenv("CURTSY_LONG") == "" {
		parent = memory()
	}
	dir, err := os.MkdirTemp(parent, "curtsy-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil { // for a server that runs as another user
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		_ = os.Setenv(name, home) // fails only for invalid names
	}
	_ = os.Setenv("TMPDIR", dir)
	_ = os.Setenv("TZ", "Pacific/Chatham") // for processes that the tests start
	time.Local = time.FixedZone("Chatham", 13*3600+45*60)
	if os.Getenv("GOGC") == "" {
		_ = os.Setenv("GOGC", "400")
		debug.SetGCPercent(400)
	}
	return run()
}
