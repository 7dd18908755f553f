package markup

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/text/encoding"

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

// EncodeQuery returns a reference of a document in that charset with its query as a browser sends it: what is no ASCII
// is encoded in the document's charset, not in UTF-8, and what the charset lacks becomes a character reference (URL
// Standard 5.1, percent-encode after encoding; HTML Standard 2.4.3, encoding-parse a URL). UTF-16 counts as UTF-8, and
// so does "". All else of a URL is UTF-8 whatever the document is in, and so are the references of style sheets.
func EncodeQuery(ref, charsetName string) string {
	from := strings.IndexByte(ref, '?')
	if charsetName == "" || charsetName == "utf-8" || from < 0 || isASCII(ref[from:]) {
		return ref
	}
	query, fragment := ref[from+1:], ""
	if i := strings.IndexByte(ref, '#'); i >= 0 {
		if i < from {
			return ref // the question mark is the fragment's
		}
		query, fragment = ref[from+1:i], ref[i:]
	}
	c, ok := charset.Of(charsetName)
	if !ok || c.Encoding == nil || strings.HasPrefix(c.Name, "utf-16") || c.Name == "replacement" {
		return ref
	}
	if r := japanese[c.Name]; r != nil {
		query = r.Replace(query)
	}
	return ref[:from+1] + encodedQuery(query, c.Encoding) + fragment
}

// japanese has what the encoders of the Encoding Standard (12.2.2, 12.3.2, 13.2) write for characters that x/text
// refuses: the minus sign is the full-width one, and yen sign and overline stand where ASCII has "\\" and "~".
var japanese = map[string]*strings.Replacer{
	"shift_jis":   strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"euc-jp":      strings.NewReplacer("\u2212", "\uFF0D", "\u00A5", "\\", "\u203E", "~"),
	"iso-2022-jp": strings.NewReplacer("\u2212", "\uFF0D"),
}

// encodedQuery encodes runs of what the charset has at once: some charsets shift between states.
func encodedQuery(query string, e encoding.Encoding) string {
	var b strings.Builder
	run := 0
	flush := func(to int) {
		octets, _ := e.NewEncoder().String(query[run:to]) // each of its characters was encoded once already
		appendQuery(&b, octets)
	}
	one := e.NewEncoder()
	for i, r := range query {
		if r < 0x80 {
			continue
		}
		one.Reset()
		// The package writes character references itself, with bytes that would end a parameter.
		if s, err := one.String(string(r)); err != nil || strings.HasPrefix(s, "&#") {
			flush(i)
			fmt.Fprintf(&b, "%%26%%23%d%%3B", r)
			run = i + len(string(r))
		}
	}
	flush(len(query))
	return b.String()
}

// appendQuery percent-encodes what is no ASCII or in the query percent-encode set (URL Standard 1.3, for special
// schemes).
func appendQuery(b *strings.Builder, octets string) {
	for i := range len(octets) {
		if c := octets[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"#<>'`, c) >= 0 {
			fmt.Fprintf(b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
