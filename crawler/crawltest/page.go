package crawltest

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"html"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
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

// types are the media types of the extensions.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".png": "image/png", ".pdf": "application/pdf",
	".txt": "text/plain; charset=utf-8", ".xml": "application/xml", ".svg": "image/svg+xml", ".woff2": "font/woff2",
	".webmanifest": "application/manifest+json",
}

// typeOf tells a media type by the extension.
func typeOf(target string) string {
	target, _, _ = strings.Cut(target, "?")
	return cmp.Or(types[path.Ext(target)], "text/html")
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

// This file makes up text for the pages of webs that crawlers are tried on: no two sentences in a row say the same,
// and the same random source gives the same text.

// The words that text is made of: a sentence has one of each.
var (
	Someone = []string{"the baker", "a neighbour", "our founder", "the night watch", "every visitor", "an old friend",
		"the choir", "the ferryman", "a class of twelve", "the librarian"}
	Did = []string{"opened", "repaired", "counted", "painted", "remembered", "carried home", "wrote about",
		"photographed", "gave away", "catalogued"}
	Thing = []string{"the small door", "a box of letters", "the second clock", "the long table", "a map of the town",
		"the blue lamp", "the winter timetable", "a jar of plums", "the spare key", "a quiet corner"}
	Moment = []string{"before sunrise", "in the spring of 1987", "on a rainy Tuesday", "after the last bell",
		"during the festival", "once a year", "between two trains", "for the first time", "when nobody looked",
		"by candlelight"}
)

// Paragraphs makes up text, the same for the same r. subjects, if any, stand beside the usual ones.
func Paragraphs(r *rand.Rand, subjects []string) string {
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	who := append(append([]string(nil), subjects...), Someone...)
	var b strings.Builder
	for par := range 2 + r.IntN(3) {
		if par > 0 {
			b.WriteString("\n\n")
		}
		for s := range 3 + r.IntN(4) {
			if s > 0 {
				b.WriteByte(' ')
			}
			subject := pick(who)
			b.WriteString(strings.ToUpper(subject[:1]) + subject[1:] + " " + pick(Did) + " " + pick(Thing) + " " +
				pick(Moment) + ".")
		}
	}
	return b.String()
}

// This file writes what verdicts are made of: what a client sent, made printable; times; and findings, wrapped. All
// of it fits a terminal of 100 columns.

// clip makes text of a client's bytes that can be printed, of at most n characters.
func clip(s string, n int) string {
	q := strconv.QuoteToGraphic(s)
	return Shorten(q[1:len(q)-1], n)
}

// Shorten cuts printable text to at most n characters.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = append(r[:n-1], '…')
	}
	return string(r)
}

// Quote is Clip with quotes.
func Quote(s string) string { return `"` + clip(s, 80) + `"` }

// Seconds writes a time to the millisecond.
func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }

// Precise writes a gap so that a shortfall of microseconds can be seen.
func Precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + "s" }

// Columns is how wide a line may be, in characters.
const Columns = 100

// wrap prints a finding, broken at spaces.
func wrap(b *bytes.Buffer, text string) {
	line, width := "  ", 0
	for i, word := range strings.Split(text, " ") {
		n := len([]rune(word))
		if i > 0 && len([]rune(line))+1+n > Columns {
			b.WriteString(line + "\n")
			line, width = "      ", 0
		}
		if width > 0 {
			line += " "
		}
		line += word
		width += n
	}
	b.WriteString(line + "\n")
}
