package report

import (
	"unicode/utf8"

	"curtsy/storage/plainly"
)

// maxText is how many bytes of a string from the crawl are shown.
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
	return plainly.OneLine(s)
}

func cleaned(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, clean(s))
	}
	return out
}
