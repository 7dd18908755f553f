package crawltest

import (
	"strconv"
	"strings"
)

// clip makes text of a client's octets that can be printed, of at most n characters.
func clip(s string, n int) string {
	q := strconv.QuoteToGraphic(s)
	return shorten(q[1:len(q)-1], n)
}

// shorten cuts printable text to at most n characters.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = append(r[:n-1], '…')
	}
	return string(r)
}

// quote is clip with quotes.
func quote(s string) string { return `"` + clip(s, 80) + `"` }

// carries reports whether a User-Agent contains a product token, in any case.
func carries(userAgent, token string) bool {
	return strings.Contains(strings.ToLower(userAgent), strings.ToLower(token))
}
