package mirror

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// reader finds all in a document that may be a reference, for Check. It shares no parser with package markup, which
// the documents were written by: what that overlooks, the mirror has wrong, and Check could not see it. It knows few names,
// and goes by what values look like.
type reader struct {
	found func(element, attr, ref string)
	xml   bool
	data  bool // XML of any kind, whose elements mean what nobody knows
	depth int  // pages within attributes
}

// read reads a document of a media type; what is none of those that have references has none.
func (r *reader) read(in []byte, contentType, file string) {
	switch t := mediatype.Parse(contentType); {
	case script.IsJavaScript(t.Name, file):
		r.module(string(in))
	case t.Name == "text/css", strings.HasSuffix(file, ".css"):
		r.style("", "url", string(in))
	case strings.HasSuffix(t.Name, "json"), strings.HasSuffix(file, "json"), strings.HasSuffix(file, ".webmanifest"):
		r.manifest(in)
	default:
		r.xml = strings.HasSuffix(t.Name, "xml") || t.Name == "text/xsl"
		r.data = r.xml && t.Name != "image/svg+xml" && t.Name != "application/xhtml+xml"
		r.page(in)
	}
}

// page reads a page, or a document in XML.
func (r *reader) page(in []byte) {
	z := html.NewTokenizer(bytes.NewReader(in))
	inert, raw := 0, ""
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return
		case html.CommentToken: // an instruction of XML is one
			if m := xmlSheet.FindSubmatch(z.Raw()); m != nil {
				r.found("xml-stylesheet", "href", html.UnescapeString(string(m[1])))
			}
		case html.TextToken:
			switch text := string(z.Raw()); raw {
			case "style":
				r.style("style", "", text)
			case "module":
				r.module(text)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "template" && inert > 0 {
				inert--
			}
			raw = ""
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			raw = t.Data
			if t.Data == "script" && slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "type" && strings.EqualFold(a.Val, "module") }) {
				raw = "module"
			}
			if r.xml || t.Data == "noframes" || t.Data == "noscript" {
				z.NextIsNotRawText()
			}
			if t.Data == "template" && kind == html.StartTagToken && !slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "shadowrootmode" }) {
				inert++
			}
			if inert == 0 && (!r.data || strings.HasPrefix(t.Data, "xsl:")) {
				r.tag(t)
			}
		}
	}
}

// Attributes whose values are references whatever they look like, and those that are never, for they are words.
var (
	isReference = regexp.MustCompile(`^(?:xlink:)?(?:href|src|poster|background|action|formaction|cite|longdesc)$`)
	isWords     = regexp.MustCompile(`^(?:on.*|aria-.*|.*:.*|accept|alt|class|content|d|download|for|headers|id|itemprop|label|lang|name|pattern|placeholder|property|rel|role|summary|target|title|type|value)$`)
	isRefresh   = regexp.MustCompile(`(?i)^[\s\d.]*[;,]?\s*url\s*=\s*["']?([^"']*)`)
	xmlSheet    = regexp.MustCompile(`^<\?xml-stylesheet\s(?:.*\s)?href\s*=\s*["']([^"']*)`)
	isSize      = regexp.MustCompile(`^[\d.]+[wxh]$`)
)

func (r *reader) tag(t html.Token) {
	for _, a := range t.Attr {
		switch v := strings.TrimSpace(a.Val); {
		case a.Key == "style":
			r.style(t.Data, a.Key, v)
		case a.Key == "ping", a.Key == "attributionsrc":
			for ref := range strings.FieldsSeq(v) {
				r.found(t.Data, a.Key, ref)
			}
		case a.Key == "srcdoc" && r.depth < 3:
			(&reader{found: r.found, depth: r.depth + 1}).page([]byte(v))
		case strings.HasSuffix(a.Key, "srcset"):
			for candidate := range strings.FieldsSeq(v) {
				if strings.HasPrefix(candidate, "data:") {
					break // it may have any character, and package markup reads the others
				}
				if candidate = strings.TrimRight(candidate, ","); !isSize.MatchString(candidate) {
					r.found(t.Data, a.Key, candidate)
				}
			}
		case t.Data == "meta" && a.Key == "content":
			if m := isRefresh.FindStringSubmatch(v); m != nil {
				r.found(t.Data, a.Key, m[1])
			}
		case isReference.MatchString(a.Key), !isWords.MatchString(a.Key) && looksRelative(v):
			r.found(t.Data, a.Key, v)
		}
	}
}

// looksRelative reports whether a text looks like a reference that begins with no scheme and no host.
func looksRelative(s string) bool {
	if s == "" || strings.ContainsAny(s, " \t\r\n<>{}()$|\\\"'`,;:") {
		return false
	}
	return strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || script.IsName(s)
}

var (
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssURL     = regexp.MustCompile(`(?i)(?:url\(\s*|@import\s+)(?:"([^"\\]*)"|'([^'\\]*)')|url\(\s*([^"'()\\\s]+)\s*\)`)
	jsComment  = regexp.MustCompile(`(?s)/\*.*?\*/|(?m:(?:^|\s)//.*$)`)
	jsImport   = regexp.MustCompile(`(?:^|[\s;}])(?:import|from)\s*(?:"(\.{0,2}/[^"\\\s]*)"|'(\.{0,2}/[^'\\\s]*)')`)
)

func (r *reader) style(element, attr, text string) {
	for _, m := range cssURL.FindAllStringSubmatch(cssComment.ReplaceAllString(text, ""), -1) {
		r.found(element, attr, strings.TrimSpace(m[1]+m[2]+m[3]))
	}
}

func (r *reader) module(text string) {
	for _, m := range jsImport.FindAllStringSubmatch(jsComment.ReplaceAllString(text, ""), -1) {
		r.found("", "import", m[1]+m[2])
	}
}

// manifest reads the strings of JSON that are values.
func (r *reader) manifest(in []byte) {
	d := json.NewDecoder(bytes.NewReader(in))
	var v any
	if err := d.Decode(&v); err != nil && err != io.EOF {
		return
	}
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case string:
			if key != "id" && looksRelative(v) {
				r.found("", key, v)
			}
		case []any:
			for _, v := range v {
				walk(key, v)
			}
		case map[string]any:
			for k, v := range v {
				walk(k, v)
			}
		}
	}
	walk("", v)
}

// forScript reports whether an attribute is only for scripts to read.
func forScript(attr string) bool {
	return strings.HasPrefix(attr, "data-") && markup.LazyAttr(attr) == 0
}
