package crawltest

import (
	"fmt"
	"hash/fnv"
	"html"
	"math/rand/v2"
	"net/http"
	"path"
	"strings"
)

// leaf is a page as it is served: complete, but for the name under which the web is asked.
type leaf struct {
	Page
	body []byte
}

// leafOf completes a page of a site.
func leafOf(at place, p Page) *leaf {
	if p.Type == "" {
		p.Type = typeOf(at.key)
	}
	if p.Status == 0 {
		p.Status = http.StatusOK
		if p.Redirect != "" {
			p.Status = http.StatusFound
		}
	}
	if p.Charset == "" {
		p.Charset = "utf-8"
	}
	if p.Type == "text/html" {
		p.Type += "; charset=" + p.Charset
	}
	l := &leaf{Page: p, body: []byte(p.Body)}
	if p.Body == "" && strings.HasPrefix(p.Type, "text/html") {
		l.body = encode(render(at, p), p.Charset)
	}
	return l
}

// typeOf tells a media type by the extension.
func typeOf(target string) string {
	target, _, _ = strings.Cut(target, "?")
	switch path.Ext(target) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".png":
		return "image/png"
	case ".pdf":
		return "application/pdf"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".xml":
		return "application/xml"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".webmanifest":
		return "application/manifest+json"
	}
	return "text/html"
}

// links reports whether the links of the page may be followed: it is an answer with HTML or a feed.
func (l *leaf) links() bool {
	return l.answers() && (strings.HasPrefix(l.Type, "text/html") || l.Type == "application/rss+xml")
}

// embeds reports whether the page has requisites: style sheets, pictures of SVG, web manifests and scripts
// name some, too.
func (l *leaf) embeds() bool {
	switch t, _, _ := strings.Cut(l.Type, ";"); t {
	case "text/html", "text/css", "image/svg+xml", "application/manifest+json", "text/javascript":
		return l.answers()
	}
	return false
}

func (l *leaf) answers() bool { return l.Status >= 200 && l.Status < 300 && l.Redirect == "" }

// nofollow reports whether the page asks the crawler of that token, by meta element or header field, not to follow its
// links.
func (l *leaf) nofollow(token string) bool {
	if forbidsFollowing(l.Robots, token) {
		return true
	}
	for name, value := range l.Header {
		if http.CanonicalHeaderKey(name) == "X-Robots-Tag" && forbidsFollowing(value, token) {
			return true
		}
	}
	return false
}

// forbidsFollowing reads page-level directives: "noindex, nofollow", "none", "token: nofollow".
func forbidsFollowing(directives, token string) bool {
	if name, rest, ok := strings.Cut(directives, ":"); ok && !strings.ContainsAny(name, ", ") {
		if !strings.EqualFold(name, token) {
			return false
		}
		directives = rest
	}
	for d := range strings.SplitSeq(directives, ",") {
		if d = strings.ToLower(strings.TrimSpace(d)); d == "nofollow" || d == "none" {
			return true
		}
	}
	return false
}

// render writes a page as a small site would.
func render(at place, p Page) string {
	title, text := p.Title, p.Text
	if title == "" {
		title = label(at.key) + " · " + at.host
	}
	if text == "" {
		seed := fnv.New64a()
		seed.Write([]byte(at.String()))
		text = Paragraphs(rand.New(rand.NewPCG(seed.Sum64(), 0)), nil)
	}
	var b strings.Builder
	esc := html.EscapeString
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"%s\">\n<title>%s</title>\n",
		esc(p.Charset), esc(title))
	if p.Robots != "" {
		fmt.Fprintf(&b, "<meta name=\"robots\" content=\"%s\">\n", esc(p.Robots))
	}
	var images []string
	for _, e := range p.Embeds {
		switch path.Ext(e) {
		case ".css":
			fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"%s\">\n", esc(e))
		case ".js":
			fmt.Fprintf(&b, "<script src=\"%s\" defer></script>\n", esc(e))
		default:
			images = append(images, e)
		}
	}
	fmt.Fprintf(&b, "</head>\n<body>\n<h1>%s</h1>\n", esc(title))
	for _, src := range images {
		fmt.Fprintf(&b, "<img src=\"%s\" alt=\"%s\">\n", esc(src), esc(label(src)))
	}
	for par := range strings.SplitSeq(text, "\n\n") {
		fmt.Fprintf(&b, "<p>%s</p>\n", esc(par))
	}
	if len(p.Links)+len(p.NoFollow) > 0 {
		b.WriteString("<ul>\n")
		for _, href := range p.Links {
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a></li>\n", esc(href), esc(label(href)))
		}
		for _, href := range p.NoFollow {
			fmt.Fprintf(&b, "<li><a href=\"%s\" rel=\"nofollow\">%s</a></li>\n", esc(href), esc(label(href)))
		}
		b.WriteString("</ul>\n")
	}
	fmt.Fprintf(&b, "<footer>%s</footer>\n</body>\n</html>\n", esc(at.host))
	return b.String()
}

// label is what a link is called: the last segment of its path.
func label(ref string) string {
	ref, query, _ := strings.Cut(ref, "?")
	name := strings.TrimSuffix(path.Base(ref), path.Ext(ref))
	if name == "." || name == "/" || name == "" {
		name = "home"
	}
	if query != "" {
		name += " (" + query + ")"
	}
	return name
}

// encode writes text in a charset. Characters that ISO 8859-1 lacks become character references.
func encode(text, charset string) []byte {
	if !strings.EqualFold(charset, "iso-8859-1") {
		return []byte(text)
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r < 0x100 {
			b = append(b, byte(r))
		} else {
			b = fmt.Appendf(b, "&#%d;", r)
		}
	}
	return b
}
