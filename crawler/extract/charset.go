package extract

import (
	"bytes"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"curtsy/storage/mediatype"
)

// Decider is what decided on a page's encoding.
type Decider string

// The deciders, in order of precedence.
const (
	ByMark   Decider = "bom"    // the byte order mark
	ByHeader Decider = "header" // charset of the Content-Type field
	ByMeta   Decider = "meta"   // a meta element in the first 1,024 octets
	ByGuess  Decider = "guess"  // UTF-8 if the first 1,024 octets are, and not plain ASCII; else windows-1252
	ByXML    Decider = "xml"    // an XML declaration in UTF-16; of a page in XML, one that names it or, by naming none, UTF-8
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
	if label := mediatype.Parse(contentType).Charset; label != "" {
		if e, name := charset.Lookup(label); e != nil {
			return unlessUTF8(e, name), choice{name, ByHeader, 0}
		}
	}
	if e, name := charset.Lookup(mediatype.Wide(head)); e != nil {
		return e, choice{name, ByXML, 0}
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
