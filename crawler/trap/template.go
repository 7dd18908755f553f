package trap

import (
	"hash/fnv"
	"strings"

	"curtsy/frontier/canon"
)

// idLength is how long a run of letters and digits must be to be a session id.
const idLength = 16

// Template returns s with every run of digits, and every session id, written "#".
func Template(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return string(appendTemplate(make([]byte, 0, len(s)), s))
}

func appendTemplate(b []byte, s string) []byte {
	for s != "" {
		end, digits := run(s)
		switch {
		case end == 0:
			b, s = append(b, s[0]), s[1:]
			continue
		case digits && end >= idLength:
			b = append(b, '#')
		default:
			b = appendNumbers(b, s[:end])
		}
		s = s[end:]
	}
	return b
}

// appendNumbers appends word with its runs of digits written "#".
func appendNumbers(b []byte, word string) []byte {
	for i := 0; i < len(word); i++ {
		if !digit(word[i]) {
			b = append(b, word[i])
		} else if i == 0 || !digit(word[i-1]) {
			b = append(b, '#')
		}
	}
	return b
}

// run returns the length of the run of ASCII letters and digits that s begins with, and whether it has a digit.
func run(s string) (end int, digits bool) {
	for end < len(s) && (digit(s[end]) || letter(s[end])) {
		digits = digits || digit(s[end])
		end++
	}
	return end, digits
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// maxIDs is how many session ids of a URL are looked for on its page. An address has room for hundreds, and a page for
// a million words.
const maxIDs = 16

// ids returns the session ids in s, the first of them.
func ids(s string) []string {
	var all []string
	for s != "" && len(all) < maxIDs {
		end, digits := run(s)
		if digits && end >= idLength {
			all = append(all, s[:end])
		}
		s = s[max(end, 1):]
	}
	return all
}

// group is what is counted together: the queries of a path, or the URLs of a template. Zero is none.
type group uint32

// groupsOf returns the groups of a URL. One without a query has none of queries.
func groupsOf(u canon.URL) (queries, template group) {
	root := len(u.String()) - len(u.RequestURI()) // key and fetch URL differ behind it alone
	key := u.Key()[root:]
	if path, _, ok := strings.Cut(key, "?"); ok {
		queries = groupOf("queries ", path)
	}
	return queries, groupOf("template ", Template(key))
}

func groupOf(rule, text string) group {
	h := fnv.New64a()
	h.Write([]byte(rule))
	h.Write([]byte(text))
	sum := h.Sum64()
	return group(sum>>32^sum) | 1
}
