package script

import (
	"bytes"
	"strings"

	"github.com/tdewolff/parse/v2/js"
)

// Imports calls found with each URL in the import and export declarations of a module (ECMAScript 16.2), and where its
// literal begins and ends. Specifiers that are no URL ("react") are left out, as are import() and what has escapes. A script
// that is no module has none. At most MaxRead bytes are read.
func Imports(text []byte, found func(start, end int, url string)) {
	text = text[:min(len(text), MaxRead)]
	if !bytes.Contains(text, []byte("import")) && !bytes.Contains(text, []byte("export")) {
		return
	}
	s := newScanner(text)
	for declares := false; s.next(); {
		was := s.before[0].kind
		switch {
		case (s.kind == js.ImportToken || s.kind == js.ExportToken) && was != js.DotToken && was != js.OptChainToken:
			declares = true
		case !declares:
		case s.kind == js.StringToken && (was == js.ImportToken || was == js.FromToken):
			declares = false
			end := s.in.Offset()
			if name := string(s.text[1 : len(s.text)-1]); isSpecifierURL(name) {
				found(end-len(s.text), end, name)
			}
		case was == js.ExportToken:
			declares = s.kind == js.MulToken || s.kind == js.OpenBraceToken
		default:
			declares = js.IsIdentifierName(s.kind) || s.kind == js.StringToken || s.kind == js.CommaToken ||
				s.kind == js.MulToken || s.kind == js.OpenBraceToken || s.kind == js.CloseBraceToken
		}
	}
}

// isSpecifierURL reports whether a module specifier is a URL by itself (HTML Standard 8.1.6.2).
func isSpecifierURL(s string) bool {
	if strings.Contains(s, `\`) {
		return false
	}
	for _, begin := range []string{"/", "./", "../", "http://", "https://"} {
		if strings.HasPrefix(s, begin) {
			return true
		}
	}
	return false
}
