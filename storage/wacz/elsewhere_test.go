package wacz

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepeatsOfAnEarlierCrawlAreCounted(t *testing.T) {
	for want, all := range map[int64][]exchange{
		0: {{url: "http://a.test/1", body: "one"}, {url: "http://a.test/2", body: "one"}},
		2: {{url: "http://a.test/1", body: "one"}, {url: "http://a.test/2", body: "two", earlier: true}, {url: "http://a.test/3", body: "two"}},
	} {
		o := crawl(t, 0, all...).options(t)
		path := filepath.Join(t.TempDir(), "a.wacz")
		r, err := Create(t.Context(), path, o)
		require.NoError(t, err)
		assert.Equalf(t, want, r.Elsewhere, "%d repeats of an earlier crawl, want %d", r.Elsewhere, want)
		leftOut := strings.Join(packedBy(t, o).manifest().Curtsy.LeftOut, " ")
		got := strings.Contains(leftOut, "an earlier crawl archived it")
		assert.Truef(t, got == (want > 0), "the manifest records it: %v\n%s", got, leftOut)
	}
}
