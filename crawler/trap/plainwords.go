package trap

import "math/bits"

// A page's words are most of what is told of it. Nearly all of them are as plain as can be: ASCII, one space between
// two, no slash that the page's own URL could be found by, no digit that a shape leaves out. Those are taken many at a
// time.

// plainWords returns how much of the beginning of s is words that need not be looked at one by one, and how many these
// are: without a slash, without white space but one space between two, and followed by white space or nothing; if they
// are to be their own templates, without digits and "#". White space is that of strings.Fields.
func plainWords(s string, templates bool) (end, words int) {
	i, spaces := plainOctets(s, templates)
	for ; i < len(s); i++ {
		switch octets[s[i]] {
		case plain:
			continue
		case number:
			if !templates {
				continue
			}
		case space:
			if i == 0 || s[i-1] == ' ' { // no word before it
				return max(i-1, 0), spaces
			}
			if s[i] == ' ' {
				spaces++
				continue
			}
			return i, spaces + 1
		}
		for i > 0 && s[i-1] != ' ' { // the word that it stands in
			i--
		}
		return max(i-1, 0), spaces
	}
	if i > 0 && s[i-1] == ' ' {
		return i - 1, spaces
	}
	return i, spaces + 1
}

// plainOctets is the beginning of plainWords: as far as eight bytes at a time are plain and spaces, no two of these
// next to each other.
func plainOctets(s string, templates bool) (n, spaces int) {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	var before uint64 = 0x80 // there is no word before a space that comes first
	for ; n+8 <= len(s); n += 8 {
		w := eight(s[n:])
		if w&highs != 0 {
			break
		}
		// With the high bits clear no sum below carries into the next byte.
		graphic := w + (0x80-' ')*ones      // high: not below a space
		noSlash := w ^ '/'*ones + 0x7f*ones // high: no slash
		space := ^(w ^ ' '*ones + 0x7f*ones) & highs
		if graphic&noSlash&highs != highs || space&(space<<8|before) != 0 {
			break
		}
		if templates {
			digit := (w + (0x80-'0')*ones) &^ (w + (0x7f-'9')*ones)
			noHash := w ^ '#'*ones + 0x7f*ones
			if (digit|^noHash)&highs != 0 {
				break
			}
		}
		before = space >> 56
		spaces += bits.OnesCount64(space)
	}
	return n, spaces
}

// eight are the first bytes of s as one number, the first one lowest.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// spaces is how much of the beginning of s is white space, as far as ASCII tells.
func spaces(s string) (n int) {
	for n < len(s) && octets[s[n]] == space {
		n++
	}
	return n
}

// wordEnd is where the white space after the beginning of s is, as far as ASCII tells: there may be several words
// before it.
func wordEnd(s string) (n int) {
	for n < len(s) && octets[s[n]] != space {
		n++
	}
	return n
}

// octet is what a byte may be in a text.
type octet uint8

const (
	plain  octet = iota
	number       // a digit, or what stands for some
	space        // of ASCII
	other        // a slash, or what white space beyond ASCII may begin with
)

// octets tells them apart. White space beyond ASCII begins with one of four bytes of UTF-8: U+0085, U+00A0; U+1680;
// U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F; U+3000.
var octets = [256]octet{
	'\t': space, '\n': space, '\v': space, '\f': space, '\r': space, ' ': space,
	'0': number, '1': number, '2': number, '3': number, '4': number, '5': number, '6': number, '7': number, '8': number,
	'9': number, '#': number,
	'/': other, 0xc2: other, 0xe1: other, 0xe2: other, 0xe3: other,
}
