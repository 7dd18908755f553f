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
	return fmt.Sprintf("precision %.4f, recall %.4f", float64(s.right)/float64(max(s.right+s.wrong, 1)),
		float64(s.right)/float64(max(s.right+s.missed, 1)))
}

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

// TestTheChoice has the figures by which MinHash, its bands and the hashes of a sketch were chosen: docs/guides/export.md.
func TestTheChoice(t *testing.T) {
	if testing.Short() {
		t.Skip("it only computes, for long under the race detector")
	}
	n := 1000
	folder := os.Getenv("CURTSY_DOCS")
	if os.Getenv("CURTSY_LONG") != "" {
		n = 20000
	}
	r := rand.New(rand.NewPCG(1, 2))
	pages := madeUp(r, n/2)
	if folder != "" {
		pages = neardupDocuments(t, folder, n/2)
	}
	pages = changed(r, pages, n-len(pages))
	var sets [][]uint64
	var sketches []Sketch
	seen := map[uint64]bool{}
	total := 0
	for i := range pages {
		set, words, digest := pages[i].read(t)
		if digest == 0 || seen[digest] {
			continue
		}
		seen[digest] = true
		total += len(set)
		sets, sketches = append(sets, set), append(sketches, sketch(set, words, digest))
	}
	all := neardupAlike(sets, 0.5)
	similar := 0
	for _, p := range all {
		if p.jaccard >= neardupSimilar {
			similar++
		}
	}
	t.Logf("%d pages, %d distinct, %d shingles; %d pairs from 0.5 on, %d from %v on", n, len(sets), total, len(all), similar, neardupSimilar)
	for _, most := range []int{3, 6, 8, 10, 12, 16} {
		var s score
		for i := range sketches {
			for j := range i {
				if bits.OnesCount64(sketches[i].Simhash^sketches[j].Simhash) <= most {
					s.wrong++
				}
			}
		}
		for _, p := range all {
			if p.jaccard >= neardupSimilar {
				said := bits.OnesCount64(sketches[p.a].Simhash^sketches[p.b].Simhash) <= most
				s.count(true, said)
				if said {
					s.wrong--
				}
			}
		}
		t.Logf("simhash, %d bits: %v", most, s)
	}
	var cand, found score
	for _, p := range all {
		a, b := &sketches[p.a], &sketches[p.b]
		shared := false
		for i := range a.bands {
			shared = shared || a.bands[i] == b.bands[i]
		}
		cand.count(p.jaccard >= neardupSimilar, shared)
		found.count(p.jaccard >= neardupSimilar, shared && a.Similarity(b) >= neardupSimilar)
	}
	clusters(t, n, sketches, all)
	t.Logf("bands %d x %d: %v; with sketches of %d: %v", bands, neardupRows, cand, kept, found)
	for _, k := range []int{32, 64, 128, 256, 512, 1024} {
		var s score
		for _, p := range all {
			s.count(p.jaccard >= neardupSimilar, leastOf(sets[p.a], sets[p.b], k) >= neardupSimilar)
		}
		t.Logf("sketches of %d alone: %v", k, s)
	}
}

// clusters holds the clusters of a Finder against those of brute force.
func clusters(t *testing.T, n int, sketches []Sketch, all []pair) {
	var similar []pair
	for _, p := range all {
		if p.jaccard >= neardupSimilar {
			similar = append(similar, p)
		}
	}
	want := components(len(sketches), similar)
	got := make([]int32, len(sketches))
	for i := range got {
		got[i] = int32(i)
	}
	f := newFinder(t.TempDir(), 0)
	defer f.Close()
	for i := range sketches {
		require.NoError(t, f.Add(neardupPage{URL: strconv.Itoa(i), Key: strconv.Itoa(i)}, &sketches[i], 0))
	}
	first := map[uint64]int32{}
	for m, err := range f.All(t.Context()) {
		require.NoError(t, err)
		i, _ := strconv.Atoi(m.URL)
		if _, ok := first[m.Cluster]; !ok {
			first[m.Cluster] = int32(i)
		}
		got[i] = first[m.Cluster]
	}
	var edges, pairs score
	for _, p := range similar {
		edges.count(true, got[p.a] == got[p.b])
	}
	largest := map[int32]int{}
	for i := range got {
		largest[want[i]]++
		for j := range i {
			pairs.count(want[i] == want[j], got[i] == got[j])
		}
	}
	t.Logf("clusters: %v of pairs that are similar; of pairs in one cluster: %v", edges, pairs)
	assert.GreaterOrEqual(t, float64(edges.right)/float64(len(similar)), 0.98, "recall")
	_ = n
}

// components are the sets that pairs put pages into: of each page the least that a chain of pairs leads to.
func components(n int, pairs []pair) []int32 {
	of := make([]int32, n)
	for i := range of {
		of[i] = int32(i)
	}
	for changed := true; changed; {
		changed = false
		for _, p := range pairs {
			if least := min(of[p.a], of[p.b]); of[p.a] != least || of[p.b] != least {
				of[p.a], of[p.b], changed = least, least, true
			}
		}
	}
	return of
}

func leastOf(a, b []uint64, k int) float64 {
	both, union := 0, 0
	for i, j := 0, 0; union < k && (i < len(a) || j < len(b)); union++ {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i == len(a) || a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	return float64(both) / float64(union)
}
