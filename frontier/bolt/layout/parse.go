package layout

import "encoding/binary"

// parser reads what the append functions of encoding/binary wrote. After the first thing that is not there it is bad
// and everything it returns is zero: callers read a whole item and ask once.
type parser struct {
	b   []byte
	bad bool
}

// uvarint reads a number. Most have one byte.
func (p *parser) uvarint() uint64 {
	if b := p.b; len(b) > 0 && b[0] < 0x80 {
		p.b = b[1:]
		return uint64(b[0])
	}
	return p.long()
}

// long reads a number of more than one byte.
func (p *parser) long() uint64 {
	v, n := binary.Uvarint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}

// bytes reads n bytes. They are shared with the input.
func (p *parser) bytes(n uint64) []byte {
	if n > uint64(len(p.b)) {
		p.fail()
		return nil
	}
	b := p.b[:n:n]
	p.b = p.b[n:]
	return b
}

// text reads a string with its length in front.
func (p *parser) text() string { return string(p.bytes(p.uvarint())) }

// done reports whether everything was read and all of it was there.
func (p *parser) done() bool { return !p.bad && len(p.b) == 0 }

// more reports whether something is left to read.
func (p *parser) more() bool { return !p.bad && len(p.b) > 0 }

func (p *parser) fail() { p.b, p.bad = nil, true }

// appendText writes a string with its length in front.
func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// varint reads a number with a sign.
func (p *parser) varint() int64 {
	v, n := binary.Varint(p.b)
	if n <= 0 {
		p.fail()
		return 0
	}
	p.b = p.b[n:]
	return v
}
