package extract

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"curtsy/storage/charset"
	"curtsy/storage/coding"
	"curtsy/storage/markup"
)

// Directives are a page's robots directives, in meta elements and X-Robots-Tag fields, for all robots, the crawler's token
// or "curtsy" (politeness rules 1 and 19). The most restrictive wins: index, follow and all have no effect.
type Directives struct {
	NoIndex   bool // noindex, none
	NoFollow  bool // nofollow, none
	NoArchive bool // noarchive, nocache

	// UnavailableAfter is the first date of unavailable_after as written, at most 64 bytes. A crawl ignores it; it is for
	// replay.
	UnavailableAfter string

	// Raw has the directives as written after "X-Robots-Tag: " or "meta NAME: ", at most 16 texts of 256 bytes, including
	// those about search results (max-snippet, notranslate, …), which do not concern a crawl.
	Raw []string

	dating int // comma-separated parts that may still belong to the date
}

// String returns "noindex, nofollow, noarchive, unavailable_after: 25 Jun 2027". The date is last because it may contain
// commas.
func (d Directives) String() string {
	var words []string
	for _, w := range []struct {
		on   bool
		name string
	}{{d.NoIndex, "noindex"}, {d.NoFollow, "nofollow"}, {d.NoArchive, "noarchive"}} {
		if w.on {
			words = append(words, w.name)
		}
	}
	if d.UnavailableAfter != "" {
		words = append(words, unavailableAfter+": "+d.UnavailableAfter)
	}
	return strings.Join(words, ", ")
}

const (
	maxRaw      = 16
	maxRawText  = 256
	maxDate     = 64
	maxScan     = 512 << 10 // bytes of a page that are scanned without a tree
	everyone    = "robots"  // addresses all robots; in a field also "*"
	ourselves   = "curtsy"  // binds every product token
	fieldPrefix = "X-Robots-Tag: "

	unavailableAfter = "unavailable_after"
)

// HeaderDirectives reads the X-Robots-Tag fields of a response of any media type.
func HeaderDirectives(h http.Header, token string) Directives {
	var d Directives
	for _, value := range h.Values("X-Robots-Tag") {
		d.field(value, token)
	}
	return d
}

// field reads one field. A name with a colon addresses the directives up to the next such name:
//
//	noindex, nofollow
//	otherbot: noindex, nofollow, curtsy: noarchive
//	unavailable_after: Wed, 03 Nov 2027 15:00:00 GMT, noarchive
func (d *Directives) field(value, token string) {
	bound, read := true, false
	d.dating = 0
	for part := range strings.SplitSeq(value, ",") {
		if name, rest, ok := strings.Cut(part, ":"); ok && isRobotName(bare(name)) {
			name = bare(name)
			bound, part = name == "*" || binds(name, token), rest
			d.dating = 0
		}
		if bound {
			read = true
			d.words(part)
		}
	}
	if read {
		d.keep(fieldPrefix + value)
	}
}

func (d *Directives) meta(name, content, token string) {
	if name = markup.Strip(name); !binds(name, token) {
		return
	}
	d.dating = 0
	for part := range strings.SplitSeq(content, ",") {
		d.words(part)
	}
	d.keep("meta " + name + ": " + content)
}

// Directives reads only the directives of a response, for pages whose links are not used, as error pages. It builds no tree
// and reads the first 512 KiB; of a body that is not a page it reads only the header fields.
func (x *Extractor) Directives(ctx context.Context, in Input) (Directives, error) {
	d := HeaderDirectives(in.Header, in.Token)
	if in.Body == nil {
		return d, nil
	}
	b := x.buffers.Get().(*buffers)
	defer x.done(b)
	src := &coding.Limited{Ctx: ctx, R: in.Body, Left: maxScan}
	head, _ := b.fill(src, 0, headSize)
	if src.Err == nil && IsHTML(in.ContentType, head[:min(len(head), 512)]) {
		c := charset.Page(in.ContentType, head)
		d.scan(decoded(c.Encoding, io.MultiReader(bytes.NewReader(head[c.Mark:]), src)), in.Token)
	}
	if src.Err != nil {
		return d, failed(in, src.Err)
	}
	return d, nil
}

// scan reads meta elements without a tree. It ignores where they are, so that it may bind too much, but not too little.
func (d *Directives) scan(r io.Reader, token string) {
	z := html.NewTokenizer(r)
	for z.Next() != html.ErrorToken {
		t := z.Token()
		if t.Type == html.SelfClosingTagToken {
			z.NextIsNotRawText() // XML allows <title/> and <script/>
		}
		if t.DataAtom == atom.Meta && (t.Type == html.StartTagToken || t.Type == html.SelfClosingTagToken) {
			n := &html.Node{Attr: t.Attr}
			d.meta(attr(n, "name"), attr(n, "content"), token)
		}
	}
}

// words reads directives between two commas: usually one, but some sites separate them by spaces or semicolons, or quote
// them. The value of a directive is not a directive, as in "max-image-preview: none".
func (d *Directives) words(part string) {
	value, directive := false, false
	for word := range strings.FieldsFuncSeq(part, between) {
		if value {
			value = false
			continue
		}
		name, rest, colon := strings.Cut(word, ":")
		if strings.EqualFold(name, unavailableAfter) {
			d.date(part[strings.Index(part, word)+len(name):])
			return // a date takes the rest
		}
		directive = directive || isDirective(name)
		d.word(name)
		value = colon && rest == ""
	}
	switch text := bare(part); {
	case directive || !strings.ContainsAny(text, "0123456789"):
		d.dating = 0
	case d.dating > 0:
		d.dating--
		d.UnavailableAfter = bounded(d.UnavailableAfter+", "+text, maxDate)
	}
}

// date begins with the text after the name. A date may contain two commas: "Wed, 03 Nov 2027, 15:00:00 GMT".
func (d *Directives) date(text string) {
	d.dating = 0
	if d.UnavailableAfter != "" {
		return
	}
	_, text, _ = strings.Cut(text, ":")
	if d.UnavailableAfter = bounded(bare(text), maxDate); d.UnavailableAfter != "" {
		d.dating = 2
	}
}

func between(r rune) bool {
	return r == ';' || r == '"' || r == '\'' || r == '\u200b' || r == '\ufeff' || unicode.IsSpace(r)
}

func bare(s string) string { return strings.TrimFunc(s, between) }

func (d *Directives) word(w string) {
	switch strings.ToLower(w) {
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "noarchive", "nocache":
		d.NoArchive = true
	}
}

func (d *Directives) keep(text string) {
	if len(d.Raw) < maxRaw {
		d.Raw = append(d.Raw, bounded(text, maxRawText))
	}
}

// binds reports whether directives for a name, with or without a version ("curtsy/1.0"), bind the crawler.
func binds(name, token string) bool {
	name, _, _ = strings.Cut(name, "/")
	return strings.EqualFold(name, everyone) || strings.EqualFold(name, ourselves) || token != "" &&
		strings.EqualFold(name, token)
}

// isRobotName reports whether the text before a colon in a field addresses a robot, unlike a date or a directive.
func isRobotName(s string) bool {
	if s == "*" {
		return true
	}
	if isDirective(s) {
		return false
	}
	s = strings.ToLower(s)
	letter := false
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z':
			letter = true
		case '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '/':
		default:
			return false
		}
	}
	return letter
}

// isDirective reports whether a word is a directive documented by Google, Bing or Yandex.
func isDirective(s string) bool {
	if s = strings.ToLower(s); strings.HasPrefix(s, "max-") {
		return true
	}
	switch s {
	case unavailableAfter, "none", "noindex", "nofollow", "noarchive", "nocache", "nosnippet", "noimageindex", "notranslate",
		"indexifembedded", "nositelinkssearchbox", "noodp", "noydir", "noyaca", "all", "index", "follow", "archive":
		return true
	}
	return false
}
