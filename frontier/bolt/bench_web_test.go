package bolt

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// web generates the links of a crawl, deterministically. It keeps nothing, so that memory and CPU are the frontier's.
//
//	URLs    about 70 octets, two directories and a file with its number in its name
//	hosts   Zipf: the chance of host k is as 1/(k+10); of 100,000 hosts the first has 1 URL in 100, the median one in
//	        a million
//	pages   have 40 links, of which 38 are drawn from all URLs seen so far, each as likely as any other, and 2 are new.
//	        That is as bad as can be for caches: the links of real pages repeat those of the page before.
//	new     links come in pairs, of one host and from one page, which is a URL of that host
type web struct {
	hosts int
	text  []byte
}

const (
	pageLinks = 40
	pageFresh = 2
	zipfFlat  = 10.0
)

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): neighbours become independent.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// host returns the host of link n, by the inverse of the distribution.
func (w *web) host(n int) int {
	u := float64(mix(uint64(n/2))>>11) / (1 << 53)
	return int(zipfFlat * (math.Pow(1+float64(w.hosts)/zipfFlat, u) - 1))
}

func (w *web) link(tb testing.TB, n int) frontier.Candidate {
	h := w.host(n)
	w.text = appendSite(w.text[:0], h)
	root := len(w.text) + 1
	w.text = appendPath(w.text, n)
	u, err := canon.Parse(string(w.text))
	require.NoError(tb, err)
	seed := string(w.text[:root])
	via := string(appendPath(w.text[:root-1], n/2))
	return frontier.Candidate{URL: u, Kind: frontier.KindLink, Depth: 3, Seed: seed, Tag: "bench", Via: via}
}

func appendSite(b []byte, host int) []byte {
	b = append(b, "https://www.site-"...)
	for at := 100_000; at > max(host, 1); at /= 10 {
		b = append(b, '0')
	}
	return append(strconv.AppendInt(b, int64(host), 10), ".example"...)
}

func appendPath(b []byte, n int) []byte {
	words := [...]string{"news", "article", "products", "category", "library", "archive", "images", "forum", "thread", "2025"}
	x := mix(uint64(n) << 1)
	for i, end := range [...]byte{'/', '/', '-'} {
		if i == 0 {
			b = append(b, '/')
		}
		b = append(b, words[x%uint64(len(words))]...)
		b = append(b, end)
		x /= uint64(len(words))
	}
	return append(strconv.AppendInt(b, int64(n), 10), ".html"...)
}

// links returns the links of page p, the new ones first, after so many seen URLs.
func (w *web) links(tb testing.TB, b []frontier.Candidate, seen, p int) []frontier.Candidate {
	for i := range pageFresh {
		b = append(b, w.link(tb, seen+pageFresh*p+i))
	}
	for i := range pageLinks - pageFresh {
		b = append(b, w.link(tb, int(mix(uint64(p*pageLinks+i)<<1|1)%uint64(seen))))
	}
	return b
}
