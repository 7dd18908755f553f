// Package scratch gives the tests of a package an empty home and a folder for temporary files.
package scratch

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

// Run calls run, which runs the tests of a package, and removes the files that they leave there. The home directory is empty, so
// that keys, checkpoints and host locks of the user stay untouched. Temporary files are in memory if the system has room
// there: some tests create and remove thousands, which takes more processor time on a disk than all else they do. With
// CURTSY_LONG they are on the disk, since full sizes take gigabytes.
//
// Unless GOGC is set, the collector waits until there is four times as much garbage as live memory, here and in the processes
// that the tests start. Most of them leave garbage and keep little.
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
	if err := os.Chmod(dir, 0o711); err != nil { // a server of another user has its files here
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		_ = os.Setenv(name, home) // it fails for names that cannot be one
	}
	_ = os.Setenv("TMPDIR", dir)
	if os.Getenv("GOGC") == "" {
		_ = os.Setenv("GOGC", "400")
		debug.SetGCPercent(400)
	}
	return run()
}
