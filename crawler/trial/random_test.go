package trial

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// dice are the same for the same seed and words, in every life and process.
type dice struct{ *rand.Rand }

func throw(seed uint64, words ...string) dice {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w)) // a hash never fails
		h.Write([]byte{0})
	}
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

func (d dice) in(n int) bool { return d.IntN(n) == 0 }

func (d dice) one(texts ...string) string { return texts[d.IntN(len(texts))] }

func (d dice) some(n int, texts ...string) string {
	var b strings.Builder
	for range d.IntN(n + 1) {
		b.WriteString(d.one(texts...))
	}
	return b.String()
}

func (d dice) octets(n int) string {
	b := make([]byte, n)
	for i := range b {
		for b[i] = '\n'; b[i] == '\n' || b[i] == '\r' || b[i] == 0; {
			b[i] = byte(d.Uint32())
		}
	}
	return string(b)
}

func (d dice) target() string {
	const most = 7000
	pieces := []string{
		"a", "b", "index.html", "operator%.html", "/", "/", "/", "/private", "%", "%%", "%2", "%zz", "%u0041", "%41", "%7e", "%2f", "%2F", "%00", "%25", "%e9", "%C3%A9",
		"..", ".", "/../", "/./", "/%2e%2E/", "//", "é", "ü", "日", "\xff", "\xc3", "~", "'", "|", "[", "]", "{", "}", "^", "`", "\"", "<", ">", " ", "\\", "\t",
		"+", "=", "&", ";", ":", "@", "!", "$", "*", ",", "?", "?q=", "?q=%", "&x=1", "#f", "1", "-", "_", ".html",
	}
	s := "/" + d.some(6, pieces...)
	switch {
	case d.in(40):
		s += strings.Repeat(d.one("x", "%41", "é", "/y"), d.IntN(most/6))
	case d.in(12):
		s += d.octets(d.IntN(20))
	}
	return s
}
