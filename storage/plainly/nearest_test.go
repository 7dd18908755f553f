package plainly_test

import (
	"testing"

	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
)

func TestNearestName(t *testing.T) {
	names := crawldir.Names()
	for given, want := range map[string]string{
		"dely": "delay", "max-page": "max-pages", "maxpages": "max-pages", "conatct": "contact",
		"zebra": "", "x": "",
	} {
		if got := plainly.Nearest(given, names); got != want {
			t.Errorf("nearest to %q: %q, want %q", given, got, want)
		}
	}
}
