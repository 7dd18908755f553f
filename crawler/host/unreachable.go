package host

import (
	"strconv"

	"curtsy/robots"
)

// WhyUnreachable says why a policy cannot be had.
func WhyUnreachable(s robots.State) string {
	if f := s.Failure(); f != "" {
		return "robots.txt: " + f
	}
	return "robots.txt: status " + strconv.Itoa(s.Status())
}
