// Package charset decodes documents in the same way for the crawler and the mirror. It does no I/O.
package charset

import (
	"bytes"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"curtsy/storage/mediatype"
)

// Decider is what decided on a charset.
type Decider string

// The deciders, in order of precedence.
const (
	ByMark   Decider = "bom"    // the byte order mark
	ByHeader Decider = "header" // charset of the Content-Type field
	ByMeta   Decider = "meta"   // a meta element in the first 1,024 bytes
	ByGuess  Decider = "guess"  // UTF-8 if the first 1,024 bytes are, and not plain ASCII; else windows-1252
	ByXML    Decider = "xml"    // an XML declaration in UTF-16; for XHTML the declaration, or UTF-8 without one
)

// Charset is the charset of a document.
type Charset struct {
	Encoding encoding.Encoding // nil for UTF-8, which needs no decoding
	Name     string            // in the Encoding Standard, lower case
	By       Decider
	Mark     int // bytes of the byte order mark
}

var marks = []struct{ bytes, name string }{
	{"\xEF\xBB\xBF", "utf-8"},
	{"\xFE\xFF", "utf-16be"},
	{"\xFF\xFE", "utf-16le"},
}

// Of returns the charset of a label (Encoding Standard 4.2), if it has one.
func Of(label string) (c Charset, ok bool) {
	e, name := charset.Lookup(label)
	if e == nil {
		return c, false
	}
	return Charset{Encoding: unlessUTF8(e, name), Name: name}, true
}

// Marked returns the charset by a byte order mark.
func Marked(head []byte) (c Charset, ok bool) {
	for _, m := range marks {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			c, _ = Of(m.name)
			c.By, c.Mark = ByMark, len(m.bytes)
			return c, true
		}
	}
	return c, false
}

// Page determines the charset of an HTML page by its Content-Type and first bytes (HTML Standard 13.2.3.2).
func Page(contentType string, head []byte) Charset {
	if c, ok := sent(contentType, head); ok {
		return c
	}
	if c, ok := Of(mediatype.Wide(head)); ok {
		c.By = ByXML
		return c
	}
	e, name, _ := charset.DetermineEncoding(head, "")
	by := ByMeta
	// DetermineEncoding returns the two encodings that it guesses unwrapped.
	if e == charmap.Windows1252 || e == encoding.Nop {
		by = ByGuess
	}
	return Charset{Encoding: unlessUTF8(e, name), Name: name, By: by}
}

// XML determines the charset of an XML document (RFC 7303 3, XML 4.3.3): byte order mark, Content-Type, declaration, UTF-8.
func XML(contentType string, head []byte) Charset {
	c, ok := sent(contentType, head)
	if !ok {
		if c, ok = Of(mediatype.Declared(head)); !ok {
			c = Charset{Name: "utf-8"}
		}
		c.By = ByXML
	}
	return c
}

func sent(contentType string, head []byte) (c Charset, ok bool) {
	if c, ok = Marked(head); ok {
		return c, true
	}
	c, ok = Of(mediatype.Parse(contentType).Charset)
	c.By = ByHeader
	return c, ok
}

func unlessUTF8(e encoding.Encoding, name string) encoding.Encoding {
	if name == "utf-8" {
		return nil
	}
	return e
}
