package canon

import (
	"testing"

	"curtsy/crawler/foreigntest"
)

// The verdict is the fetch URL, or "" for a refusal.
func TestForeignURLsAreReadAsBrowsersReadThem(t *testing.T) {
	foreigntest.Run(t, "wpt-urls", func(asked []string) string { return foreignURL(asked[0], asked[1]) })
	foreigntest.Run(t, "wpt-toascii", func(asked []string) string { return foreignURL("", "http://"+asked[0]+"/") })
}

func foreignURL(base, input string) string {
	var from URL
	if base != "" {
		var err error
		if from, err = Parse(base); err != nil {
			return ""
		}
	}
	u, err := Parse(input)
	if base != "" {
		u, err = from.Resolve(input)
	}
	if err != nil {
		return ""
	}
	return u.String()
}
