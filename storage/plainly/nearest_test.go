package plainly_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

func TestNearestName(t *testing.T) {
	names := crawldir.Names()
	for given, want := range map[string]string{
		"dely": "delay", "max-page": "max-pages", "maxpages": "max-pages", "conatct": "contact",
		"zebra": "", "x": "",
	} {
		assert.Equalf(t, want, plainly.Nearest(given, names), "nearest to %q", given)
	}
}
