package frontiertest

import (
	"slices"
	"testing"
	"testing/synctest"

	"curtsy/frontier/frontiertest/operator"
	"curtsy/frontier/frontiertest/stage"
	"curtsy/frontier/frontiertest/stops"
	"curtsy/frontier/frontiertest/turns"
)

// Harness is how the suite handles an engine.
type Harness = stage.Harness

// Run holds an engine to the contract of package frontier: one sub-test per rule, each in a directory and a
// synctest bubble of its own.
func Run(t *testing.T, h Harness) {
	for _, r := range slices.Concat(turns.Rules(), stops.Rules(), operator.Rules()) {
		t.Run(r.Name, func(t *testing.T) {
			if r.Crash && h.Crash == nil {
				t.Skip("the engine cannot be crashed")
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { r.Test(stage.New(t, h, dir, r.Options)) })
		})
	}
}
