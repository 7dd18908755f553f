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

// Masked replaces a value wherever a request is stored.
const Masked = "(masked)"

const (
	maxFields = 16      // of one authority
	maxValue  = 8 << 10 // bytes
)

// field is a header field with a secret value, behind functions so that no printing shows it.
type field struct {
	Name  string
	value func() string
	forms func() []string // in which a response may repeat it
}

func newField(name, value string, forms ...string) field {
	forms = append(forms, value)
	return field{name, func() string { return value }, func() []string { return forms }}
}

// Line is the field as it is sent.
func (f field) Line() string { return f.Name + ": " + f.value() + "\r\n" }

// Shown is the field as it is stored.
func (f field) Shown() string { return f.Name + ": " + Masked + "\r\n" }

// ParseAuth parses an --auth file: "Bearer TOKEN" (RFC 6750) or "user:password" (RFC 7617). Its error never quotes it.
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

// ParseFields parses a --header file: lines "Name: value". Its error quotes no value.
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

// inner returns the parts of a value that are secrets on their own: the text after a scheme, and cookie values.
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

// fit rejects invalid header field values (RFC 9110 5.5).
func fit(value string) error {
	if len(value) > maxValue {
		return fmt.Errorf("it is longer than %d bytes", maxValue)
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return errors.New("it has control characters, or more than one line")
	}
	return nil
}

// isToken68 reports whether s is a token68 (RFC 9110 11.2).
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._~+/", r))
	})
}

// ours reports whether the crawler sets a field, or the field frames a message.
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

// Set holds the fields of each authority. The nil Set has none.
type Set struct {
	of map[canon.Authority][]field
}

// Add adds fields of an authority. The error names a duplicate field.
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

// Of returns the fields of an authority.
func (s *Set) Of(a canon.Authority) []field {
	if s == nil {
		return nil
	}
	return s.of[a]
}

// Has reports whether an authority has fields.
func (s *Set) Has(a canon.Authority) bool { return len(s.Of(a)) > 0 }

// Authorities returns those that have fields, in order.
func (s *Set) Authorities() []canon.Authority {
	if s == nil {
		return nil
	}
	return slices.SortedFunc(maps.Keys(s.of), func(a, b canon.Authority) int { return strings.Compare(a.Origin(), b.Origin()) })
}

// errRepeated keeps a secret out of the archive: debugging pages repeat their request.
var errRepeated = errors.New("the response repeats the credentials of the request: it is not stored")

// leastForm is the least length of a form: shorter ones appear in pages by chance.
const leastForm = 8

// maxEscape bounds the bytes of one escape: "&#x000054;".
const maxEscape = 10

// credentialRepeated reports whether r contains a value of one of the fields: as it was sent, in hex or base64, or with
// bytes escaped as in URLs, HTML, JSON and JavaScript. It ignores case.
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
		plain = plain[:0]
		for i := 0; i < len(seen); {
			c, width := escaped(seen[i:])
			plain = append(plain, c...)
			i += width
		}
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

// formsOf returns the values of the fields and their encodings in lower case.
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
			add(strings.ReplaceAll(s, " ", "+")) // in a query
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

// lower converts ASCII letters in place.
func lower(s []byte) []byte {
	for i, c := range s {
		if c >= 'A' && c <= 'Z' {
			s[i] = c + 'a' - 'A'
		}
	}
	return s
}

// base64Core returns the characters of a base64 text that depend only on s, if s begins at a byte offset modulo 3.
func base64Core(s string, offset int) string {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, offset), s...))
	return text[(offset*8+5)/6 : (offset+len(s))*8/6]
}

// escaped decodes the first character of s, which n bytes encode: %54, &#84;, &#x54;, &amp;, \u0054, \x54, a backslash
// before any other character.
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
