package extract

import (
	"iter"
	"strings"

	"curtsy/storage/markup"
)

func isSpace(r rune) bool { return strings.ContainsRune(markup.Space, r) }

// srcset goes through the URLs of the image candidates in a srcset attribute.
func srcset(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		more := true
		markup.Candidates(s, func(start, end int) { more = more && yield(s[start:end]) })
	}
}
