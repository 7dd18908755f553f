package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
)

// errRepeated says that an answer has a value that was sent to it. Pages that help to find errors do that; to keep
// one would be to tell the secret to whoever has the archive.
var errRepeated = errors.New("the response repeats the credentials of the request: it is not stored")

// leastForm is from how many bytes on a form is looked for: shorter ones appear in pages by chance.
const leastForm = 8

// maxEscape bounds the bytes of one escape, "&#x000054;" being the longest that unescape reads.
const maxEscape = 10

// credentialRepeated reports whether the bytes of r have a value of one of the fields: as it was sent, in hex or base64, or with any
// of its bytes escaped as in URLs, HTML, JSON and JavaScript. Case is ignored throughout.
func credentialRepeated(fields []field, r io.Reader) (bool, error) {
	forms := formsOf(fields)
	if len(forms) == 0 {
		return false, nil
	}
	longest := maxEscape * len(slices.MaxFunc(forms, func(a, b []byte) int { return len(a) - len(b) }))
	b := make([]byte, max(64<<10, 2*longest))
	var plain []byte
	kept := 0
	for {
		n, err := io.ReadFull(r, b[kept:])
		seen := b[:kept+n]
		plain = unescape(plain[:0], seen)
		for _, s := range [][]byte{lower(bytes.Clone(seen)), lower(plain)} {
			if slices.ContainsFunc(forms, func(form []byte) bool { return bytes.Contains(s, form) }) {
				return true, nil
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		kept = copy(b, seen[max(0, len(seen)-longest+1):])
	}
}

// formsOf returns the values of the fields and their encodings, in lower case.
func formsOf(fields []field) (all [][]byte) {
	add := func(s string) {
		form := lower([]byte(s))
		if len(form) >= leastForm && !slices.ContainsFunc(all, func(b []byte) bool { return bytes.Equal(b, form) }) {
			all = append(all, form)
		}
	}
	for _, f := range fields {
		for _, s := range f.forms() {
			if len(s) < leastForm {
				continue
			}
			add(s)
			add(strings.ReplaceAll(s, " ", "+")) // as a query writes it
			add(hex.EncodeToString([]byte(s)))
			for offset := range 3 {
				core := base64Core(s, offset)
				add(core)
				add(strings.NewReplacer("+", "-", "/", "_").Replace(core))
			}
		}
	}
	return all
}

// lower writes the ASCII letters of s in lower case, in place.
func lower(s []byte) []byte {
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			s[i] = c + 'a' - 'A'
		}
	}
	return s
}

// base64Core returns the characters of a base64 text that follow from s alone, where s begins at a byte whose number is
// offset modulo 3.
func base64Core(s string, offset int) string {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), s...))
	return text[(offset*8+5)/6 : (offset+len(s))*8/6]
}

// unescape appends s to b with each escape replaced by what it stands for: %54, &#84;, &#x54;, &amp; and its kind, \u0054,
// \x54 and a backslash before any other character.
func unescape(b, s []byte) []byte {
	for i := 0; i < len(s); {
		c, n := escaped(s[i:])
		b = append(b, c...)
		i += n
	}
	return b
}

// escaped returns what the first character of s stands for, and how many bytes write it.
func escaped(s []byte) (c []byte, n int) {
	switch {
	case s[0] == '%' && len(s) > 2:
		if v, err := strconv.ParseUint(string(s[1:3]), 16, 8); err == nil {
			return []byte{byte(v)}, 3
		}
	case s[0] == '&':
		if end := bytes.IndexByte(s[:min(len(s), maxEscape)], ';'); end > 0 {
			if text := html.UnescapeString(string(s[:end+1])); text[0] != '&' || text == "&" {
				return []byte(text), end + 1
			}
		}
	case s[0] == '\\' && len(s) > 1:
		digits := map[byte]int{'u': 4, 'x': 2}[s[1]]
		if digits == 0 {
			return s[1:2], 2
		}
		if len(s) >= 2+digits {
			if v, err := strconv.ParseUint(string(s[2:2+digits]), 16, 32); err == nil {
				return []byte(string(rune(v))), 2 + digits
			}
		}
	}
	return s[:1], 1
}
