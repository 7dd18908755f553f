// The files stops_* have the rules of stops, clean and unclean: what is durable and when, what a commit relies on, how long
// hosts rest after an opening, and what becomes of a task that was in flight when the process died.

package frontiertest

import (
	"slices"

	"curtsy/frontier/frontiertest/stage"
)

// stopRules are those of this room.
func stopRules() []stage.Rule {
	return slices.Concat(durabilityRules(), commitRules(), restartRules(), suspectRules(), recordRules(), quarantineRules())
}
