package markup

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestXHTML_Places(t *testing.T) {
	o := options(t)
	o.ContentType = "application/xhtml+xml"
	tryPlaces(t, XHTML, o, []placeTest{
		{"empty elements end", `<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a"/><style/><link rel="stylesheet" href="b"/></head><body><iframe src="c"/><textarea/><img src="d"/><a href="e">x</a></body></html>`,
			"script script src a; style link href b; frame iframe src c; embed img src d; link a href e",
			`<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="r1.x"/><style/><link rel="stylesheet" href="r2.x"/></head><body><iframe src="r3.x"/><textarea/><img src="r4.x"/><a href="r5.x">x</a></body></html>`},
		{"styles and scripts", `<html><head><style>@import &quot;a&quot;;</style><style><![CDATA[b{c:url(d)}]]></style><script><![CDATA[ "<img src='x'/>" ]]></script></head><p style="e:url(f)"/></html>`,
			"style style import a; embed style url d; embed p style f",
			`<html><head><style>@import &#34;r1.x&#34;;</style><style><![CDATA[b{c:url(r2.x)}]]></style><script><![CDATA[ "<img src='x'/>" ]]></script></head><p style="e:url(r3.x)"/></html>`},
		{"drawings", `<html><svg><image xlink:href="a"/><a href="b"/><script href="c"/><foreignObject><img src="d"/><script src="e"/></foreignObject><use href="f#g"/></svg><image src="h"/><script src="i"/></html>`,
			"embed image xlink:href a; link a href b; script script href c; embed img src d; script script src e; embed use href f#g; script script src i",
			`<html><svg><image xlink:href="r1.x"/><a href="r2.x"/><script href="r3.x"/><foreignObject><img src="r4.x"/><script src="r5.x"/></foreignObject><use href="r6.x"/></svg><image src="h"/><script src="r7.x"/></html>`},
		{"prefixes and instructions", `<?xml version="1.0"?><?xml-stylesheet href="a"?><h:html><h:img src="b"/><s:svg><s:image x:href="c"/></s:svg><h:script src="d"/></h:html>`,
			"style xml-stylesheet href a; embed img src b; embed image xlink:href c; script script src d",
			`<?xml version="1.0"?><?xml-stylesheet href="r1.x"?><h:html><h:img src="r2.x"/><s:svg><s:image x:href="r3.x"/></s:svg><h:script src="r4.x"/></h:html>`},
	})
}

func TestXHTML_Base(t *testing.T) {
	o := options(t)
	o.RemoveBase = true
	var base string
	out, err := XHTML([]byte(`<html><head><script src="x"/><base href="/other/"/></head><a href="y"/></html>`), o, func(r Ref) (string, bool) {
		base = r.Base.String()
		return "", false
	})
	if err != nil || base != "http://h.test/other/" || string(out) != `<html><head><script src="x"/><base /></head><a href="y"/></html>` {
		t.Errorf("%s from %s, %v", out, base, err)
	}
}

func TestXHTML_Charset(t *testing.T) {
	for _, c := range []struct{ rule, contentType, in, want string }{
		{"by the field", "application/xhtml+xml; charset=iso-8859-1", "<html><p>\xE9</p></html>", "<?xml version=\"1.0\" encoding=\"windows-1252\"?><html><p>\xE9</p></html>"},
		{"by the document", "application/xhtml+xml", "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><html><p>\xE9</p></html>", "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><html><p>\xE9</p></html>"},
		{"UTF-8", "application/xhtml+xml", "<html><p>\xC3\xA9</p></html>", "<html><p>\xC3\xA9</p></html>"},
	} {
		o := options(t)
		o.ContentType, o.Declare = c.contentType, true
		out, err := XHTML([]byte(c.in), o, func(Ref) (string, bool) { return "", false })
		require.NoError(t, err)
		assert.Equalf(t, c.want, string(out), "%s: %q", c.rule, out)
		d := xml.NewDecoder(strings.NewReader(string(out)))
		d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return strings.NewReader("<html/>"), nil }
		for err == nil {
			_, err = d.Token()
		}
		assert.ErrorIsf(t, err, io.EOF, "%s: not well-formed", c.rule)
	}
}

func TestMost_IsNotExceeded(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, rewrite := range map[string]rewriter{"HTML": HTML, "XHTML": XHTML, "SVG": SVG, "CSS": CSS} {
		in := strings.Repeat(`<a href="a"/>`, 20_000)
		if name == "CSS" {
			in = strings.Repeat("a{b:url(c)}", 20_000)
		}
		o := options(t)
		o.Most = 1 << 20
		visits := 0
		out, err := rewrite([]byte(in), o, func(Ref) (string, bool) { visits++; return long, true })
		assert.Truef(t, errors.Is(err, ErrTooLarge) && out == nil && visits <= 300, "%s: %d octets after %d references, %v", name, len(out), visits, err)
		o.Most = 200 << 20
		_, err = rewrite([]byte(in), o, func(Ref) (string, bool) { return "y", true })
		assert.NoErrorf(t, err, "%s: %v", name, err)
	}
}

// HTML Standard 2.4.3, as for any page.
func TestXHTML_QueriesAreInItsCharset(t *testing.T) {
	in := "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><?xml-stylesheet href=\"a?\xE9\"?><html><a href=\"b?\xE9\"/></html>"
	var got []string
	if err := Find(XHTML, []byte(in), options(t), func(r Ref) {
		if u, err := r.URL(); err == nil {
			got = append(got, u.String())
		}
	}); err != nil || strings.Join(got, " ") != "http://h.test/dir/a?%E9 http://h.test/dir/b?%E9" {
		t.Errorf("%q, %v", got, err)
	}
}
