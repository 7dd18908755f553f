package markup

import (
	"bytes"
	"regexp"
	"strings"

	"curtsy/storage/charset"

	"curtsy/storage/mediatype"
)

// coding is how the bytes of a document are text, and whether the document itself says so: of a page that is only
// looked at where it matters.
type coding struct {
	charset.Charset
	told bool
}

// queries is the charset that the document's queries are sent in, as Ref.Charset has it.
func (c coding) queries() string {
	if c.Encoding == nil {
		return ""
	}
	return c.Name
}

// htmlCoding decides on a page as package extract does.
func htmlCoding(in []byte, o Options) coding {
	c := coding{Charset: charset.Page(o.ContentType, in)}
	switch {
	case c.By == charset.ByMark:
		c.told = true
	case o.Declare && c.needsName(in): // else nobody asks whether it was told
		own := c.Charset
		if c.By == charset.ByHeader {
			own = charset.Page("", in)
		}
		c.told = c.Name == own.Name && metaNames(in, c.Name)
	}
	return c
}

// metaNames reports whether a page without its Content-Type would be read in that encoding by every browser, rather
// than by a guess.
func metaNames(in []byte, name string) bool {
	head := in[:min(len(in), 1024)]
	for _, m := range metaCharset.FindAllSubmatch(head, -1) {
		if c, ok := charset.Of(string(m[1])); ok && c.Name == name {
			return true
		}
	}
	return false
}

// metaCharset finds what may be a meta element's charset. Whether it is one, DetermineEncoding has decided.
var metaCharset = regexp.MustCompile(`(?i)charset\s*=\s*["']?\s*([-_.:a-z0-9]+)`)

// cssCoding decides on a style sheet (CSS Syntax 3.2): byte order mark, Content-Type, @charset, UTF-8. The
// charset of the document that links to it is not known here.
func cssCoding(in []byte, o Options) coding {
	if c, ok := charset.Marked(in); ok {
		return coding{c, true}
	}
	own, named := atCharset(in)
	if c, ok := charset.Of(mediatype.Parse(o.ContentType).Charset); ok {
		return coding{c, named && own.Name == c.Name}
	}
	if named {
		return coding{own, true}
	}
	return coding{Charset: plainUTF8}
}

var plainUTF8 = charset.Charset{Name: "utf-8"}

// atCharset reads the first bytes of a style sheet, which alone can name its charset, in these letters alone (3.2).
func atCharset(in []byte) (c charset.Charset, ok bool) {
	const begin = `@charset "`
	rest, found := bytes.CutPrefix(in[:min(len(in), 1024)], []byte(begin))
	if !found {
		return c, false
	}
	label, _, found := bytes.Cut(rest, []byte(`";`))
	if !found {
		return c, false
	}
	if c, ok = charset.Of(string(label)); ok && strings.HasPrefix(c.Name, "utf-16") {
		return plainUTF8, true // it could not have been read
	}
	return c, ok
}

// xmlCoding decides on a document in XML as package extract does.
func xmlCoding(in []byte, o Options) coding {
	c := coding{Charset: charset.XML(o.ContentType, in), told: true}
	own, named := charset.Of(mediatype.Declared(in))
	switch {
	case c.By == charset.ByHeader:
		c.told = named && own.Name == c.Name || !named && c.Encoding == nil
	case c.By == charset.ByXML && named:
		c.told = mediatype.Wide(in) == "" // not every browser believes the latter
	}
	return c
}
