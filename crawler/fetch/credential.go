package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"curtsy/frontier/canon"
)

// Masked stands in the place of a value wherever a request is kept.
const Masked = "(masked)"

// maxFields bounds the fields of one authority, maxValue the octets of one value.
const (
	maxFields = 16
	maxValue  = 8 << 10
)

// field is a header field with a value that must stand nowhere. The zero Field cannot be sent.
type field struct {
	Name  string
	value func() string
	forms func() []string // in which an answer may repeat it
}

func newField(name, value string, forms ...string) field {
	forms = append(forms, value)
	return field{name, func() string { return value }, func() []string { return forms }}
}

// Line is the field as it is sent, Shown as it is kept.
func (f field) Line() string { return f.Name + ": " + f.value() + "\r\n" }

// Shown is the field as it is kept.
func (f field) Shown() string { return f.Name + ": " + Masked + "\r\n" }

// ParseAuth reads what a file of --auth has: "Bearer TOKEN" (RFC 6750) or "user:password" (RFC 7617). Its error quotes nothing.
func ParseAuth(line string) (field, error) {
	const how = "write one line, user:password or Bearer TOKEN"
	if err := fit(line); err != nil {
		return field{}, err
	}
	scheme, rest, _ := strings.Cut(line, " ")
	if strings.EqualFold(scheme, "bearer") {
		if token := strings.TrimSpace(rest); isToken68(token) {
			return newField("Authorization", "Bearer "+token, token), nil
		}
		return field{}, errors.New("what follows Bearer is not a token (RFC 6750 2.1); " + how)
	}
	user, password, ok := strings.Cut(line, ":")
	if !ok || user == "" {
		return field{}, errors.New("no user and password; " + how)
	}
	basic := base64.StdEncoding.EncodeToString([]byte(line))
	return newField("Authorization", "Basic "+basic, basic, strings.TrimRight(basic, "="), line, password), nil
}

// ParseFields reads what a file of --header has: lines "Name: value". Its error quotes no value.
func ParseFields(text string) (all []field, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok || !httpguts.ValidHeaderFieldName(name) || value == "":
			return nil, fmt.Errorf("line %d is not a header field: write Name: value", n)
		case ours(name):
			return nil, fmt.Errorf("line %d: the field %s is the crawler's to set", n, name)
		case slices.ContainsFunc(all, func(f field) bool { return strings.EqualFold(f.Name, name) }):
			return nil, fmt.Errorf("line %d: the field %s is there twice", n, name)
		case len(all) == maxFields:
			return nil, fmt.Errorf("line %d: there are more than %d fields", n, maxFields)
		}
		if err := fit(value); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		all = append(all, newField(name, value, inner(name, value)...))
	}
	if len(all) == 0 {
		return nil, errors.New("no header field: write lines Name: value")
	}
	return all, nil
}

// inner are the parts of a value that are secrets by themselves: what follows a scheme, and the values of cookies.
func inner(name, value string) (all []string) {
	if !strings.EqualFold(name, "Cookie") {
		_, rest, _ := strings.Cut(value, " ")
		return []string{rest}
	}
	for pair := range strings.SplitSeq(value, ";") {
		if _, v, ok := strings.Cut(pair, "="); ok {
			all = append(all, strings.TrimSpace(v))
		}
	}
	return all
}

// fit refuses what cannot stand in a header field (RFC 9110 5.5).
func fit(value string) error {
	if len(value) > maxValue {
		return fmt.Errorf("it is longer than %d bytes", maxValue)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("it has control characters, or more than one line")
	}
	return nil
}

// isToken68 reports whether s is what RFC 9110 11.2 calls token68.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/", r))
	})
}

// ours reports whether a field is one that the crawler promises the value of, or that frames a message.
func ours(name string) bool {
	name = strings.ToLower(name)
	for _, prefix := range []string{"accept", "if-", "proxy-", "signature", "content-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"host", "user-agent", "from", "connection", "keep-alive", "transfer-encoding", "te", "trailer",
		"upgrade", "expect", "range", "referer", "via", "forwarded"}, name)
}

// Set has the fields of each authority. The nil Set has none.
type Set struct {
	of map[canon.Authority][]field
}

// Add adds fields of an authority. The error names a field that the authority has already.
func (s *Set) Add(a canon.Authority, fields ...field) error {
	if s.of == nil {
		s.of = map[canon.Authority][]field{}
	}
	for _, f := range fields {
		if slices.ContainsFunc(s.of[a], func(g field) bool { return strings.EqualFold(f.Name, g.Name) }) {
			return fmt.Errorf("%s has the field %s twice", a.Origin(), f.Name)
		}
		s.of[a] = append(s.of[a], f)
	}
	return nil
}

// Of are the fields of an authority.
func (s *Set) Of(a canon.Authority) []field {
	if s == nil {
		return nil
	}
	return s.of[a]
}

// Has reports whether an authority has fields.
func (s *Set) Has(a canon.Authority) bool { return len(s.Of(a)) > 0 }

// Authorities are those that have fields, in order.
func (s *Set) Authorities() []canon.Authority {
	if s == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(s.of), func(a, b canon.Authority) int { return strings.Compare(a.Origin(), b.Origin()) })
}

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
