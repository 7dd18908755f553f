package credential

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/url"
	"slices"
)

// ErrRepeated says that an answer has a value that was sent to it. Pages that help to find errors do that; to keep
// one would be to tell the secret to whoever has the archive.
var ErrRepeated = errors.New("the answer repeats the credentials that it was asked with: nothing of it is kept")

// leastForm is from how many octets on a form is looked for: shorter ones stand in pages by chance.
const leastForm = 8

// Repeated reports whether the octets of r have a value of one of the fields: as it was sent, or as pages write what
// they show.
func Repeated(fields []Field, r io.Reader) (bool, error) {
	forms := formsOf(fields)
	if len(forms) == 0 {
		return false, nil
	}
	longest := len(slices.MaxFunc(forms, func(a, b []byte) int { return len(a) - len(b) }))
	b := make([]byte, max(64<<10, 2*longest))
	kept := 0
	for {
		n, err := io.ReadFull(r, b[kept:])
		seen := b[:kept+n]
		for _, form := range forms {
			if bytes.Contains(seen, form) {
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

// formsOf are the ways in which a page may write what the fields have.
func formsOf(fields []Field) (all [][]byte) {
	add := func(s string) {
		if len(s) >= leastForm && !slices.ContainsFunc(all, func(b []byte) bool { return string(b) == s }) {
			all = append(all, []byte(s))
		}
	}
	for _, f := range fields {
		for _, s := range f.forms() {
			if len(s) < leastForm {
				continue
			}
			quoted, _ := json.Marshal(s) // of a string it cannot fail
			for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), string(quoted[1 : len(quoted)-1]),
				base64.StdEncoding.EncodeToString([]byte(s)), hex.EncodeToString([]byte(s))} {
				add(form)
			}
		}
	}
	return all
}
