package extract

import (
	"bytes"
	"io"
	"regexp"
	"unicode/utf8"

	"curtsy/storage/charset"

	"github.com/PuerkitoBio/goquery"
)

// readXHTML is read for a page in XML. One that is not well-formed is read twice: as XML as far as that goes, and as
// HTML. The links of both are taken. A browser would show what stands before the error; that alone would cost us the
// rest of every page whose server calls it XML and whose author never saw it shown as that.
func readXHTML(in Input, head []byte, src *source) Page {
	raw, err := octets(io.MultiReader(bytes.NewReader(head), src), in.Size)
	if err != nil {
		return Page{} // src has it
	}
	c := charset.XML(in.ContentType, head)
	odd := c.Encoding == nil && !utf8.Valid(raw)
	if odd && c.By == charset.ByXML {
		c = charset.Page("", head) // nothing says that it is UTF-8, and it is not
	}
	body, err := raw[c.Mark:], error(nil)
	if c.Encoding != nil {
		body, err = c.Encoding.NewDecoder().Bytes(body)
	}
	page := Page{Base: in.URL, Charset: c.Name, CharsetBy: c.By, Robots: HeaderDirectives(in.Header, in.Token)}
	if err != nil {
		page.Unparsed = UnparsedBroken
		return page
	}
	xml := body[len(xmlDeclaration.Find(body)):]
	x := newXMLTree(xml, true)
	malformed := x.malformed || odd
	switch {
	case x.over:
		page.Unparsed = UnparsedTags
	case src.over:
		page.Unparsed = UnparsedLong
	case malformed:
		page.Unparsed = UnparsedXML
	}
	page.Base = base(x.doc(), in.URL)
	w := walker{in: in, page: &page, left: newBudget()}
	if malformed {
		w.bothWays(body, xml)
	} else {
		w.collect(page.Base)
		w.xml(x)
		w.text(x.doc())
	}
	w.links.into(&page)
	return page
}

func (w *walker) xml(x *xmlTree) {
	w.links.charset = w.page.Charset
	w.refreshField()
	for _, href := range x.sheets {
		w.links.add(href, Link{Element: "xml-stylesheet", Attr: "href", Embed: true})
	}
	w.document(x.doc())
}

// bothWays walks a page that is not well-formed as HTML and then as XML, so that one tree exists at a time. Its text is
// that of HTML, which leaves nothing out; so are its mentions, and behind them comes what only the XML has.
func (w *walker) bothWays(body, xml []byte) {
	doc, over, err := parsed(bytes.NewReader(body), &w.left)
	if over != "" {
		w.page.Unparsed = over
	}
	if err == nil && w.page.Base == w.in.URL {
		w.page.Base = base(doc, w.in.URL)
	}
	w.collect(w.page.Base)
	if err != nil {
		x := newXMLTree(xml, false)
		w.xml(x)
		w.page.Robots.scan(bytes.NewReader(body), w.in.Token)
		w.text(x.doc())
		return
	}
	w.links.charset = w.page.Charset
	w.document(doc)
	w.text(doc)
	tell := w.links.tell
	if w.links.tell = nil; tell != nil {
		tell.about = nil
	}
	w.titled = w.page.Title != ""
	x := newXMLTree(xml, false)
	if x.over {
		w.page.Unparsed = UnparsedTags
	}
	w.xml(x)
	if w.links.tell = tell; tell != nil {
		tell.rest(&w.links)
	}
}

func (w *walker) text(doc *goquery.Document) {
	if w.in.Text != nil {
		text(doc, w.in.Text)
	}
}

var xmlDeclaration = regexp.MustCompile(`^<\?xml\s[^<>]{0,200}\?>`)
