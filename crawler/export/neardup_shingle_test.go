package export

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shinglesOf is the definition: docs/guides/export.md has it in Python.
func shinglesOf(words []string) map[uint64]bool {
	set := map[uint64]bool{}
	for i := range max(len(words)-width+1, 0) {
		var h uint64
		for _, w := range words[i : i+width] {
			h = h*multiplier + fnv1a(w)
		}
		set[mix(h)] = true
	}
	return set
}

func TestAPageIsTheSetOfItsShingles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var words []string
		for range r.IntN(60) {
			words = append(words, strings.Repeat(string(rune('a'+r.IntN(3))), 1+r.IntN(2)))
		}
		page := newNeardupReader(parse(t, "http://h.test/"))
		for rest := words; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			page.Text(strings.Join(rest[:n], strings.Repeat(" ", 1+r.IntN(2))))
			rest = rest[n:]
		}
		want := shinglesOf(words)
		got := page.shingles.set()
		require.Truef(t, len(got) == len(want) && slices.IsSorted(got), "%q: %d shingles, want %d", words, len(got), len(want))
		for _, h := range got {
			require.Truef(t, want[h], "%q: a shingle too many", words)
		}
	}
}

func TestShingler_Words(t *testing.T) {
	for text, want := range map[string]string{
		"one two":              "one two",
		"naïve café":           "naïve café",
		"東京タワー":                "東 京 タ ワ ー",
		"in 東京, Tokyo":         "in 東 京 , Tokyo",
		"กข":                   "ก ข",
		"한국어 문서":               "한국어 문서", // Korean has spaces
		"a\u00a0b\u3000c":      "a b c",
		"http://h.test/x here": "here", // the page's own URL
		"ไท\xff":               "ไ ท \xff",
	} {
		var got []string
		r := newNeardupReader(parse(t, "http://h.test/x"))
		r.says.Hear(func(words string) { got = append(got, slices.Collect(apart(words))...) })
		r.Text(text)
		assert.Equalf(t, want, strings.Join(got, " "), "%q: %q", text, got)
	}
}

func TestOnlyTheFirstWordsOfAHugePageCount(t *testing.T) {
	r := newNeardupReader(parse(t, "http://h.test/"))
	for range 3 {
		r.Text(strings.Repeat("a b c d e f ", maxWords/6))
	}
	assert.Truef(t, r.shingles.words == maxWords && cap(r.shingles.hashes) <= 2*maxWords, "%d words, %d hashes", r.shingles.words, cap(r.shingles.hashes))
	s := r.Sketch(nil)
	assert.Truef(t, s.Shingles == 6 && s.Words == maxWords, "%d shingles of %d words", s.Shingles, s.Words)
}

// Tables of users contain these numbers, and so does docs/guides/export.md.
func TestSketchesStayTheSame(t *testing.T) {
	r := newNeardupReader(parse(t, "http://h.test/page"))
	r.Text("the quick brown fox jumps over the lazy dog")
	assert.Equal(t, []uint64{
		0x3215ea3aab1f95bb, 0x534c46e1871501f1, 0xadb15376f497431e, 0xd317a144d617dcc4, 0xe956f39c30ece4b6, 0xf5773ab542d24790,
	}, r.shingles.set())
	s := r.Sketch(nil)
	assert.Equal(t, []uint64{0xa0c1c2b69180339d, 0xf115623482174590, 0x21edafde2a92061d, 0x3215ea3a}, []uint64{s.Digest, s.Simhash, s.bands[0], uint64(s.least[0])})
}
