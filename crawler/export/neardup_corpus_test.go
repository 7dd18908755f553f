package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/frontier/canon"
)

type neardupText struct {
	url   string
	words []string
}

func parse(t testing.TB, raw string) canon.URL {
	t.Helper()
	u, err := canon.Parse(raw)
	require.NoError(t, err)
	return u
}

func (p *neardupText) read(t testing.TB) (set []uint64, words int, digest uint64) {
	r := newNeardupReader(parse(t, p.url))
	for _, w := range p.words {
		r.Text(w)
	}
	digest, _ = r.says.Digests()
	return r.shingles.set(), r.shingles.words, digest
}

// madeUp returns n pages of 30 to 3,000 words.
func madeUp(r *rand.Rand, n int) (all []neardupText) {
	for i := range n {
		p := neardupText{url: fmt.Sprintf("http://made-up.test/%d", i)}
		for long := 30 << r.IntN(7); len(p.words) < long; {
			p.words = append(p.words, strings.Fields(crawltest.Paragraphs(r, []string{fmt.Sprintf("number %d", i)}))...)
		}
		all = append(all, p)
	}
	return all
}

// changed appends n copies of pages with typical changes.
func changed(r *rand.Rand, all []neardupText, n int) []neardupText {
	menu := strings.Fields(crawltest.Paragraphs(r, nil) + crawltest.Paragraphs(r, nil) + crawltest.Paragraphs(r, nil))
	from := len(all)
	for i := range n {
		p := &all[r.IntN(from)]
		c := neardupText{url: fmt.Sprintf("http://copies.test/%d", i)}
		switch r.IntN(6) {
		case 0: // only the date differs
			c.words = append(slices.Clone(p.words), "Seen", "on", fmt.Sprint(i), "by", "many")
		case 1: // a site's own menu before it
			c.words = append(slices.Clone(menu[:r.IntN(len(menu))]), p.words...)
		case 2: // the end is missing
			c.words = slices.Clone(p.words[:len(p.words)-r.IntN(len(p.words)/2+1)])
		case 3: // two parts are swapped
			at := r.IntN(len(p.words) + 1)
			c.words = append(slices.Clone(p.words[at:]), p.words[:at]...)
		default:
			c.words = edited(r, p.words, r.Float64()*0.08)
		}
		all = append(all, c)
	}
	return all
}

// edited replaces, drops or doubles a share of the words.
func edited(r *rand.Rand, words []string, share float64) (out []string) {
	for _, w := range words {
		if r.Float64() >= share {
			out = append(out, w)
			continue
		}
		switch r.IntN(3) {
		case 0:
			out = append(out, fmt.Sprintf("word%d", r.IntN(1000)))
		case 1:
			out = append(out, w, fmt.Sprintf("word%d", r.IntN(1000)))
		}
	}
	return out
}
