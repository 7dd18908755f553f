package charset

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// HTML Standard 13.2.3.2 and RFC 7303 3: the precedence of deciders.
func TestDeciders(t *testing.T) {
	const latin, utf16, xml = "text/html; charset=latin1", "<\x00?\x00x\x00m\x00l\x00", `<?xml version="1.0" encoding="koi8-r"?><html/>`
	for _, c := range []struct {
		by                func(contentType, head string) Charset
		contentType, head string
		name              string
		want              Decider
		mark              int
	}{
		{page, latin, "\xEF\xBB\xBF<p>", "utf-8", ByMark, 3},
		{page, latin, "\xFE\xFF", "utf-16be", ByMark, 2},
		{page, latin, "<meta charset=koi8-r>", "windows-1252", ByHeader, 0},
		{page, "text/html; charset=nonsense", "<meta charset=koi8-r>", "koi8-r", ByMeta, 0},
		{page, "text/html", utf16, "utf-16le", ByXML, 0},
		{page, "text/html", "<p>é<p>", "utf-8", ByGuess, 0},
		{page, "text/html", xml, "windows-1252", ByGuess, 0}, // in HTML a declaration has no effect
		{document, "application/xhtml+xml; charset=latin1", xml, "windows-1252", ByHeader, 0},
		{document, "application/xhtml+xml", xml, "koi8-r", ByXML, 0},
		{document, "", "<html/>", "utf-8", ByXML, 0},
		{document, latin, "\xFF\xFE", "utf-16le", ByMark, 2},
	} {
		got := c.by(c.contentType, c.head)
		if got.Name != c.name || got.By != c.want || got.Mark != c.mark || (got.Encoding == nil) != (c.name == "utf-8") {
			t.Errorf("%q, %q: %+v; want %s by %s", c.contentType, c.head, got, c.name, c.want)
		}
	}
}

func page(contentType, head string) Charset     { return Page(contentType, []byte(head)) }
func document(contentType, head string) Charset { return XML(contentType, []byte(head)) }

// Encoding Standard 4.2: labels ignore case, and an encoding has several.
func TestOf(t *testing.T) {
	for label, want := range map[string]string{"UTF8": "utf-8", " latin1 ": "windows-1252", "unicode-1-1-utf-8": "utf-8", "nonsense": "", "": ""} {
		c, ok := Of(label)
		assert.Truef(t, c.Name == want && ok == (want != "") && (c.Encoding == nil) == (want == "utf-8" || !ok), "%q: %+v, %v", label, c, ok)
	}
}
