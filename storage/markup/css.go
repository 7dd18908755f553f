package markup

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// sheet goes through the tokens of a style sheet, or of a style attribute, for references (CSS Syntax 3, CSS Images 4
// 2.4 for image-set, CSS Values 4 4.5 for url and src).
type sheet struct {
	text string
	buf  []byte // the text, for the lexer
	in   *parse.Input
	lex  *css.Lexer
	open []function // parentheses that are not closed
	deep int        // those beyond maxOpen
	rule prelude
}

// function is what an open parenthesis means for the strings in it.
type function uint8

const (
	other    function = iota // nothing
	urlCall                  // url("…" modifiers), src("…"): the first string is a reference
	imageSet                 // each string is one
)

// prelude is what the text behind an at-keyword is, up to ";" or a block.
type prelude uint8

const (
	none      prelude = iota
	importing         // @import: the first string or URL is a style sheet, the others are conditions
	imported          // the rest of it
	naming            // @namespace, @document: names and patterns, of which nothing is fetched
)

// mention is a reference in a style sheet.
type mention struct {
	start, end int
	raw        string // decoded
	attr       string // "url", "import", "src", "image-set"
	quote      byte   // of a string, which is replaced by a string; 0 of url(…), which is replaced whole
}

// mentions calls found with each reference in a style sheet. A page may have a style in each of its tags: found is passed
// on and never kept, so that no caller allocates for it.
func (s *sheet) mentions(text string, found func(mention)) {
	if strings.IndexByte(text, '(') < 0 && strings.IndexByte(text, '@') < 0 {
		return
	}
	buf := append(slices.Grow(s.buf[:0], len(text)+1), text...) // and room for the NUL that the lexer wants behind it
	in := parse.NewInputBytes(buf)
	*s = sheet{text: text, buf: buf, in: in, lex: css.NewLexer(in), open: s.open[:0]}
	for s.token(found) {
	}
}

// token reads the next token. A token that begins with "url(" is read here: the lexer takes url("…") as one token only
// where nothing else stands in it, and knows the name only as far as it is written without escapes.
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
		s.push(functionOf(name(s.text[start : end-1])))
	case css.LeftParenthesisToken:
		s.push(s.innermost())
	case css.RightParenthesisToken:
		s.pop()
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

func functionOf(name string) function {
	switch name {
	case "src":
		return urlCall
	case "image-set", "-webkit-image-set":
		return imageSet
	}
	return other
}

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

func (s *sheet) pop() {
	switch {
	case s.deep > 0:
		s.deep--
	case len(s.open) > 0:
		s.open = s.open[:len(s.open)-1]
	}
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
	s.tell(m, found)
}

// tell calls found, as far as the rule around allows a reference.
func (s *sheet) tell(m mention, found func(mention)) {
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
		s.tell(mention{start: start, end: behind, raw: unescapeCSS(s.text[at:end]), attr: "url"}, found)
		return
	}
	s.move(badURLEnd(s.text, end))
}

// call reads the function url("…"), from behind its parenthesis. Without modifiers it is one mention, replaced whole.
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
	s.tell(m, found)
	s.push(other)
}

// move goes on at i, where a token begins.
func (s *sheet) move(i int) {
	s.in.Move(i - s.in.Offset())
	s.in.Skip()
}

// unquotedEnd returns where the contents of an unquoted url(…) end which begin at i: at white space, ")" or the end. It
// is false at what cannot stand in one.
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

// badURLEnd returns where the remnants of a bad url end (4.3.14).
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

// escape returns the length of the escape that s begins with, "\" included; 0 if a line ends behind it, or the text
// (CSS Syntax 4.3.7 and 4.3.8).
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

// lineEnd returns the length of the line end that s begins with, or if wanted the one white space; "\r\n" is one.
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

// unescapeCSS returns what a string or name with escapes means. A line end behind "\" means nothing, as in strings.
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

// urlName returns the length of "url(" at the beginning of s, however it is written; 0 if s begins with something else.
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

// inQuotes returns what is between the quotes of a string, which the end of the text may have ended.
func inQuotes(s string) string {
	q := s[:1]
	s = s[1:]
	if n := len(s); n > 0 && s[n-1:] == q && !oddBackslashes(s[:n-1]) {
		return s[:n-1]
	}
	return s
}

func oddBackslashes(s string) bool { return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1 }

// cssString returns a string of CSS in such quotes. Characters that end it, or the element or attribute it may stand
// in, are escaped.
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

// cssURL returns url(…), without quotes where that can be: it stands in attributes, too.
func cssURL(s string) string {
	if strings.ContainsAny(s, `"'()\<>`) {
		return "url(" + cssString(s, '"') + ")"
	}
	return "url(" + s + ")"
}
