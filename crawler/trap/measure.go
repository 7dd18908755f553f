package trap

import (
	"hash/fnv"
	"strings"
)

// leastMeasures is how many fractions a page must have to be one of data: the time that it took to make, and the prices
// of what is advertised beside it, make no page new.
const leastMeasures = 8

// measures digests the numbers of a page of data: rates of exchange, weather, accounts. Those of each day have the same
// words, and are new all the same. Whole numbers do not count, for a calendar has nothing else.
type measures struct {
	n   int
	sum uint64
}

func (m *measures) take(word string) {
	if !isMeasure(word) {
		return
	}
	m.n++
	h := fnv.New64a()
	h.Write([]byte(word))
	m.sum = (m.sum ^ h.Sum64()) * 0x9e3779b97f4a7c15
}

// into returns the shape of a page that has these numbers.
func (m *measures) into(shape uint64) uint64 {
	if m.n < leastMeasures {
		return shape
	}
	return shape ^ m.sum
}

// isMeasure reports whether a word is a fraction, or a number in groups of thousands, perhaps with a sign or a unit:
// digits on both sides of one point or comma, which are not a day and a month.
func isMeasure(word string) bool {
	at := strings.IndexAny(word, ".,")
	if at < 1 || at == len(word)-1 || !digit(word[at-1]) || !digit(word[at+1]) {
		return false
	}
	begin, end := at, at+1
	for begin > 0 && digit(word[begin-1]) {
		begin--
	}
	for end < len(word) && digit(word[end]) {
		end++
	}
	if strings.ContainsAny(word[:begin], "0123456789") || strings.ContainsAny(word[end:], "0123456789") {
		return false // a date, a time, an address, a version
	}
	return !small(word[begin:at]) || !small(word[at+1:end])
}

// small reports whether digits may be those of a day or a month.
func small(digits string) bool { return len(digits) == 1 || len(digits) == 2 && digits <= "31" }
