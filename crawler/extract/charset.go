package extract

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Decider is what decided on a page's encoding.
type Decider string

// The deciders, in order of precedence.
const (
	ByMark   Decider = "bom"    // the byte order mark
	ByHeader Decider = "header" // charset of the Content-Type field
	ByMeta   Decider = "meta"   // a meta element in the first 1,024 octets
	ByGuess  Decider = "guess"  // UTF-8 if the first 1,024 octets are, and not plain ASCII; else windows-1252
	ByXML    Decider = "xml"    // of a page in XML, whose declaration names it or, by naming none, UTF-8
)

// choice is the outcome of detect.
type choice struct {
	name string
	by   Decider
	mark int // octets of the byte order mark
}

var marks = []struct{ octets, name string }{
	{"\xEF\xBB\xBF", "utf-8"},
	{"\xFE\xFF", "utf-16be"},
	{"\xFF\xFE", "utf-16le"},
}

// detect decides on the encoding of a page by its head (HTML Standard 13.2.3.2). The encoding is nil for UTF-8.
func detect(contentType string, head []byte) (encoding.Encoding, choice) {
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.octets)) {
			e, name := charset.Lookup(m.name)
			return unlessUTF8(e, name), choice{name, ByMark, len(m.octets)}
		}
	}
	if label := charsetOf(contentType); label != "" {
		if e, name := charset.Lookup(label); e != nil {
			return unlessUTF8(e, name), choice{name, ByHeader, 0}
		}
	}
	e, name, _ := charset.DetermineEncoding(head, "")
	by := ByMeta
	// The package wraps the encodings that it looks up by a label; the two that it guesses it returns bare.
	if e == charmap.Windows1252 || e == encoding.Nop {
		by = ByGuess
	}
	return unlessUTF8(e, name), choice{name, by, 0}
}

func unlessUTF8(e encoding.Encoding, name string) encoding.Encoding {
	if name == "utf-8" {
		return nil
	}
	return e
}

// charsetOf returns the first charset parameter of a Content-Type value. It is read leniently, as browsers do: a
// defect elsewhere in the field does not cost the encoding.
func charsetOf(contentType string) string {
	_, params, _ := strings.Cut(contentType, ";")
	for params != "" {
		var value string
		name, rest, ok := cutAny(params, ";=")
		if !ok {
			return ""
		}
		if params[len(name)] == ';' {
			params = rest
			continue
		}
		if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, `"`) {
			value, rest, _ = strings.Cut(rest[1:], `"`)
			_, params, _ = strings.Cut(rest, ";")
		} else {
			value, params, _ = strings.Cut(rest, ";")
		}
		if strings.EqualFold(strings.Trim(name, " \t"), "charset") {
			return strings.Trim(value, " \t")
		}
	}
	return ""
}

// cutAny splits s around the first of the separators.
func cutAny(s, separators string) (before, after string, found bool) {
	if i := strings.IndexAny(s, separators); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}
