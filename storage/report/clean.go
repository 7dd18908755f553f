package report

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxText is how many octets of a string from the crawl are shown.
const maxText = 400

// clean makes a string from the crawl fit to be shown: what is not printable, marks of writing direction among it, is
// escaped, and the end of a long one is left out.
func clean(s string) string { return cleanTo(s, maxText) }

func cleanTo(s string, limit int) string {
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	shown := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if strings.IndexFunc(s, func(r rune) bool { return !shown(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if shown(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

func cleaned(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}
