package warc

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// textCode is a Huffman code for the texts that are written about exchanges: heads of records, requests, fields. DEFLATE
// (RFC 1951 3.2.7) has the code go before what is written in it, and to count, to make and to write one that fits takes
// several times as long as to write some hundred octets in it. All these texts are alike, so that this one, made
// beforehand, fits each about as well as its own would. It has words for the octets of ASCII. It does not change, and is
// shared.
type textCode struct {
	literal  [257]word // 256 is the end of the block
	length   [259]word // of a match of so many octets, its extra bits included
	distance [30]word
	head     []byte // the block's head
	rest     uint64 // and its last bits
	restBits uint
}

// word is a code word, its first bit the lowest.
type word struct {
	bits uint32
	n    uint8
}

// The lengths of the words in bits, a digit of base 16 each: of 256 literals, the end and 29 lengths; of 30 distances; and
// of the 19 words in which those are told. TestTextCodeFits tells what would fit best.
const (
	textLengths = "cccccccccc6cc6cccccccccccccccccc6ccccaccbb9a957555566666666aa9abc8988acaa9cc9bcc9c8b79c9ccaccccc" +
		"c56554566587676568555687878ccccc0000000000000000000000000000000000000000000000000000000000000000" +
		"0000000000000000000000000000000000000000000000000000000000000000ac67766898b9ccbaa87acccccccccc"
	textDistances   = "ccc8896556653644333445568ccccc"
	textCodeLengths = "0006533434343000306"
)

// lengthBase is the shortest match of each length symbol; the last stands for 258 alone (RFC 1951 3.2.5).
func lengthBase() [29]int {
	return [29]int{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
}

// lengthSymbol returns the symbol of a match of so many octets, from 0, and its extra bits.
func lengthSymbol(octets int) (symbol int, extra uint32, n uint8) {
	base := lengthBase()
	for symbol = len(base) - 1; base[symbol] > octets; {
		symbol--
	}
	if symbol >= 8 && symbol < 28 {
		n = uint8(symbol/4 - 1)
	}
	return symbol, uint32(octets - base[symbol]), n
}

// distanceSymbol returns the symbol of a distance, and its extra bits.
func distanceSymbol(octets int) (symbol int, extra uint32, n uint8) {
	x := uint32(octets - 1)
	if x < 4 {
		return int(x), 0, 0
	}
	n = uint8(bits.Len32(x) - 2)
	return 2*int(n) + int(x>>n), x & (1<<n - 1), n
}

// words returns the words of a code whose lengths are given (RFC 1951 3.2.2).
func words(lengths string) []word {
	ws := make([]word, len(lengths))
	next := uint32(0)
	for n := uint8(1); n <= 15; n++ {
		for i := range ws {
			if digit(lengths[i]) == n {
				ws[i] = word{bits.Reverse32(next) >> (32 - n), n}
				next++
			}
		}
		next <<= 1
	}
	return ws
}

// digit is the value of a digit of base 16 in lower case.
func digit(c byte) uint8 {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

func newTextCode() *textCode {
	c := new(textCode)
	symbols := words(textLengths)
	copy(c.literal[:], symbols)
	copy(c.distance[:], words(textDistances))
	for octets := 3; octets < len(c.length); octets++ {
		s, extra, n := lengthSymbol(octets)
		w := symbols[257+s]
		c.length[octets] = word{w.bits | extra<<w.n, w.n + n}
	}
	c.tell()
	return c
}

// tell makes the head of the only block of a member, which tells the code: lengths of words, where one that is repeated
// is told once and then how often (RFC 1951 3.2.7).
func (c *textCode) tell() {
	c.head = make([]byte, 256)
	end := 0
	tell := func(v uint32, n uint8) {
		end, c.rest, c.restBits = put(c.head, end, c.rest, c.restBits, uint64(v), uint(n))
	}
	tell(1|2<<1, 3) // the last block, with a code of its own
	tell(uint32(len(textLengths)-257), 5)
	tell(uint32(len(textDistances)-1), 5)
	tell(uint32(len(textCodeLengths)-4), 4)
	for _, symbol := range [19]byte{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15} {
		tell(uint32(digit(textCodeLengths[symbol])), 3)
	}
	told := words(textCodeLengths)
	last := byte(0)
	for all := textLengths + textDistances; all != ""; {
		most := min(len(all), 138)
		same := len(all[:most]) - len(strings.TrimLeft(all[:most], all[:1]))
		switch length := all[0]; {
		case length == '0' && same >= 11:
			tell(told[18].bits, told[18].n) // zero, 11 to 138 times
			tell(uint32(same-11), 7)
		case length == last && same >= 3:
			same = min(same, 6)
			tell(told[16].bits, told[16].n) // the last one, three to six times more
			tell(uint32(same-3), 2)
		default:
			same = 1
			tell(told[digit(length)].bits, told[digit(length)].n)
		}
		last, all = all[0], all[same:]
	}
	c.head = c.head[:end]
}

// textWindow is the longest text that can be compressed: DEFLATE refers back no further.
const textWindow = 32 << 10

// textTable is where the four octets were met that have a hash: the place behind it, 0 for nowhere.
type textTable [1 << 12]uint16

// can reports whether text can be written in c: it is neither too long, nor more than ASCII.
func (c *textCode) can(text []byte) bool {
	if len(text) > textWindow {
		return false
	}
	var all uint64
	for ; len(text) >= 8; text = text[8:] {
		all |= binary.LittleEndian.Uint64(text)
	}
	for _, octet := range text {
		all |= uint64(octet)
	}
	return all&0x8080808080808080 == 0
}

// compress appends a text that can be written in c to b, as a DEFLATE stream. It finds matches like other fast
// compressors: by one look at where the next four octets were met last.
func (c *textCode) compress(b, text []byte, met *textTable) []byte {
	b = slices.Grow(append(b, c.head...), 2*len(text)+16) // no word has more than 12 bits, and put wants 8 octets
	out, end := b[len(b):cap(b)], 0
	v, n := c.rest, c.restBits
	clear(met[:])
	from := 0 // text[from:i] is to be written as it is
	for i := 0; i+8 <= len(text); {
		four := binary.LittleEndian.Uint32(text[i:])
		hash := four * 2654435761 >> 20
		at := int(met[hash]) - 1
		met[hash] = uint16(i + 1)
		if at < 0 || binary.LittleEndian.Uint32(text[at:]) != four {
			i += 1 + (i-from)>>5 // what has no matches for long has none soon
			continue
		}
		for at > 0 && i > from && text[at-1] == text[i-1] {
			at, i = at-1, i-1
		}
		end, v, n = c.literals(out, end, v, n, text[from:i])
		octets := matching(text, at, i)
		symbol, extra, extraBits := distanceSymbol(i - at)
		length, distance := c.length[octets], c.distance[symbol]
		words := uint64(length.bits) | uint64(distance.bits|extra<<distance.n)<<(length.n&63)
		end, v, n = put(out, end, v, n, words, uint(length.n+distance.n+extraBits))
		i += octets
		from = i
	}
	end, v, n = c.literals(out, end, v, n, text[from:])
	end, _, _ = put(out, end, v, n, uint64(c.literal[256].bits), uint(c.literal[256].n)+7) // and what fills the last octet
	return b[:len(b)+end]
}

// literals puts text as it is.
func (c *textCode) literals(out []byte, end int, v uint64, n uint, text []byte) (int, uint64, uint) {
	for ; len(text) > 1; text = text[2:] { // two at a time go faster
		w, next := c.literal[text[0]], c.literal[text[1]]
		end, v, n = put(out, end, v, n, uint64(w.bits)|uint64(next.bits)<<(w.n&63), uint(w.n+next.n))
	}
	if len(text) > 0 {
		w := c.literal[text[0]]
		end, v, n = put(out, end, v, n, uint64(w.bits), uint(w.n))
	}
	return end, v, n
}

// put writes the low more bits of w, at most 56, to out[end:], behind the n bits in v, which do not fill an octet; nor do
// those that it returns. The first bit is the lowest of an octet (RFC 1951 3.1.1). It writes 8 octets, whatever counts.
func put(out []byte, end int, v uint64, n uint, w uint64, more uint) (int, uint64, uint) {
	v |= w << (n & 63)
	n += more
	binary.LittleEndian.PutUint64(out[end:], v)
	return end + int(n>>3), v >> (n & 56), n & 7
}

// matching returns how many octets of text at i are like those at an earlier place, which four are, up to 258.
func matching(text []byte, at, i int) int {
	most := min(len(text)-i, 258)
	n := 4
	for n+8 <= most {
		if differ := binary.LittleEndian.Uint64(text[at+n:]) ^ binary.LittleEndian.Uint64(text[i+n:]); differ != 0 {
			return n + bits.TrailingZeros64(differ)>>3
		}
		n += 8
	}
	for n < most && text[at+n] == text[i+n] {
		n++
	}
	return n
}
