package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/script"
)

// Tree returns the directory of the mirror of a crawl directory.
func Tree(dir string) string { return filepath.Join(dir, treeDir) }

// Broken is a reference in a file of a mirror that does not lead to another file of it.
type Broken struct {
	File    string `json:"file"`
	Ref     string `json:"ref,omitempty"` // as written
	URL     string `json:"url,omitempty"` // canonical; empty for a file
	Element string `json:"element,omitempty"`
	Attr    string `json:"attr,omitempty"`
	Embed   bool   `json:"embed,omitempty"` // the file needs it to be complete
	Reason  Reason `json:"reason"`
	Detail  string `json:"detail,omitempty"`
	// Wrong reports a defect of the mirror: a missing file, or an absolute reference to a URL that has a file or would
	// have one if its record were not damaged.
	Wrong bool `json:"wrong,omitempty"`
}

// Reasons of a wrong reference.
const (
	NoFile    Reason = "no file"    // the file does not exist
	NotLinked Reason = "not linked" // the URL has a file, but the reference leads elsewhere
)

type checker struct {
	*lists
	root *os.Root
}

// Check reads the documents of the mirror in tree and returns each reference that does not lead to a file of it, and once
// each URL that only scripts name and the mirror lacks. An error is one of reading the mirror, and the last.
func Check(ctx context.Context, tree string) iter.Seq2[Broken, error] {
	return func(yield func(Broken, error) bool) {
		lists, err := readLists(tree)
		if err != nil {
			yield(Broken{}, err)
			return
		}
		root, err := os.OpenRoot(tree)
		if err != nil {
			yield(Broken{}, fmt.Errorf("mirror: check: %w", err))
			return
		}
		defer func() { _ = root.Close() }()
		c := &checker{lists, root}
		for e, err := range Map(tree) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Broken{}, err)
				return
			}
			if e.Redirect != "" || e.File == "" || c.files[e.File].url != e.URL {
				continue // checked with another line
			}
			found, err := c.file(e)
			if err != nil {
				yield(Broken{}, fmt.Errorf("mirror: check %s: %w", e.File, err))
				return
			}
			for _, b := range found {
				if !yield(b, nil) {
					return
				}
			}
		}
		for m, err := range MissingLines(tree) {
			if err != nil {
				yield(Broken{}, err)
				return
			}
			if m.Reason == ByScript && len(m.In) > 0 {
				b := Broken{File: m.In[0], URL: m.URL, Reason: m.Reason, Detail: m.Detail}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// file checks a file and the references in it.
func (c *checker) file(e Entry) ([]Broken, error) {
	fi, err := c.root.Lstat(e.File)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular():
		return []Broken{{File: e.File, Reason: NoFile, Detail: "the map has it", Wrong: true}}, nil
	case err != nil:
		return nil, err
	case e.Document == Unread:
		return []Broken{{File: e.File, Reason: NotRewritten, Detail: fmt.Sprintf("%d bytes", fi.Size())}}, nil
	}
	find := rewriterOf(e.Type, e.File)
	if find == nil || e.Document != Rewritten {
		return nil, nil
	}
	f, err := c.root.Open(e.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := io.ReadAll(io.LimitReader(f, maxRewritten))
	if err != nil {
		return nil, err
	}
	base, err := canon.Parse(localBase + escaped(e.File, pathSafe))
	if err != nil {
		return nil, err
	}
	var found []Broken
	take := func(b Broken) {
		if len(found) < maxBroken {
			b.File, b.Ref, b.Element, b.Attr = e.File, strings.Clone(b.Ref), strings.Clone(b.Element), strings.Clone(b.Attr)
			found = append(found, b)
		}
	}
	read := map[string]bool{} // references that the reader found wrong
	r := reader{found: func(element, attr, ref string) {
		if b, ok := c.local(base, attr, ref); ok {
			read[ref] = true
			b.Element, b.Embed = element, attr != "href" || element == "link"
			take(b)
		}
	}}
	r.read(in, e.Type, e.File)
	_, err = find(in, markup.Options{URL: base, ContentType: e.Type, Previews: true}, func(ref markup.Ref) (string, bool) {
		b, ok := c.ref(ref)
		if !ok && !read[ref.Raw] && ref.Role != markup.Base && ref.Role != markup.Service {
			b, ok = c.local(base, ref.Attr, ref.Raw)
			b.Embed = ref.Role.Requisite() || ref.Role == markup.Lazy
		}
		if ok {
			b.Ref, b.Element, b.Attr = ref.Raw, ref.Element, ref.Attr
			take(b)
		}
		return "", false
	})
	if err != nil {
		found = append(found, Broken{File: e.File, Reason: NotRewritten, Detail: err.Error()})
	}
	return found, nil
}

// maxBroken bounds the references reported for one file.
const maxBroken = 100_000

// localBase is the base of the mirror's references during a check: a host that does not exist (RFC 6761 6.4).
const localBase = "http://mirror.invalid/"

// local checks a reference to a file of the mirror; ok is false if it is right or leads elsewhere.
func (c *checker) local(base canon.URL, attr, ref string) (b Broken, ok bool) {
	if ref == "" || ref[0] == '#' {
		return b, false
	}
	u, err := base.Resolve(ref)
	if err != nil {
		return b, false // not on the web
	}
	file, isLocal := strings.CutPrefix(u.String(), localBase)
	if !isLocal {
		return b, false
	}
	file, _, _ = strings.Cut(file, "?")
	name, err := url.PathUnescape(file)
	if err == nil && local(name) {
		if fi, err := c.root.Lstat(name); err == nil && fi.Mode().IsRegular() {
			return b, false
		}
	}
	if forScript(attr) && (name == "" || strings.HasSuffix(name, "/")) {
		return b, false // a folder
	}
	b = Broken{Ref: ref, Attr: attr, Reason: NoFile, Wrong: true}
	if forScript(attr) {
		b.Reason, b.Wrong = ByScript, false
	}
	return b, true
}

// ref checks a reference to the web; ok is false if it is right.
func (c *checker) ref(ref markup.Ref) (b Broken, ok bool) {
	if ref.Role == markup.Base || ref.Role == markup.Service {
		return b, false
	}
	u, err := ref.URL()
	if err != nil {
		return b, false // not on the web
	}
	b.Embed = ref.Role.Requisite() || ref.Role == markup.Lazy
	if strings.HasPrefix(u.String(), localBase) {
		return b, false // see local
	}
	b.URL = u.Key()
	if file, has := c.urls[b.URL]; has {
		b.Reason, b.Detail, b.Wrong = NotLinked, "its file is "+file, true
		return b, true
	}
	why, listed := c.missing[b.URL]
	if ref.Role == markup.Query || ref.Role == markup.Preview && !listed {
		return b, false // only the site can answer it, or the mirror does not include previews
	}
	b.Reason, b.Detail, b.Wrong = why.reason, why.detail, strings.HasSuffix(why.detail, RecordUnreadable)
	if b.Reason == "" {
		b.Reason = NotFetched
	}
	return b, true
}

// lists are a mirror's map and list of missing URLs.
type lists struct {
	urls    map[string]string // file by URL
	files   map[string]served
	missing map[string]why
}

type served struct{ url, contentType string }

func readLists(tree string) (*lists, error) {
	l := &lists{urls: map[string]string{}, files: map[string]served{}, missing: map[string]why{}}
	for e, err := range Map(tree) {
		if err != nil {
			return nil, err
		}
		if e.File == "" {
			continue // within pages
		}
		l.urls[e.URL] = e.File
		if _, has := l.files[e.File]; e.Redirect == "" && (!has || e.Size > 0) { // the line with a size is the owner's
			l.files[e.File] = served{e.URL, e.Type}
		}
	}
	for m, err := range MissingLines(tree) {
		if err != nil {
			return nil, err
		}
		l.missing[m.URL] = why{reason: m.Reason, detail: m.Detail}
	}
	return l, nil
}

// reader finds every possible reference in a document. It shares no parser with package markup, so that Check also
// finds its omissions. It has few names and judges by values.
type reader struct {
	found func(element, attr, ref string)
	xml   bool
	data  bool // XML whose elements have unknown meanings
	depth int  // pages within attributes
}

// read reads a document of any type that has references.
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

func (r *reader) page(in []byte) {
	z := html.NewTokenizer(bytes.NewReader(in))
	inert, raw := 0, ""
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return
		case html.CommentToken: // also an XML instruction
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

// Attributes that are always references, and those that never are.
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
					break // it may have any character
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

// looksRelative reports whether a text looks like a reference without scheme and host.
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

// forScript reports whether only scripts read an attribute.
func forScript(attr string) bool {
	return strings.HasPrefix(attr, "data-") && markup.LazyAttr(attr) == 0
}
