package evidence

import (
	"strings"
	"unicode"
)

// Plain writes a text as both the ledger and the archive can: within a line, in UTF-8 (docs/reference/ledger.md, docs/reference/archives.md).
func Plain(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return foreignText(s)
		}
	}
	return strings.Trim(s, " ")
}

func foreignText(s string) string {
	const unknown = "\ufffd"
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, unknown))
	for strings.Contains(s, unknown+unknown) { // the archive has one for a row of octets that are none, the ledger one for each
		s = strings.ReplaceAll(s, unknown+unknown, unknown)
	}
	return strings.TrimSpace(s)
}
