package frontiertest

import (
	"testing"

	"curtsy/frontier"
)

// Harness is how the suite handles an engine. Everything happens inside a testing/synctest bubble: time is virtual,
// real file I/O is fine, and every goroutine that the engine starts must have ended when Close or Crash returns.
// The engine must wait with timers, channels and conditions: a goroutine that waits for a sync.Mutex held across
// such a wait stops the virtual clock.
type Harness struct {
	// Open opens the frontier in dir: a new one in an empty directory, otherwise the one that was left there. It
	// fails the test with t.Fatal. At most one frontier is open in a directory at a time. Required.
	Open func(t testing.TB, dir string, o frontier.Options) frontier.Frontier

	// Crash ends f as kill -9 would: nothing more is committed, nothing is marked clean, files and locks are
	// released, calls that block return an error. The directory is opened again afterwards. Nil skips every rule
	// that is about crashes.
	Crash func(t testing.TB, f frontier.Frontier)

	// Check examines what a closed frontier left in dir, with t.Error for each fault. It is called at the end of
	// every test and after every crash and close of the workload. Nil means that there is nothing to examine.
	Check func(t testing.TB, dir string)
}
