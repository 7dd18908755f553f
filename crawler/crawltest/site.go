package crawltest

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"html"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"path"
	"reflect"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Site is one authority of a Web. The zero value of each field but Name is useful.
type Site struct {
	// Name is the authority: a host name like "bakery.test", with a port if it is not 80. Required, in lower case.
	// Sites with one host name share its address. An IPv4 address as name is that address. The scheme is http.
	Name string

	// Pages are the resources by request target, "/", "/a/b", "/search?q=x". All equivalent spellings of a target
	// (RFC 3986 6.2.2) are answered alike.
	Pages map[string]Page

	// Robots is what /robots.txt answers. Zero means 404, unless Pages or Handler have it.
	Robots Robots

	// Traps are parts of the site without end.
	Traps []Trap

	// Handler answers what neither Pages, Robots nor Traps know. Nil means 404. The referee knows no links in its
	// answers, so that coverage says nothing about them.
	Handler http.Handler

	// Latency passes before the first byte of every answer.
	Latency time.Duration

	// Addrs are the addresses that look-ups of the name are answered with, one after the other, and the last from then
	// on. None means the one that the web gives it; so does a zero Addr among them.
	Addrs []netip.Addr

	// Expect is what a correct crawler does with the site. The referee judges it by a row of its own, and by Coverage
	// and Scope no more. Nil for a site that behaves.
	Expect *Expect
}

// Page is one resource. The zero value is a page of text without links.
type Page struct {
	// Title and Text, paragraphs with an empty line between them, are rendered when Body is empty. Empty ones are
	// made up from the page's name.
	Title, Text string

	// Body is sent as it is. Empty means that an HTML page is rendered, and that any other type has no body.
	Body string

	// Links, NoFollow (rel="nofollow") and Embeds (styles, scripts, images: by their extension) are references,
	// rendered when Body is empty. With a Body they declare what is in it: this is the link graph that the referee
	// knows. A style sheet, an SVG document or a web manifest may have Embeds as well; each needs a Body that has them.
	Links, NoFollow, Embeds []string

	// Robots is the content of <meta name="robots">, rendered when Body is empty. Its nofollow counts.
	Robots string

	// Type is the media type. Empty means by extension, and text/html without one.
	Type string

	// Charset is how the rendered page is encoded and said to be: "utf-8" or "iso-8859-1". Empty means UTF-8.
	Charset string

	// Status of the answer. Zero means 200, or 302 with a Redirect.
	Status int

	// Redirect is the value of Location.
	Redirect string

	// Header holds further fields of the answer. They win over those that are made.
	Header map[string]string

	// Delay passes before the first byte of the answer, beside the site's Latency.
	Delay time.Duration

	// Gzip and Brotli send the body coded, to who accepts that. Brotli takes up to 65,536 bytes.
	Gzip, Brotli bool

	// The first FailFirst GET requests are answered with FailStatus (zero means 503) and RetryAfter, if not empty, as the
	// value of that field. RetryAfter without FailFirst is sent with every answer.
	FailFirst, FailStatus int
	RetryAfter            string

	// Raw, if not nil, answers GET requests after Delay and Latency, and all that says how has no effect. Links still
	// declare what leads from the page.
	Raw Raw
}

// Robots is what a site's /robots.txt answers: a page of text/plain. Status zero means 200 with a Body, 302 with a Redirect,
// else 404.
type Robots Page

// given reports whether r says anything.
func (r Robots) given() bool {
	return r.Body != "" || r.Status != 0 || r.Redirect != "" || r.FailFirst > 0 || r.Raw != nil
}

func (r Robots) page() Page {
	p := Page(r)
	p.Type = "text/plain; charset=utf-8"
	if p.Status == 0 && p.Body == "" && p.Redirect == "" {
		p.Status = http.StatusNotFound
	}
	return p
}

// Trap is a part of a site that has no end. A careful crawler asks for at most Most of it, by whatever rule it stops.
type Trap struct {
	Prefix string // of the request target, "/attic/"
	Most   int    // GET requests that are forgiven

	// Page makes the page of a target, which is a key: Links relative to it lead deeper.
	Page func(target string) Page
}

// Tree returns a site of n realistic pages ("/" and "/p1.html" on) of which each links to its parent and up to four
// children, without a robots.txt.
func Tree(name string, n int) *Site {
	s := &Site{Name: name, Pages: make(map[string]Page, n)}
	path := func(i int) string {
		if i == 0 {
			return "/"
		}
		return fmt.Sprintf("/p%d.html", i)
	}
	for i := range n {
		p := Page{Title: fmt.Sprintf("Page %d of %d", i, n)}
		if i > 0 {
			p.Links = append(p.Links, path((i-1)/4))
		}
		for child := 4*i + 1; child <= 4*i+4 && child < n; child++ {
			p.Links = append(p.Links, path(child))
		}
		s.Pages[path(i)] = p
	}
	return s
}

// Calendar is a site without end: a front page and a Trap of which most requests are forgiven. It has a page for each
// month, in which there is nothing: /calendar?date=2026-11, or with path /calendar/2026/11/.
func Calendar(name string, path bool, most int) *Site {
	form, prefix := "/calendar?date=2006-01", "/calendar?"
	if path {
		form, prefix = "/calendar/2006/01/", "/calendar/"
	}
	first := time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)
	page := func(target string) Page {
		month, err := time.Parse(form, target)
		if err != nil {
			return Page{Status: 404}
		}
		text := "Monday Tuesday Wednesday Thursday Friday Saturday Sunday\n\n"
		for day := month; day.Month() == month.Month(); day = day.AddDate(0, 0, 1) {
			text += strconv.Itoa(day.Day()) + " "
		}
		return Page{
			Title: month.Format("January 2006"), Text: text + "\n\nThere are no events in " + month.Format("January 2006") + ".",
			Links: []string{month.AddDate(0, 1, 0).Format(form), month.AddDate(0, -1, 0).Format(form), "/"},
		}
	}
	return &Site{
		Name:  name,
		Pages: map[string]Page{"/": {Title: "Welcome", Links: []string{first.Format(form)}}},
		Traps: []Trap{{Prefix: prefix, Most: most, Page: page}},
	}
}

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
	if strings.EqualFold(charset, "iso-8859-1") {
		text, _ = encoding.HTMLEscapeUnsupported(charmap.ISO8859_1.NewEncoder()).String(text) // nothing is unsupported
	}
	return []byte(text)
}

// The words that the text of pages is made of: a sentence has one of each, so that no two in a row say the same. The same
// random source gives the same text.
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

// Entry is a part of a web that is written as text: a site after "== ", a resource after "-- ". The words of that line
// are followed by lines "Name: value", by an empty line, and by the body, up to the next entry. Lines that begin with
// "#" in front of the body are comments.
type Entry struct {
	Site   bool
	Words  []string
	Fields [][2]string
	Body   string
}

// Entries returns the entries of a text, in its order.
func Entries(text string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var e Entry
		in := false // the body
		for line := range strings.Lines(text) {
			mark, words, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, value, field := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch {
			case mark == "==" || mark == "--":
				if e.Words != nil && !yield(e) {
					return
				}
				e, in = Entry{Site: mark == "==", Words: strings.Fields(words)}, false
			case in:
				e.Body += line
			case line == "\n":
				in = true
			case field && !strings.HasPrefix(line, "#"):
				e.Fields = append(e.Fields, [2]string{name, value})
			}
		}
		if e.Words != nil {
			yield(e)
		}
	}
}

// Field returns the value of a field, the quotes of a Go string taken off, or nothing.
func (e *Entry) Field(name string) string {
	for _, f := range e.Fields {
		if f[0] == name {
			return unquoted(f[1])
		}
	}
	return ""
}

func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// Page returns the resource that e describes.
func (e *Entry) Page() Page {
	p := Page{Body: e.Body}
	e.Fill(&p)
	return p
}

// Fill sets the fields of a struct by their names. Lists are separated by blanks. It panics on a value that does not
// fit: the texts are ours.
func (e *Entry) Fill(to any) {
	for _, f := range e.Fields {
		field := reflect.ValueOf(to).Elem().FieldByName(f[0])
		if !field.IsValid() {
			continue
		}
		value, err := unquoted(f[1]), error(nil)
		switch at := field.Addr().Interface().(type) {
		case *string:
			*at = value
		case *[]string:
			*at = append(*at, strings.Fields(value)...)
		case *map[string]string:
			name, text, _ := strings.Cut(value, ": ")
			if *at == nil {
				*at = map[string]string{}
			}
			(*at)[name] = text
		case *bool:
			*at, err = strconv.ParseBool(value)
		case *int:
			*at, err = strconv.Atoi(value)
		case *int64:
			*at, err = strconv.ParseInt(value, 10, 64)
		case *time.Duration:
			*at, err = time.ParseDuration(value)
		}
		if err != nil {
			panic(err)
		}
	}
}
