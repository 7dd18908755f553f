package markup

import (
	"bytes"
	"io"
)

// Max is how many attributes of a page are read.
const Max = 1 << 17

// Limit is a page up to its last allowed attribute.
type Limit struct {
	r    io.Reader
	left int
	over bool

	state state
	quote byte
}

type state uint8

const (
	inText   state = iota
	inOpen         // behind "<"
	inName         // of a tag
	inSpace        // before an attribute
	inAttr         // its name
	inGap          // behind its name
	inEquals       // before its value
	attrsInQuotes
	inValue // without quotes
)

// New returns a Limit of the page that r reads, with at most so many attributes.
func New(r io.Reader, most int) *Limit { return &Limit{r: r, left: most} }

// Over reports whether there were more.
func (l *Limit) Over() bool { return l.over }

// Left is how many more it allows; negative when there were more.
func (l *Limit) Left() int { return l.left }

// Read is that of io.Reader.
func (l *Limit) Read(p []byte) (n int, err error) {
	if l.over {
		return 0, io.EOF
	}
	n, err = l.r.Read(p)
	if end := l.feed(p[:n]); end < n {
		l.over = true
		return end, io.EOF
	}
	return n, err
}

// feed counts the attributes that begin in b, and returns where there are too many.
func (l *Limit) feed(b []byte) int {
	for i := 0; i < len(b); {
		switch c := b[i]; l.state {
		case inText:
			next := bytes.IndexByte(b[i:], '<')
			if next < 0 {
				return len(b)
			}
			i, l.state = i+next+1, inOpen
			continue
		case inOpen:
			l.open(c)
			if l.state == inText {
				continue // it may be a "<" itself
			}
		case inName:
			l.inName(c)
		case inSpace, inGap:
			if l.before(c); l.left < 0 {
				return i
			}
		case inAttr:
			l.inAttr(c)
		case inEquals:
			l.equals(c)
		case attrsInQuotes:
			end := bytes.IndexByte(b[i:], l.quote)
			if end < 0 {
				return len(b)
			}
			i += end
			l.state = inSpace
		case inValue:
			if IsSpace(c) {
				l.state = inSpace
			} else if c == '>' {
				l.state = inText
			}
		}
		i++
	}
	return len(b)
}

// open is for the byte behind "<".
func (l *Limit) open(c byte) {
	if l.state = inText; IsLetter(c) || c == '/' {
		l.state = inName
	}
}

// inName is for a byte of a tag's name, or behind it. The "/" of an end tag is one, and begins an attribute nowhere.
func (l *Limit) inName(c byte) {
	switch {
	case c == '>':
		l.state = inText
	case IsSpace(c) || c == '/':
		l.state = inSpace
	}
}

// before is for a byte where an attribute may begin.
func (l *Limit) before(c byte) {
	switch {
	case IsSpace(c):
	case c == '/':
		l.state = inSpace
	case c == '>':
		l.state = inText
	case c == '=' && l.state == inGap:
		l.state = inEquals
	default:
		l.left--
		l.state = inAttr
	}
}

// inAttr is for a byte behind the first one of an attribute's name.
func (l *Limit) inAttr(c byte) {
	switch {
	case c == '=':
		l.state = inEquals
	case IsSpace(c):
		l.state = inGap
	case c == '/':
		l.state = inSpace
	case c == '>':
		l.state = inText
	}
}

// equals is for a byte before a value.
func (l *Limit) equals(c byte) {
	switch {
	case IsSpace(c):
	case c == '"' || c == '\'':
		l.state, l.quote = attrsInQuotes, c
	case c == '>':
		l.state = inText
	default:
		l.state = inValue
	}
}
