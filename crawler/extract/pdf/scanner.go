package pdf

import (
	"bytes"
	"strconv"
)

// token is one of the tokens of ISO 32000-2 7.2 and 7.3.
type token struct {
	kind   kind
	text   string // of a name, a string and a keyword
	number int64  // of an integer
}

type kind uint8

const (
	end kind = iota
	openDict
	closeDict
	openArray
	closeArray
	name
	text // a literal or a hexadecimal string
	number
	keyword
)

// scanner takes tokens of bytes. It never goes back.
type scanner struct {
	text []byte
	at   int
}

func isSpace(c byte) bool {
	return c == 0 || c == '\t' || c == '\n' || c == '\f' || c == '\r' || c == ' '
}

func isRegular(c byte) bool {
	return !isSpace(c) && bytes.IndexByte([]byte("()<>[]{}/%"), c) < 0
}

func (s *scanner) next() token {
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case isSpace(c):
		case c == '%':
			for s.at < len(s.text) && s.text[s.at] != '\r' && s.text[s.at] != '\n' {
				s.at++
			}
		case c == '<' && s.is('<'):
			s.at++
			return token{kind: openDict}
		case c == '>' && s.is('>'):
			s.at++
			return token{kind: closeDict}
		case c == '<':
			return token{kind: text, text: s.hex()}
		case c == '(':
			return token{kind: text, text: s.literal()}
		case c == '[':
			return token{kind: openArray}
		case c == ']':
			return token{kind: closeArray}
		case c == '/':
			return token{kind: name, text: unescaped(s.regular(s.at))}
		case isRegular(c):
			return word(s.regular(s.at - 1))
		}
	}
	return token{}
}

func (s *scanner) is(c byte) bool { return s.at < len(s.text) && s.text[s.at] == c }

// regular is the run of regular characters that begins at from.
func (s *scanner) regular(from int) []byte {
	for s.at < len(s.text) && isRegular(s.text[s.at]) {
		s.at++
	}
	return s.text[from:min(s.at, from+maxKept)]
}

// word is a number or a keyword.
func word(b []byte) token {
	if len(b) < 20 {
		if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
			return token{kind: number, number: n}
		}
	}
	return token{kind: keyword, text: string(b)}
}

// unescaped is a name with its #xx as characters (7.3.5).
func unescaped(b []byte) string {
	if bytes.IndexByte(b, '#') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '#' && i+2 < len(b) {
			if x, err := strconv.ParseUint(string(b[i+1:i+3]), 16, 8); err == nil {
				out, i = append(out, byte(x)), i+2
				continue
			}
		}
		out = append(out, b[i])
	}
	return string(out)
}

// literal is a string behind its "(" (7.3.4.2).
func (s *scanner) literal() string {
	var out []byte
	put := func(c byte) {
		if len(out) < maxKept {
			out = append(out, c)
		}
	}
	for depth := 1; s.at < len(s.text); {
		c := s.text[s.at]
		s.at++
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return string(out)
			}
		case '\\':
			s.escape(put)
			continue
		case '\r': // any end of a line is one line feed
			if s.is('\n') {
				s.at++
			}
			c = '\n'
		}
		put(c)
	}
	return string(out)
}

// escape reads what stands behind a "\".
func (s *scanner) escape(put func(byte)) {
	if s.at == len(s.text) {
		return
	}
	c := s.text[s.at]
	s.at++
	switch c {
	case 'n':
		put('\n')
	case 'r':
		put('\r')
	case 't':
		put('\t')
	case 'b':
		put('\b')
	case 'f':
		put('\f')
	case '\n': // the line goes on
	case '\r':
		if s.is('\n') {
			s.at++
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		x := c - '0'
		for range 2 {
			if s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '7' {
				x = x<<3 | (s.text[s.at] - '0') // high-order overflow is ignored
				s.at++
			}
		}
		put(x)
	default:
		put(c)
	}
}

// hex is a string behind its "<" (7.3.4.3).
func (s *scanner) hex() string {
	var out []byte
	half, digits := byte(0), 0
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		var x byte
		switch {
		case c >= '0' && c <= '9':
			x = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			x = c | 0x20 - 'a' + 10
		case c == '>':
			if digits%2 == 1 && len(out) < maxKept { // a missing last digit is 0
				out = append(out, half<<4)
			}
			return string(out)
		default:
			continue
		}
		if digits++; digits%2 == 0 && len(out) < maxKept {
			out = append(out, half<<4|x)
		}
		half = x
	}
	return string(out)
}

// stream passes over the bytes of a stream behind the keyword that begins it (7.3.8), and returns them. A length that
// does not lead to the keyword that ends it, or that stands elsewhere (-1), is not relied on.
func (s *scanner) stream(length int64) []byte {
	if s.is('\r') {
		s.at++
	}
	if s.is('\n') {
		s.at++
	}
	rest := s.text[s.at:]
	const last = "endstream"
	if length >= 0 && length <= int64(len(rest)) {
		behind := bytes.TrimLeft(rest[length:min(int64(len(rest)), length+16)], "\r\n \t\x00")
		if bytes.HasPrefix(behind, []byte(last)) {
			s.at += int(length)
			return rest[:length]
		}
	}
	i := bytes.Index(rest, []byte(last))
	if i < 0 {
		i = len(rest)
	}
	s.at += i
	return rest[:i]
}
