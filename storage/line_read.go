package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// saltKey is where a line is cut for its public form, wherever it stands first.
var saltKey = []byte(`,"` + saltName + `":"`)

// ParseLine reads what AppendJSON or AppendSalted wrote. It passes over fields that it does not know. The salt is no part
// of a Line. Behind it stands what is withheld and nothing else: another field there would be read, and not be in the
// line's public form.
func ParseLine(b []byte) (Line, error) {
	var l Line
	salted := false
	err := members(b, func(name string, value []byte) error {
		f := byJSON[name]
		switch {
		case name == saltName && salted:
			return errors.New("it has two salts")
		case name == saltName:
			salted = true
			return nil
		case salted && (f == nil || !f.isWithheld):
			return fmt.Errorf("field %.80q stands behind the salt, where only withheld ones do", name)
		case (value[0] == '{' || value[0] == '[') && bytes.Contains(value, saltKey):
			return fmt.Errorf("a salt stands within the field %.80q", name)
		case f == nil || string(value) == "null":
			return nil
		}
		if err := f.form.readJSON(&l, value); err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return Line{}, err
	}
	return l, nil
}

var errNoObject = errors.New("a line is one JSON object")

// members gives name and value of each member of a JSON object to f. It exists for its speed: encoding/json reads a
// line into a struct by reflection, in some four times the time, and there is a line for every URL ever met.
func members(b []byte, f func(name string, value []byte) error) error {
	if !json.Valid(b) {
		if err := json.Unmarshal(b, new(struct{})); err != nil {
			return err
		}
	}
	b = space(b)
	if len(b) == 0 || b[0] != '{' {
		return errNoObject
	}
	for b = space(b[1:]); b[0] != '}'; {
		n := extent(b)
		name, err := readString(b[:n])
		if err != nil {
			return err
		}
		b = space(space(b[n:])[1:]) // the colon
		n = extent(b)
		if err := f(name, b[:n]); err != nil {
			return err
		}
		if b = space(b[n:]); b[0] == ',' {
			b = space(b[1:])
		}
	}
	return nil
}

// space passes over white space (RFC 8259 2).
func space(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

// extent is the length of the value that valid JSON begins with.
func extent(b []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || c == ':' || c <= ' '):
			return i
		}
	}
	return len(b)
}

var errNoString = errors.New("a text was expected")

func readString(value []byte) (s string, err error) {
	switch {
	case len(value) < 2 || value[0] != '"':
		return "", errNoString
	case bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value):
		return string(value[1 : len(value)-1]), nil
	}
	err = json.Unmarshal(value, &s)
	return s, err
}
