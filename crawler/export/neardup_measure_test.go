package export

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// score is how well one way to find pairs does against all pairs.
type score struct{ right, wrong, missed int }

func (s score) String() string {
	return fmt.Sprintf("precision %.4f, recall %.4f", float64(s.right)/float64(max(s.right+s.wrong, 1)), s.recall())
}

func (s score) recall() float64 { return float64(s.right) / float64(max(s.right+s.missed, 1)) }

func (s *score) count(is, said bool) {
	switch {
	case is && said:
		s.right++
	case said:
		s.wrong++
	case is:
		s.missed++
	}
}

// TestTheChoice compares MinHash with a Simhash, and the clusters with all pairs: docs/guides/export.md has the figures.
func TestTheChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("it only computes, for long under the race detector")
	}
	n := 1000
	if os.Getenv("CURTSY_LONG") != "" {
		n = 20000
	}
	r := rand.New(rand.NewPCG(1, 2))
	pages := madeUp(r, n/2)
	if folder := os.Getenv("CURTSY_DOCS"); folder != "" {
		pages = neardupDocuments(t, folder, n/2)
	}
	pages = changed(r, pages, n-len(pages))
	var sets [][]uint64
	var sketches []Sketch
	seen := map[uint64]bool{0: true}
	for i := range pages {
		set, words, digest := pages[i].read(t)
		if !seen[digest] {
			sets, sketches = append(sets, set), append(sketches, sketch(set, words, digest))
		}
		seen[digest] = true
	}
	f := newFinder(t.TempDir(), 0)
	defer f.Close()
	for i := range sketches {
		require.NoError(t, f.Add(neardupPage{URL: strconv.Itoa(i), Key: strconv.Itoa(i)}, &sketches[i], 0))
	}
	cluster := map[int32]uint64{}
	for m, err := range f.All(t.Context()) {
		require.NoError(t, err)
		i, _ := strconv.Atoi(m.URL)
		cluster[int32(i)] = m.Cluster
	}
	jaccard := map[[2]int32]float64{}
	for _, p := range neardupAlike(sets, neardupSimilar) {
		jaccard[[2]int32{p.a, p.b}] = p.jaccard
	}
	var simhash, minhash, found score
	for i := range int32(len(sketches)) {
		for j := range i {
			a, b, is := &sketches[j], &sketches[i], jaccard[[2]int32{j, i}] > 0
			shared := false
			for k := range a.bands {
				shared = shared || a.bands[k] == b.bands[k]
			}
			simhash.count(is, bits.OnesCount64(a.Simhash^b.Simhash) <= 3)
			minhash.count(is, shared && a.Similarity(b) >= neardupSimilar)
			found.count(is, is && cluster[i] != 0 && cluster[i] == cluster[j])
		}
	}
	t.Logf("%d pages, %d distinct, %d pairs from %v on", n, len(sets), len(jaccard), neardupSimilar)
	t.Logf("simhash, 3 bits: %v; bands %d x %d with sketches of %d: %v", simhash, bands, neardupRows, kept, minhash)
	t.Logf("similar pairs in one cluster: %.4f", found.recall())
	assert.GreaterOrEqual(t, found.recall(), 0.98, "recall")
}
