package markup

import (
	"bytes"
	"io"
	"math/bits"
)

// Max bounds the attributes of a page.
const Max = 1 << 17

// Limit is a page up to its last allowed attribute. Only the parser knows which "<" begin tags, since comments and
// scripts contain others. So Limit takes each one before a possible name for a tag, also in quotes, and counts an
// attribute that begins in any of the tags that may be open.
type Limit struct {
	r    io.Reader
	left int
	over bool

	opens bool  // the last byte is "<"
	open  uint8 // bit set of the states that a tag may be in
}

// state is a position within a tag.
type state uint8

const (
	inName    state = iota // of the tag
	inSpace                // before an attribute
	inAttr                 // its name
	inGap                  // after its name
	inEquals               // before its value
	inDouble               // in quotes
	inSingle               // in single quotes
	inValue                // without quotes
	behindTag              // the number of states in a tag
)

// steps maps each state and byte to the next state.
var steps = func() (all [behindTag][256]state) {
	for s := range behindTag {
		for c := range 256 {
			all[s][c] = s.behind(byte(c))
		}
	}
	return all
}()

// behind returns the state after a byte (HTML Standard 13.2.5.8 and 13.2.5.32 to 13.2.5.39). The "/" of an end tag counts
// as part of its name.
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

// New returns a Limit of the page r with at most so many attributes.
func New(r io.Reader, most int) *Limit { return &Limit{r: r, left: most} }

// Over reports whether there were more.
func (l *Limit) Over() bool { return l.over }

// Left returns how many more it allows; negative if there were more.
func (l *Limit) Left() int { return l.left }

// Read implements io.Reader.
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

// feed counts the attributes that begin in b and returns the index of the first beyond the limit.
func (l *Limit) feed(b []byte) int {
	for i := 0; i < len(b); i++ {
		if l.open == 0 && !l.opens {
			next := bytes.IndexByte(b[i:], '<')
			if next < 0 {
				return len(b)
			}
			i += next
		}
		if s := bits.TrailingZeros8(l.open); !l.opens && l.open == 1<<s { // a single state, which most bytes do not change
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
			open |= 1 << next // behindTag drops out of the bits
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
