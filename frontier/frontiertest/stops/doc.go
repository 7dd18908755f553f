// Package stops is the rules of stops, clean and unclean: what is durable and when, what a commit relies on, how long
// hosts rest after an opening, and what becomes of a task that was in flight when the process died.
package stops

import (
	"slices"

	"curtsy/frontier/frontiertest/stage"
)

// Rules are those of this room.
func Rules() []stage.Rule {
	return slices.Concat(durabilityRules(), commitRules(), restartRules(), suspectRules(), recordRules(), quarantineRules())
}
