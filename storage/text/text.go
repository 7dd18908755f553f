package text

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/text/transform"

	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
)

// Bounds of a page and its text.
const (
	MaxRead = 10 << 20 // bytes of a body, as for its links
	MaxText = 2 << 20  // bytes of a text

	headSize = 16 << 10 // bytes of a page that determine its encoding
)

// Input is an archived document.
type Input struct {
	ContentType     string    // as of mediatype.Value; may be empty
	ContentLanguage string    // the field's value; may be empty
	Body            io.Reader // without content codings; nil is an empty body
	WholeOnly       bool      // omit the main text, which is expensive
}

// Page is the text of a document: valid UTF-8 without control characters except line ends and, where white space is
// preserved, tabs.
type Page struct {
	Whole string // title and text; a block is a line
	Main  string // without frame, menus and notices; or ""

	Cut    string // a Cut constant if Whole is incomplete, else ""
	NoMain string // a No constant except NoMost if Main is empty, else ""

	// Share is the part of Whole in Main, from 0 to 1; 0 without a main text. It counts the bytes outside of links in
	// lines of more than 60 bytes, which menus do not have, or in all lines if those have less than 300 bytes. It ignores
	// noscript, SVG and MathML, which no main text has.
	Share float64

	Charset  string // name in the Encoding Standard
	Declared declared
	Language Result // of Whole
}

// The values of Page.Cut.
const (
	CutLong  = "over 10 MiB"            // of the body
	CutText  = "over 2 MiB of text"     // the rest is dropped
	CutAttrs = "over 131072 attributes" // the rest of the page was not read
)

// MainMissing returns NoMain, or NoMost if the main text has less than three quarters of the whole text.
func (p *Page) MainMissing() string {
	if p.Main != "" && p.Share < mostShare {
		return NoMost
	}
	return p.NoMain
}

// The values of Page.NoMain and Page.MainMissing.
const (
	NoPage     = "not a page"          // text/plain has only a whole text; other types have none
	NoText     = "no text"             // the page has none
	NoArticle  = "no main text found"  // by the extractor
	NoTree     = "512 open elements"   // the limit of golang.org/x/net/html
	NoElements = "over 20000 elements" // the limit of the tree
	NoRoom     = "over 1 MiB of text"  // in the tree
	NoExtract  = "the extractor failed"
	NoMost     = "less than three quarters of the text" // Page.Share is below 0.75
	NoWish     = "not asked for"                        // Input.WholeOnly
)

// Read reads HTML or plain text; any other document has no text. An error is one of reading the body or of ctx, never of
// its content.
func Read(ctx context.Context, in Input) (Page, error) {
	body := &coding.Limited{Ctx: ctx, R: in.Body, Left: MaxRead}
	if in.Body == nil {
		body.R = strings.NewReader("")
	}
	head := bufio.NewReaderSize(body, headSize)
	first, _ := head.Peek(headSize)
	media := mediatype.Parse(in.ContentType)
	plain := media.Name == "text/plain"
	if !plain && !media.IsPage(first) {
		return Page{NoMain: NoPage}, failed(body.Err)
	}
	c := charset.Page(in.ContentType, first)
	if media.IsXHTML() {
		c = charset.XML(in.ContentType, first)
	}
	page := Page{Charset: c.Name}
	_, _ = head.Discard(c.Mark)
	r := io.Reader(head)
	if c.Encoding != nil {
		r = transform.NewReader(head, c.Encoding.NewDecoder())
	}
	if plain {
		page.plain(r)
	} else {
		page.html(r, media.IsXHTML(), in.WholeOnly)
	}
	if page.Cut == "" && body.Over {
		page.Cut = CutLong
	}
	page.Declared.Header = languageTag(in.ContentLanguage)
	page.Language = Detect(page.Whole)
	return page, failed(body.Err)
}

func (p *Page) plain(r io.Reader) {
	l := lines{most: MaxText, pre: 1}
	b := bufio.NewReaderSize(r, 64<<10)
	for !l.over {
		line, err := b.ReadSlice('\n')
		l.text(line)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	p.Whole, p.NoMain = l.String(), NoPage
	if l.over {
		p.Cut = CutText
	}
}

func (p *Page) html(r io.Reader, xml, wholeOnly bool) {
	s := scan(r, xml, !wholeOnly)
	p.Whole, p.Cut, p.Declared = s.whole.String(), s.cut(), s.declared
	switch {
	case wholeOnly:
		p.NoMain = NoWish
	case p.Whole == "":
		p.NoMain = NoText
	case s.full != "":
		p.NoMain = s.full
	default:
		var main lines
		if main, p.NoMain = article(s.lean.Bytes(), &s.whole); p.NoMain == "" {
			p.Main, p.Share = main.String(), share(&main, &s.whole)
		}
	}
}

func failed(err error) error {
	if err != nil {
		err = fmt.Errorf("text: read a body: %w", err)
	}
	return err
}

// lines is a growing text: white space is one space, each block a line, and no line empty.
type lines struct {
	b     []byte
	most  int    // bytes
	over  bool   // there was more
	space bool   // before the next word of this line
	fresh bool   // the next word begins a line
	pre   int    // open elements that preserve white space
	kept  []byte // white space before the next word of this line

	link bool // the next words belong to a link, and are not counted
	line int  // counted bytes of this line, with a space after each word
	long int  // the same for earlier lines of more than longLine
	all  int  // for all earlier lines

	leave func(n *html.Node, long int) // called at the end of an element with its own bytes in long lines; or nil
}

// longLine is the longest menu line, in bytes.
const longLine = 60

// own returns the number of bytes outside of links: in long lines, and in all.
func (l *lines) own() (long, all int) {
	if long, all = l.long, l.all+l.line; l.line > longLine {
		long += l.line
	}
	return long, all
}

// maxKept bounds preserved white space in a row.
const maxKept = 1 << 10

// end ends a non-empty line.
func (l *lines) end() { l.fresh, l.kept = true, l.kept[:0] }

func (l *lines) gap() { l.space = true }

func (l *lines) text(s []byte) {
	for len(s) > 0 && !l.over {
		r, n := utf8.DecodeRune(s)
		switch {
		case r == '\n' && l.pre > 0:
			l.end()
		case l.pre > 0 && (r == ' ' || r == '\t'):
			if len(l.kept) < maxKept {
				l.kept = append(l.kept, s[:n]...)
			}
		case unicode.IsSpace(r):
			l.space = true
		case unicode.IsControl(r):
		default:
			n = word(s)
			l.part()
			l.put(s[:n])
			if !l.link {
				l.line += n + 1
			}
		}
		s = s[n:]
	}
}

// word returns the length of the first word of s.
func word(s []byte) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if r < utf8.RuneSelf && (r <= ' ' || r == 0x7f) || r >= utf8.RuneSelf && (unicode.IsSpace(r) || unicode.IsControl(r)) {
			return i
		}
		i += n
	}
	return len(s)
}

func (l *lines) part() {
	if l.fresh {
		l.long, l.all = l.own()
		l.line = 0
	}
	if len(l.b) > 0 {
		switch {
		case l.fresh:
			l.put([]byte("\n"))
		case l.space && len(l.kept) == 0:
			l.put([]byte(" "))
		}
	}
	l.put(l.kept)
	l.fresh, l.space, l.kept = false, false, l.kept[:0]
}

// put adds s as valid UTF-8, up to the limit.
func (l *lines) put(s []byte) {
	if !utf8.Valid(s) {
		s = bytes.ToValidUTF8(s, []byte("\uFFFD"))
	}
	if room := l.most - len(l.b); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, l.over = s[:max(room, 0)], true
	}
	l.b = append(l.b, s...)
}

// String returns the text up to its last word.
func (l *lines) String() string { return string(bytes.TrimRight(l.b, " \t\n")) }

// Bounds of the tree for the extractor.
const (
	maxElements = 20_000
	maxLean     = 1 << 20 // bytes of text and tags
	maxName     = 64      // of an element; longer ones are omitted
	maxValue    = 256     // of an attribute
)

// scanner reads a page once, without a tree. It also writes the lean page for the main text's tree.
type scanner struct {
	z     *html.Tokenizer
	limit *markup.Limit
	xml   bool

	whole    lines
	declared declared

	lean     bytes.Buffer
	tag      []byte // memory for the last tag of lean
	elements int
	full     string // why lean is incomplete, or ""

	hush    string // the open silent element, or ""
	inert   int    // open templates
	foreign int    // open svg and math
	noLean  int    // open elements whose content is not in lean
	link    bool   // a link is open
}

// scan reads a page, in XML if xml is set. Without tree it writes no lean page.
func scan(r io.Reader, xml, tree bool) *scanner {
	s := &scanner{limit: markup.New(r, markup.Max), xml: xml, whole: lines{most: MaxText}}
	if !tree {
		s.full = NoWish
	}
	s.z = html.NewTokenizer(s.limit)
	s.z.AllowCDATA(xml)
	for !s.whole.over {
		switch s.z.Next() {
		case html.ErrorToken:
			return s
		case html.TextToken:
			s.text()
		case html.StartTagToken:
			s.start(false)
		case html.SelfClosingTagToken:
			s.start(true)
		case html.EndTagToken:
			s.end()
		}
	}
	return s
}

func (s *scanner) cut() string {
	switch {
	case s.whole.over:
		return CutText
	case s.limit.Over():
		return CutAttrs
	}
	return ""
}

func (s *scanner) text() {
	if s.hush != "" || s.inert > 0 {
		return
	}
	if s.noLean == 0 {
		s.put(s.z.Raw())
	}
	s.whole.link = s.link || s.noLean > 0
	s.whole.text(s.z.Text())
}

func (s *scanner) put(b []byte) {
	switch {
	case s.full != "":
	case s.lean.Len()+len(b) > maxLean:
		s.full = NoRoom
	default:
		s.lean.Write(b)
	}
}

// start reads a start tag; closed reports a self-closing one.
func (s *scanner) start(closed bool) {
	raw, more := s.z.TagName()
	name := string(raw)
	c := classOf(name)
	if s.foreign > 0 && name != "title" && (c == block || c == keeping || c == format) {
		s.noLean, s.foreign = s.noLean-s.foreign, 0 // they end SVG and MathML (HTML Standard 13.2.6.5)
	}
	closed = closed && (s.xml || s.foreign > 0)
	if closed || s.foreign > 0 || name == "noscript" {
		s.z.NextIsNotRawText()
	}
	switch {
	case name == "template":
		if !closed && (s.inert > 0 || !s.shadow(more)) {
			s.inert++
		}
	case s.inert > 0:
	case name == "svg" || name == "math":
		if !closed {
			s.foreign++
			s.noLean++
		}
	case name == "noscript":
		if !closed {
			s.noLean++
		}
	case c == silent:
		if !closed {
			s.hush = name
		}
	case name == "html" || name == "meta":
		s.declare(name, more)
	case c != format:
		s.part(c)
		if c == keeping && !closed {
			s.whole.pre++
		}
		if s.noLean == 0 && len(name) <= maxName {
			s.leanTag(name, more, closed)
		}
	}
}

// shadow reports whether a template is a declarative shadow root, which is displayed.
func (s *scanner) shadow(more bool) bool {
	for more {
		var key []byte
		key, _, more = s.z.TagAttr()
		if string(key) == "shadowrootmode" {
			return true
		}
	}
	return false
}

func (s *scanner) part(c class) {
	switch c {
	case block, keeping:
		s.whole.end()
	case cell:
		s.whole.gap()
	}
}

func (s *scanner) end() {
	raw, _ := s.z.TagName()
	name := string(raw)
	c := classOf(name)
	switch {
	case s.hush != "":
		if name == s.hush {
			s.hush = ""
		}
	case name == "template":
		s.inert = max(s.inert-1, 0)
	case s.inert > 0:
	case name == "svg" || name == "math":
		if s.foreign > 0 {
			s.foreign--
			s.noLean--
		}
	case name == "noscript":
		s.noLean = max(s.noLean-1, s.foreign)
	case c != format && c != silent:
		s.part(c)
		s.link = s.link && name != "a"
		if c == keeping {
			s.whole.pre = max(s.whole.pre-1, 0)
		}
		if s.noLean == 0 && len(name) <= maxName {
			s.put([]byte("</" + name + ">"))
		}
	}
}

func (s *scanner) declare(name string, more bool) {
	var isLanguage bool
	var content string
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		switch k := string(key); {
		case len(value) > maxValue:
		case name == "html" && (k == "lang" || k == "xml:lang") && s.declared.HTML == "":
			s.declared.HTML = languageTag(string(value))
		case name == "meta" && k == "http-equiv":
			isLanguage = strings.EqualFold(string(value), "content-language")
		case name == "meta" && k == "content":
			content = string(value)
		}
	}
	if isLanguage && s.declared.Meta == "" {
		s.declared.Meta = languageTag(content)
	}
}

// telling are the attributes that an extractor uses.
var telling = []string{"aria-hidden", "aria-modal", "class", "dir", "hidden", "id", "itemprop", "rel", "role", "style", "type"}

func (s *scanner) leanTag(name string, more, closed bool) {
	if s.full != "" {
		return
	}
	if s.elements++; s.elements > maxElements {
		s.full = NoElements
		return
	}
	s.link = s.link && name != "a"
	tag := append(s.tag[:0], '<')
	tag = append(tag, name...)
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		k := string(key)
		s.link = s.link || name == "a" && k == "href" && !closed
		switch {
		case k == "href" && bytes.HasPrefix(value, []byte("#")): // the extractor ranks these lower
			value = value[:1]
		case k == "href":
			value = []byte("/")
		case len(value) > maxValue || !slices.Contains(telling, k):
			continue
		}
		tag = append(append(append(tag, ' '), key...), `="`...)
		tag = append(append(tag, html.EscapeString(string(value))...), '"')
	}
	tag = append(tag, '>')
	if closed {
		tag = append(append(append(tag, "</"...), name...), '>')
	}
	s.put(tag)
	s.tag = tag
}

// class is the treatment of an element in a text, by its name in lower case.
type class uint8

const (
	inline  class = iota
	block         // a line
	cell          // with a space around
	keeping       // a block that preserves white space
	silent        // without text
	format        // inline, and not needed in a tree
)

func classOf(name string) class {
	switch name {
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir",
		"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
		"h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup",
		"option", "p", "search", "section", "select", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul":
		return block
	case "td", "th", "img", "input", "button", "textarea":
		return cell
	case "pre", "listing", "xmp", "plaintext":
		return keeping
	case "script", "style", "iframe", "noembed", "noframes":
		return silent
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return format
	}
	return inline
}

// article returns the main text of a lean page, or the reason why it is missing. A panic of the extractor costs only the
// main text.
func article(lean []byte, whole *lines) (main lines, why string) {
	defer func() {
		if recover() != nil {
			main, why = lines{}, NoExtract
		}
	}()
	doc, err := html.Parse(bytes.NewReader(lean))
	if err != nil {
		if strings.Contains(err.Error(), "exceeds 512") {
			return main, NoTree
		}
		return main, NoExtract
	}
	p := readability.NewParser()
	p.DisableJSONLD = true
	a, err := p.ParseAndMutate(doc, &url.URL{Scheme: "http", Host: "a.invalid", Path: "/"})
	switch {
	case err != nil:
		return main, NoExtract
	case a.Node == nil:
		return main, NoArticle
	}
	main.most = MaxText
	if write(&main, a.Node); len(main.b) == 0 {
		return main, NoArticle
	}
	if share(&main, whole) < mostShare {
		if body := document(lean, whole); body != nil {
			main = lines{most: MaxText}
			write(&main, body)
		}
	}
	return main, ""
}

// document returns the smallest element with nine tenths of the long lines of a page, like the one around all sections of
// a chapter, of which the extractor picks one. It returns nil for the whole body, or if it contains forms, menus or other
// secondary parts.
func document(lean []byte, whole *lines) (most *html.Node) {
	root, err := html.Parse(bytes.NewReader(lean))
	long, _ := whole.own()
	if err != nil || long < fewBytes {
		return nil
	}
	l := lines{most: MaxText, leave: func(n *html.Node, of int) {
		if most == nil && of*10 >= long*9 {
			most = n
		}
	}}
	write(&l, root)
	if most == nil || most.Data == "body" || most.Data == "html" {
		return nil
	}
	for n := range most.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "aside", "button", "footer", "form", "header", "input", "nav", "select", "textarea":
			return nil
		}
	}
	return most
}

const (
	mostShare = 0.75 // below which a main text lacks much
	fewBytes  = 300  // of long lines, below which all lines count
)

// share returns the part of the whole text in the main text.
func share(main, whole *lines) float64 {
	part, _ := main.own()
	of, all := whole.own()
	if of < fewBytes {
		_, part = main.own()
		of = all
	}
	return min(float64(part)/float64(max(of, 1)), 1)
}

// write adds the text of a tree, which is at most 512 deep.
func write(l *lines, n *html.Node) {
	if n.Type == html.TextNode {
		l.text([]byte(n.Data))
		return
	}
	c := classOf(n.Data)
	if n.Type != html.ElementNode {
		c = inline
	}
	switch c {
	case silent:
		return
	case keeping:
		l.end()
		l.pre++
	case block:
		l.end()
	case cell:
		l.gap()
	}
	outer := l.link
	before, _ := l.own()
	l.link = outer || n.Data == "a" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "href" })
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		write(l, child)
	}
	l.link = outer
	switch c {
	case keeping:
		l.pre--
		l.end()
	case block:
		l.end()
	case cell:
		l.gap()
	}
	if l.leave != nil && n.Type == html.ElementNode {
		after, _ := l.own()
		l.leave(n, after-before)
	}
}
