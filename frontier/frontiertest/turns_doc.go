// The files turns_* have the rules of a running crawl: which URLs are accepted, in what order tasks are given, what a
// turn is, how it ends, what waits, what there is no room for, and when a crawl is over.

package frontiertest

import (
	"slices"

	"curtsy/frontier/frontiertest/stage"
)

// turnRules are those of this room.
func turnRules() []stage.Rule {
	return slices.Concat(acceptRules(), orderRules(), leaseRules(), keepRules(), authorityRules(), deferralRules(), endRules(),
		hostRules(), capRules(), depthRules(), sizeRules(), seedRules())
}
