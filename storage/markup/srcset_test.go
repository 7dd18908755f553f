package markup

import (
	"testing"

	"curtsy/crawler/foreigntest"
)

func TestSrcsetHasTheCandidatesThatBrowsersSee(t *testing.T) {
	foreigntest.Run(t, "wpt-srcset", func(asked []string) (first string) {
		Candidates(asked[0], func(start, end int) {
			if first == "" {
				first = asked[0][start:end]
			}
		})
		return first
	})
}
