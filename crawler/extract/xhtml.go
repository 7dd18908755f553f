package extract

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
)

// readXHTML is read for a page in XML. A page that is not well-formed is read as XML, as far as a browser shows it, and
// as HTML: servers send many pages as XML whose authors never saw them as that.
func readXHTML(in Input, head []byte, src *coding.Limited) Page {
	raw, err := octets(io.MultiReader(bytes.NewReader(head), src), in.Size)
	if err != nil {
		return Page{} // src has it
	}
	c := charset.XML(in.ContentType, head)
	odd := c.Encoding == nil && !utf8.Valid(raw)
	if odd && c.By == charset.ByXML {
		c = charset.Page("", head) // UTF-8 is only the default, and wrong
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
	case src.Over:
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

// bothWays walks a page as HTML and then as XML, so that one tree exists at a time. Text is that of HTML, which is
// complete. Mentions are those of HTML, followed by those that only the XML has.
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
	sink := w.links.sink
	if w.links.sink = nil; sink != nil {
		sink.about = nil
	}
	w.titled = w.page.Title != ""
	x := newXMLTree(xml, false)
	if x.over {
		w.page.Unparsed = UnparsedTags
	}
	w.xml(x)
	if w.links.sink = sink; sink == nil {
		return
	}
	for at, l := range w.links.links {
		if at >= len(sink.listed) || !sink.listed[at] {
			sink.to(Mention{Link: l, Raw: l.URL.String(), Fate: Listed})
		}
	}
}

var xmlDeclaration = regexp.MustCompile(`^<\?xml\s[^<>]{0,200}\?>`)

const (
	xhtmlSpace = "http://www.w3.org/1999/xhtml"
	svgSpace   = "http://www.w3.org/2000/svg"
	mathSpace  = "http://www.w3.org/1998/Math/MathML"
	xlinkSpace = "http://www.w3.org/1999/xlink"
)

// maxDeep bounds the depth of the tree. Deeper elements become siblings.
const maxDeep = 512

// xmlTree is a page in XML as the tree of the same page in HTML. Elements without a namespace and names in capital letters
// count as HTML: a browser ignores them, but the mirror does not, and obeying their meta elements is harmless.
type xmlTree struct {
	root   html.Node
	open   []xmlOpen
	text   strings.Builder // after the last tag
	tags   int
	sheets []string // of xml-stylesheet instructions anywhere

	over      bool // more than MaxTags tags
	malformed bool // an error ended the reading, or would have in a browser
}

type xmlOpen struct {
	node  *html.Node
	space string // its namespace
}

// newXMLTree reads a page in UTF-8 without an XML declaration. The lenient decoder skips unknown entities and end tags that
// do not match, and finds at least the links of the strict one.
func newXMLTree(body []byte, strict bool) *xmlTree {
	x := &xmlTree{root: html.Node{Type: html.DocumentNode}}
	limit := markup.New(bytes.NewReader(body), markup.Max)
	x.read(limit, strict)
	x.malformed = x.malformed || limit.Over()
	return x
}

func (x *xmlTree) doc() *goquery.Document { return goquery.NewDocumentFromNode(&x.root) }

func (x *xmlTree) read(body io.Reader, strict bool) {
	d := xml.NewDecoder(body)
	d.Strict, d.Entity = strict, xml.HTMLEntity // of all XHTML document types; others are an error
	if !strict {
		d.AutoClose = xml.HTMLAutoClose
	}
	for !x.over {
		t, err := d.Token()
		if err != nil {
			x.malformed = x.malformed || !errors.Is(err, io.EOF) || x.tags == 0
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			x.flush()
			x.start(t)
		case xml.EndElement:
			x.flush()
			x.open = x.open[:len(x.open)-1] // the decoder guarantees that there is one
		case xml.CharData:
			x.text.Write(t)
		case xml.ProcInst:
			x.instruction(t)
		}
	}
	x.flush()
}

// flush makes one node of the text since the last tag, across comments and CDATA sections.
func (x *xmlTree) flush() {
	if x.text.Len() > 0 && len(x.open) > 0 {
		x.open[len(x.open)-1].node.AppendChild(&html.Node{Type: html.TextNode, Data: x.text.String()})
	}
	x.text.Reset()
}

func (x *xmlTree) start(t xml.StartElement) {
	if x.tags++; x.tags > MaxTags {
		x.over = true
		return
	}
	n := &html.Node{Type: html.ElementNode, Data: t.Name.Local, Namespace: x.namespace(t.Name)}
	lower := strings.ToLower(n.Data)
	n.DataAtom = atom.Lookup([]byte(lower))
	if n.Namespace == "" {
		n.Data = lower
	}
	n.Attr = x.attributes(t.Attr)
	parent := &x.root
	if len(x.open) > 0 {
		parent = x.open[min(len(x.open), maxDeep)-1].node
	}
	parent.AppendChild(n)
	x.open = append(x.open, xmlOpen{n, t.Name.Space})
}

// namespace returns the HTML parser's name for the namespace of an element. Drawings without a namespace begin where they
// do in HTML.
func (x *xmlTree) namespace(name xml.Name) string {
	switch name.Space {
	case svgSpace:
		return "svg"
	case mathSpace:
		return "math"
	case xhtmlSpace, "":
	default:
		return name.Space
	}
	switch name.Local {
	case "svg", "math":
		return name.Local
	}
	if len(x.open) == 0 {
		return ""
	}
	around := x.open[len(x.open)-1]
	switch {
	case around.space != name.Space, around.node.Data == "foreignObject", around.node.Data == "annotation-xml":
		return ""
	case around.node.Namespace == "svg" && markup.IsPageElement(strings.ToLower(name.Local)):
		return ""
	}
	return around.node.Namespace
}

// attributes returns attributes as the HTML parser does. Duplicates are an error.
func (x *xmlTree) attributes(attrs []xml.Attr) []html.Attribute {
	out := make([]html.Attribute, 0, len(attrs))
	met := make(map[html.Attribute]bool, len(attrs))
	for _, a := range attrs {
		if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
			continue
		}
		b := html.Attribute{Namespace: a.Name.Space, Key: strings.ToLower(a.Name.Local)}
		if a.Name.Space == xlinkSpace {
			b.Namespace = "xlink"
		}
		if met[b] {
			x.malformed = true
			continue
		}
		met[b] = true
		b.Val = a.Value
		out = append(out, b)
	}
	return out
}

// instruction reads an xml-stylesheet instruction (Associating Style Sheets with XML documents 1.0).
func (x *xmlTree) instruction(t xml.ProcInst) {
	if t.Target != "xml-stylesheet" {
		return
	}
	if x.tags++; x.tags > MaxTags {
		x.over = true
		return
	}
	z := html.NewTokenizer(strings.NewReader("<p " + string(bytes.ReplaceAll(t.Inst, []byte("<"), nil)) + ">"))
	z.Next()
	if href := attr(&html.Node{Attr: z.Token().Attr}, "href"); href != "" {
		x.sheets = append(x.sheets, href)
	}
}
