package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth is how deep JSON of a bundle may be nested: readers of other languages give up at some hundreds.
const maxDepth = 64

var errPlain = errors.New("it is not JSON that all readers take for the same")

// plain refuses JSON of which one reader makes this and another one that: an object that has a name twice, of which the
// first or the last counts, or a name with other letters than the format has, which package encoding/json takes for the
// same as one in lower case.
func plain(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var within []map[string]bool // the names of each object around; nil for an array
	name := false                // the next token may be a name
	for {
		t, err := d.Token()
		if err != nil {
			return errPlain
		}
		switch s, is := t.(string); {
		case is && name:
			names := within[len(within)-1]
			if names[s] || !isName(s) {
				return fmt.Errorf("%w: the name %.80q is twice there, or odd", errPlain, s)
			}
			names[s], name = true, false
			continue
		case t == json.Delim('{'):
			within = append(within, map[string]bool{})
		case t == json.Delim('['):
			within = append(within, nil)
		case t == json.Delim('}'), t == json.Delim(']'):
			within = within[:len(within)-1]
		}
		if len(within) > maxDepth {
			return fmt.Errorf("%w: it is nested more than %d deep", errPlain, maxDepth)
		}
		if len(within) == 0 {
			break
		}
		name = within[len(within)-1] != nil
	}
	if len(bytes.TrimLeft(b[d.InputOffset():], " \t\r\n")) > 0 {
		return errPlain
	}
	return nil
}

// isName reports whether s may be a name: lower-case ASCII letters, digits and underscores.
func isName(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return s != ""
}
