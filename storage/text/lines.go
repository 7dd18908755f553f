package text

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// lines is a text as it grows: white space is one space, blocks are lines of their own, no line is empty.
type lines struct {
	b     []byte
	most  int    // bytes
	over  bool   // there was more
	space bool   // goes before the next word of this line
	fresh bool   // the next word begins a line
	pre   int    // open elements that keep white space
	kept  []byte // white space that stands before the next word of this line

	link bool // words that come are those of a link, or else not counted
	line int  // bytes of this line that are counted, a space behind each word among them
	long int  // the same of the lines before it that have more than longLine
	all  int  // of all lines before it

	leave func(n *html.Node, long int) // called at the end of an element with its own bytes in long lines; may be nil
}

// longLine is how many bytes a line of a menu has at most.
const longLine = 60

// own returns how many bytes of the text are outside of links: in long lines, and in all.
func (l *lines) own() (long, all int) {
	if long, all = l.long, l.all+l.line; l.line > longLine {
		long += l.line
	}
	return long, all
}

// maxKept is how much white space in a row is kept.
const maxKept = 1 << 10

// end ends the line, if anything is on it.
func (l *lines) end() { l.fresh, l.kept = true, l.kept[:0] }

// gap parts what stood before from what follows on the same line.
func (l *lines) gap() { l.space = true }

// text adds characters as they stand in a page.
func (l *lines) text(s []byte) {
	for len(s) > 0 && !l.over {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '\n' && l.pre > 0:
			l.end()
		case l.pre > 0 && (r == ' ' || r == '\t'):
			if len(l.kept) < maxKept {
				l.kept = append(l.kept, s[:n]...)
			}
		case unicode.IsSpace(r):
			l.space = true
		case unicode.IsControl(r):
		default:
			n = word(s)
			l.part()
			l.put(s[:n])
			if !l.link {
				l.line += n + 1
			}
		}
		s = s[n:]
	}
}

// word is how many bytes from the beginning of s are put as they are.
func word(s []byte) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r < utf8.RuneSelf && (r <= ' ' || r == 0x7f) || r >= utf8.RuneSelf && (unicode.IsSpace(r) || unicode.IsControl(r)) {
			return i
		}
		i += n
	}
	return len(s)
}

// part writes what parts the next word from the one before.
func (l *lines) part() {
	if l.fresh {
		l.long, l.all = l.own()
		l.line = 0
	}
	if len(l.b) > 0 {
		switch {
		case l.fresh:
			l.put([]byte("\n"))
		case l.space && len(l.kept) == 0:
			l.put([]byte(" "))
		}
	}
	l.put(l.kept)
	l.fresh, l.space, l.kept = false, false, l.kept[:0]
}

// put adds s as valid UTF-8, up to the limit.
func (l *lines) put(s []byte) {
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	if room := l.most - len(l.b); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, l.over = s[:max(room, 0)], true
	}
	l.b = append(l.b, s...)
}

// String is the text, which ends with its last word, or where it was cut.
func (l *lines) String() string { return string(bytes.TrimRight(l.b, " \t\n")) }
