package markup

import (
	"bytes"
	"io"
	"math/bits"
)

// Max is how many attributes of a page are read.
const Max = 1 << 17

// Limit is a page up to its last allowed attribute. Which "<" begin tags only the parser knows, since comments and scripts
// contain others. So each one before what may begin a name is taken for a tag, in quotes as well, and an attribute counts that begins in
// any of the tags that may be open.
type Limit struct {
	r    io.Reader
	left int
	over bool

	opens bool  // the last byte is "<"
	open  uint8 // a bit for each state that a tag may be in
}

// state is where in a tag its next byte is.
type state uint8

const (
	inName    state = iota // of the tag
	inSpace                // before an attribute
	inAttr                 // its name
	inGap                  // behind its name
	inEquals               // before its value
	inDouble               // in quotes
	inSingle               // in single quotes
	inValue                // without quotes
	behindTag              // as many as there are in a tag
)

// steps are the states behind each byte.
var steps = func() (all [behindTag][256]state) {
	for s := range behindTag {
		for c := range 256 {
			all[s][c] = s.behind(byte(c))
		}
	}
	return all
}()

// behind is the state behind a byte (HTML Standard 13.2.5.8 and 13.2.5.32 to 13.2.5.39). The "/" of an end tag is taken for
// a part of its name.
func (s state) behind(c byte) state {
	switch {
	case s == inDouble && c != '"', s == inSingle && c != '\'':
		return s
	case s == inDouble, s == inSingle:
		return inSpace
	case c == '>':
		return behindTag
	case IsSpace(c) && (s == inAttr || s == inGap):
		return inGap
	case IsSpace(c) && s == inEquals:
		return inEquals
	case IsSpace(c):
		return inSpace
	case s == inEquals && c == '"':
		return inDouble
	case s == inEquals && c == '\'':
		return inSingle
	case s == inEquals, s == inValue:
		return inValue
	case c == '/':
		return inSpace
	case s == inName:
		return inName
	case c == '=' && s != inSpace:
		return inEquals
	}
	return inAttr
}

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
	for i := 0; i < len(b); i++ {
		if l.open == 0 && !l.opens {
			next := bytes.IndexByte(b[i:], '<')
			if next < 0 {
				return len(b)
			}
			i += next
		}
		if s := bits.TrailingZeros8(l.open); !l.opens && l.open == 1<<s { // in one state only: most bytes leave it there
			for b[i] != '<' && steps[s][b[i]] == state(s) {
				if i++; i == len(b) {
					return i
				}
			}
		}
		c := b[i]
		begins, open := false, uint8(0)
		for left := l.open; left != 0; left &= left - 1 {
			s := state(bits.TrailingZeros8(left))
			next := steps[s][c]
			begins = begins || next == inAttr && s != inAttr
			open |= 1 << next // behind the tag that is none
		}
		if l.opens && (isNameStart(c) || c == '/') {
			open |= 1 << inName
		}
		l.open, l.opens = open, c == '<'
		if begins {
			if l.left--; l.left < 0 {
				return i
			}
		}
	}
	return len(b)
}
