// The files operator_* have the rules of what operators command and ask: Retry, Steer with its parks and drops, what is told of
// them, and Survey.

package frontiertest

import (
	"slices"

	"curtsy/frontier/frontiertest/stage"
)

// operatorRules are those of this room.
func operatorRules() []stage.Rule {
	return slices.Concat(retryRules(), retryHostRules(), heldRules(), steerRules(), dropRules(), tellRules(), surveyRules())
}
