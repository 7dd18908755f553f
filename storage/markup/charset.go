package markup

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"curtsy/storage/mediatype"
)

// coding is how the octets of a document are text.
type coding struct {
	enc  encoding.Encoding // nil for UTF-8, whose octets are read as they are
	name string            // in the Encoding Standard, lower case
	mark int               // octets of the byte order mark
	told bool              // the document itself says so; of a page only set where that is asked
}

// queries is the charset that the document's queries are sent in, as Ref.Charset has it.
func (c coding) queries() string {
	if c.enc == nil {
		return ""
	}
	return c.name
}

var marks = []struct{ octets, name string }{
	{"\xEF\xBB\xBF", "utf-8"},
	{"\xFE\xFF", "utf-16be"},
	{"\xFF\xFE", "utf-16le"},
}

func codingOf(label string) (c coding, ok bool) {
	e, name := charset.Lookup(label)
	if e == nil {
		return coding{}, false
	}
	if name == "utf-8" {
		e = nil
	}
	return coding{enc: e, name: name}, true
}

// marked returns the coding that a byte order mark tells.
func marked(in []byte) (c coding, ok bool) {
	for _, m := range marks {
		if bytes.HasPrefix(in, []byte(m.octets)) {
			c, _ = codingOf(m.name)
			c.mark, c.told = len(m.octets), true
			return c, true
		}
	}
	return coding{}, false
}

// htmlCoding decides on a page as package extract does (HTML Standard 13.2.3.2): byte order mark, Content-Type field,
// meta element, guess.
func htmlCoding(in []byte, o Options) coding {
	if c, ok := marked(in); ok {
		return c
	}
	if c, ok := codingOf(mediatype.Parse(o.ContentType).Charset); ok {
		if o.Declare && c.needsName(in) { // else nobody asks whether it was told
			own := prescan(in)
			c.told = c.name == own.name && metaNames(in, c.name)
		}
		return c
	}
	own := prescan(in)
	own.told = o.Declare && own.needsName(in) && metaNames(in, own.name)
	return own
}

// maxHead is how many octets of a page are looked at for its charset: what package extract reads before it decides.
// Of these, DetermineEncoding looks at 1,024.
const maxHead = 16 << 10

// prescan decides on a page without a Content-Type.
func prescan(in []byte) coding {
	if c, ok := codingOf(mediatype.Wide(in)); ok {
		return c
	}
	e, name, _ := charset.DetermineEncoding(in[:min(len(in), maxHead)], "")
	if name == "utf-8" {
		e = nil
	}
	return coding{enc: e, name: name}
}

// metaNames reports whether a page without its Content-Type would be read in that encoding by every browser, rather
// than by a guess.
func metaNames(in []byte, name string) bool {
	head := in[:min(len(in), 1024)]
	for _, m := range metaCharset.FindAllSubmatch(head, -1) {
		if c, ok := codingOf(string(m[1])); ok && c.name == name {
			return true
		}
	}
	return false
}

// metaCharset finds what may be a meta element's charset. Whether it is one, DetermineEncoding has decided.
var metaCharset = regexp.MustCompile(`(?i)charset\s*=\s*["']?\s*([-_.:a-z0-9]+)`)

// cssCoding decides on a style sheet (CSS Syntax 3.2): byte order mark, Content-Type, @charset, what links to it, UTF-8.
func cssCoding(in []byte, o Options) coding {
	if c, ok := marked(in); ok {
		return c
	}
	own, named := atCharset(in)
	if c, ok := codingOf(mediatype.Parse(o.ContentType).Charset); ok {
		c.told = named && own.name == c.name
		return c
	}
	if named {
		return own
	}
	if c, ok := codingOf(o.Charset); ok {
		return c
	}
	return coding{name: "utf-8"}
}

// atCharset reads the first octets of a style sheet, which alone can name its charset, in these letters alone (3.2).
func atCharset(in []byte) (c coding, ok bool) {
	const begin = `@charset "`
	rest, found := bytes.CutPrefix(in[:min(len(in), 1024)], []byte(begin))
	if !found {
		return coding{}, false
	}
	label, _, found := bytes.Cut(rest, []byte(`";`))
	if !found {
		return coding{}, false
	}
	c, ok = codingOf(string(label))
	if strings.HasPrefix(c.name, "utf-16") {
		c, ok = codingOf("utf-8") // it could not have been read
	}
	c.told = true
	return c, ok
}

// xmlCoding decides on a document in XML (RFC 7303 3; XML 4.3.3): byte order mark, Content-Type, declaration, UTF-8.
func xmlCoding(in []byte, o Options) coding {
	if c, ok := marked(in); ok {
		return c
	}
	own, named := xmlDeclared(in)
	if c, ok := codingOf(mediatype.Parse(o.ContentType).Charset); ok {
		c.told = named && own.name == c.name || !named && c.enc == nil
		return c
	}
	if named {
		return own
	}
	return coding{name: "utf-8", told: true}
}

func xmlDeclared(in []byte) (c coding, ok bool) {
	c, ok = codingOf(mediatype.Declared(in))
	c.told = ok && mediatype.Wide(in) == "" // not every browser believes the latter
	return c, ok
}
