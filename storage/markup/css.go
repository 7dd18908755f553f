package markup

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// sheet finds references in a style sheet or style attribute (CSS Syntax 3, CSS Images 4 2.4 for image-set, CSS Values 4
// 4.5 for url and src).
type sheet struct {
	text string
	buf  []byte // the text, for the lexer
	in   *parse.Input
	lex  *css.Lexer
	open []function // open parentheses
	deep int        // those beyond maxOpen
	rule prelude
}

// function is the meaning of strings within an open parenthesis.
type function uint8

const (
	other    function = iota // none
	urlCall                  // url("…" modifiers), src("…"): the first string is a reference
	imageSet                 // each string is one
)

// prelude is the meaning of the text after an at-keyword, up to ";" or a block.
type prelude uint8

const (
	none      prelude = iota
	importing         // @import: the first string or URL is a style sheet, the others are conditions
	imported          // the rest of it
	naming            // @namespace, @document: names and patterns that are not fetched
)

// mention is a reference in a style sheet.
type mention struct {
	start, end int
	raw        string // decoded
	attr       string // "url", "import", "src", "image-set"
	quote      byte   // of a string, replaced by a string; 0 for url(…), replaced whole
}

// mentions calls found with each reference in a style sheet. It does not keep found, so that callers need not allocate: a
// page may have a style in each tag.
func (s *sheet) mentions(text string, found func(mention)) {
	if strings.IndexByte(text, '(') < 0 && strings.IndexByte(text, '@') < 0 {
		return
	}
	buf := append(slices.Grow(s.buf[:0], len(text)+1), text...) // with room for the lexer's NUL
	in := parse.NewInputBytes(buf)
	*s = sheet{text: text, buf: buf, in: in, lex: css.NewLexer(in), open: s.open[:0]}
	for s.token(found) {
	}
}

// token reads the next token, and "url(" itself: the lexer reads url("…") as one token only without modifiers, and does
// not recognize the name with escapes.
func (s *sheet) token(found func(mention)) bool {
	start := s.in.Offset()
	if start < len(s.text) && (s.text[start]|0x20 == 'u' || s.text[start] == '\\') {
		if n := urlName(s.text[start:]); n > 0 {
			s.url(start, start+n, found)
			return true
		}
	}
	kind, _ := s.lex.Next()
	end := s.in.Offset()
	switch kind {
	case css.ErrorToken:
		return false
	case css.AtKeywordToken:
		s.atKeyword(name(s.text[start+1 : end]))
	case css.SemicolonToken, css.LeftBraceToken, css.RightBraceToken:
		s.rule = none
		s.open, s.deep = s.open[:0], 0
	case css.FunctionToken:
		s.push(functions[name(s.text[start:end-1])])
	case css.LeftParenthesisToken:
		s.push(s.innermost())
	case css.RightParenthesisToken:
		switch {
		case s.deep > 0:
			s.deep--
		case len(s.open) > 0:
			s.open = s.open[:len(s.open)-1]
		}
	case css.StringToken:
		s.str(start, end, found)
	}
	return true
}

func (s *sheet) atKeyword(name string) {
	switch name {
	case "import":
		s.rule = importing
	case "namespace", "document", "-moz-document":
		s.rule = naming
	default:
		s.rule = none
	}
}

var functions = map[string]function{"src": urlCall, "image-set": imageSet, "-webkit-image-set": imageSet}

func (s *sheet) innermost() function {
	if s.deep > 0 || len(s.open) == 0 {
		return other
	}
	return s.open[len(s.open)-1]
}

func (s *sheet) push(f function) {
	if len(s.open) == maxOpen {
		s.deep++
		return
	}
	s.open = append(s.open, f)
}

func (s *sheet) str(start, end int, found func(mention)) {
	m := mention{start: start, end: end, quote: s.text[start], raw: unescapeCSS(inQuotes(s.text[start:end]))}
	in := s.innermost()
	switch {
	case in == urlCall:
		m.attr = "src"
		s.open[len(s.open)-1] = other
	case in == imageSet:
		m.attr = "image-set"
	case s.rule == importing && len(s.open) == 0:
		m.attr = "import"
	}
	s.report(m, found)
}

// report calls found if the current rule allows a reference.
func (s *sheet) report(m mention, found func(mention)) {
	if m.attr == "" {
		return
	}
	switch s.rule {
	case importing:
		if len(s.open) <= 1 {
			m.attr = "import"
		}
		s.rule = imported
	case imported, naming:
		return
	}
	found(m)
}

// url reads url(…), whose contents begin at in (CSS Syntax 4.3.4 and 4.3.6).
func (s *sheet) url(start, in int, found func(mention)) {
	at := in
	for at < len(s.text) && IsSpace(s.text[at]) {
		at++
	}
	if at < len(s.text) && (s.text[at] == '"' || s.text[at] == '\'') {
		s.move(in)
		s.call(start, found)
		return
	}
	end, ok := unquotedEnd(s.text, at)
	behind := end
	for ok && behind < len(s.text) && IsSpace(s.text[behind]) {
		behind++
	}
	if ok && (behind == len(s.text) || s.text[behind] == ')') {
		behind = min(behind+1, len(s.text))
		s.move(behind)
		s.report(mention{start: start, end: behind, raw: unescapeCSS(s.text[at:end]), attr: "url"}, found)
		return
	}
	s.move(badURLEnd(s.text, end))
}

// call reads url("…") after its parenthesis. Without modifiers it is one mention, replaced whole.
func (s *sheet) call(start int, found func(mention)) {
	first := s.in.Offset()
	for first < len(s.text) && IsSpace(s.text[first]) {
		first++
	}
	s.move(first)
	kind, _ := s.lex.Next()
	end := s.in.Offset()
	if kind != css.StringToken {
		s.push(other)
		return
	}
	m := mention{start: first, end: end, quote: s.text[first], raw: unescapeCSS(inQuotes(s.text[first:end])), attr: "url"}
	s.report(m, found)
	s.push(other)
}

// move continues at i, the start of a token.
func (s *sheet) move(i int) {
	s.in.Move(i - s.in.Offset())
	s.in.Skip()
}

// unquotedEnd returns the end of an unquoted url(…) whose contents begin at i: white space, ")" or the end. It reports
// false for an invalid one.
func unquotedEnd(s string, i int) (end int, ok bool) {
	for i < len(s) {
		switch c := s[i]; {
		case c == ')' || IsSpace(c):
			return i, true
		case c == '"' || c == '\'' || c == '(' || c < 0x20 && c != 0 || c == 0x7F:
			return i, false
		case c == '\\':
			n := escape(s[i:])
			if n == 0 {
				return i, false
			}
			i += n
		default:
			i++
		}
	}
	return i, true
}

// badURLEnd returns the end of the remnants of a bad url (4.3.14).
func badURLEnd(s string, i int) int {
	for i < len(s) {
		switch s[i] {
		case ')':
			return i + 1
		case '\\':
			i += max(1, escape(s[i:]))
		default:
			i++
		}
	}
	return len(s)
}

// escape returns the length of the escape at the start of s, 0 for "\" before a line end or the end (CSS Syntax 4.3.7 and
// 4.3.8).
func escape(s string) int {
	if len(s) < 2 || s[1] == '\n' || s[1] == '\r' || s[1] == '\f' {
		return 0
	}
	n := 1
	for n < len(s) && n < 7 && isHex(s[n]) {
		n++
	}
	if n == 1 {
		_, size := utf8.DecodeRuneInString(s[1:])
		return 1 + size
	}
	return n + lineEnd(s[n:], true)
}

// lineEnd returns the length of the line end, or if wanted the single white space, at the start of s; "\r
// " is one.
func lineEnd(s string, white bool) int {
	switch {
	case strings.HasPrefix(s, "\r\n"):
		return 2
	case s != "" && (s[0] == '\n' || s[0] == '\r' || s[0] == '\f' || white && IsSpace(s[0])):
		return 1
	}
	return 0
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// unescapeCSS decodes a string or name. An escaped line end vanishes, as in strings.
func unescapeCSS(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		b.WriteString(s[:i])
		s = s[i:]
		n := escape(s)
		switch {
		case n == 0:
			n = 1 + lineEnd(s[1:], false)
		case isHex(s[1]):
			v, _ := strconv.ParseUint(strings.TrimRight(s[1:n], Space), 16, 32)
			if v == 0 || v > utf8.MaxRune || 0xD800 <= v && v < 0xE000 {
				v = utf8.RuneError
			}
			b.WriteRune(rune(v))
		default:
			b.WriteString(s[1:n])
		}
		s = s[n:]
	}
	b.WriteString(s)
	return b.String()
}

func name(s string) string {
	if len(s) > 7*maxName {
		return ""
	}
	return strings.ToLower(unescapeCSS(s))
}

// urlName returns the length of "url(" in any spelling at the start of s, or 0.
func urlName(s string) int {
	at := 0
	for _, want := range []byte("url") {
		n := 1
		switch {
		case at == len(s):
			return 0
		case s[at] == '\\':
			if n = escape(s[at:]); n == 0 || !strings.EqualFold(unescapeCSS(s[at:at+n]), string(want)) {
				return 0
			}
		case s[at]|0x20 != want:
			return 0
		}
		at += n
	}
	if at == len(s) || s[at] != '(' {
		return 0
	}
	return at + 1
}

// inQuotes returns the content of a string, which the end of the text may have ended.
func inQuotes(s string) string {
	q := s[:1]
	s = s[1:]
	if n := len(s); n > 0 && s[n-1:] == q && (n-len(strings.TrimRight(s[:n-1], `\`)))%2 == 1 { // the quote is not escaped
		return s[:n-1]
	}
	return s
}

// cssString returns a CSS string in such quotes. It escapes characters that end the string, or the element or attribute
// around.
func cssString(s string, quote byte) string {
	var b strings.Builder
	b.WriteByte(quote)
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\'', '\\', '<', '>':
			b.WriteByte('\\')
			b.WriteString(strconv.FormatUint(uint64(c), 16))
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}
