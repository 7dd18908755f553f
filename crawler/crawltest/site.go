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
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Site is one authority of a Web. Only Name is required.
type Site struct {
	// Name is the authority in lower case: a host name like "bakery.test", with a port if it is not 80. Sites with one
	// host name share its address. A name may be an IPv4 address. The scheme is http.
	Name string

	// Pages are the resources by request target, "/search?q=x", in any equivalent spelling (RFC 3986 6.2.2).
	Pages map[string]Page

	// Robots answers /robots.txt. Zero means 404, unless Pages or Handler have it.
	Robots Robots

	Traps []Trap

	// Handler answers requests that are not for Pages, Robots or Traps. Nil means 404. Coverage ignores its links.
	Handler http.Handler

	// Latency delays every response.
	Latency time.Duration

	// Addrs are the results of successive lookups of the name; the last one repeats. Without Addrs, and for a zero Addr,
	// the web's own address is the result.
	Addrs []netip.Addr

	// Expect, for a site that misbehaves, replaces Coverage and Scope.
	Expect *Expect
}

// Page is one resource. The zero value is a page of text without links.
type Page struct {
	// Title and Text, paragraphs separated by an empty line, are rendered when Body is empty. Empty ones are generated.
	Title, Text string

	// Body is sent unchanged. If it is empty, an HTML page is rendered; other types have no body.
	Body string

	// Links, NoFollow (rel="nofollow") and Embeds (styles, scripts, images: by their extension) are references,
	// rendered when Body is empty; otherwise they declare the links in Body, for the referee. A style sheet, an SVG
	// document or a web manifest may also have Embeds.
	Links, NoFollow, Embeds []string

	// Robots is the content of <meta name="robots">, rendered when Body is empty. Its nofollow counts.
	Robots string

	// Type is the media type. Empty means by extension, and text/html without one.
	Type string

	// Charset is the encoding of the rendered page: "utf-8" or "iso-8859-1". Empty means UTF-8.
	Charset string

	// Status zero means 200, or 302 with a Redirect.
	Status int

	// Redirect is the value of Location.
	Redirect string

	// Header fields override the generated ones.
	Header map[string]string

	// Delay is added to the site's Latency.
	Delay time.Duration

	// Gzip or Brotli encodes the body for clients that accept it. Brotli takes up to 65,536 bytes.
	Gzip, Brotli bool

	// The first FailFirst GET requests get FailStatus (zero means 503) and a Retry-After field if RetryAfter is not
	// empty. RetryAfter without FailFirst is sent with every response.
	FailFirst, FailStatus int
	RetryAfter            string

	// Raw, if not nil, answers GET requests after Delay and Latency. Links still declare the links of the page.
	Raw Raw
}

// Robots is a text/plain page. Status zero means 200 with a Body, 302 with a Redirect, else 404.
type Robots Page

func (r Robots) page() Page {
	p := Page(r)
	p.Type = "text/plain; charset=utf-8"
	if p.Status == 0 && p.Body == "" && p.Redirect == "" {
		p.Status = http.StatusNotFound
	}
	return p
}

// Trap is an endless part of a site, of which a careful crawler requests at most Most targets.
type Trap struct {
	Prefix string // of the request target, "/attic/"
	Most   int    // GET requests allowed

	// Page returns the page of a target, which is a Key.
	Page func(target string) Page
}

// Tree returns a site of n pages ("/", "/p1.html", …), each linked to its parent and up to four children.
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

// Calendar returns a site with a Trap of empty months: /calendar?date=2026-11, or with path /calendar/2026/11/.
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

// leaf is a page with its defaults filled in.
type leaf struct {
	Page
	body []byte
}

func leafOf(at place, p Page) *leaf {
	if p.Type == "" {
		target, _, _ := strings.Cut(at.key, "?")
		p.Type = cmp.Or(types[path.Ext(target)], "text/html")
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
		text := render(at, p)
		if strings.EqualFold(p.Charset, "iso-8859-1") { // characters that it lacks become character references
			text, _ = encoding.HTMLEscapeUnsupported(charmap.ISO8859_1.NewEncoder()).String(text)
		}
		l.body = []byte(text)
	}
	return l
}

var types = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".png": "image/png", ".pdf": "application/pdf",
	".txt": "text/plain; charset=utf-8", ".xml": "application/xml", ".svg": "image/svg+xml", ".woff2": "font/woff2",
	".webmanifest": "application/manifest+json",
}

func (l *leaf) links() bool {
	return l.answers() && (strings.HasPrefix(l.Type, "text/html") || l.Type == "application/rss+xml")
}

func (l *leaf) embeds() bool {
	t, _, _ := strings.Cut(l.Type, ";")
	return l.answers() &&
		slices.Contains([]string{"text/html", "text/css", "image/svg+xml", "application/manifest+json", "text/javascript"}, t)
}

func (l *leaf) answers() bool { return l.Status >= 200 && l.Status < 300 && l.Redirect == "" }

// nofollow reports whether a meta element or header field asks the crawler of that token not to follow links.
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

// forbidsFollowing parses page-level directives: "noindex, nofollow", "none", "token: nofollow".
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

// label names a link after the last segment of its path.
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

// Each generated sentence has one item of each list.
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

// Paragraphs generates text, the same for the same r. subjects are added to Someone.
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

// clip escapes a client's bytes for printing and shortens them to n characters.
func clip(s string, n int) string {
	q := strconv.QuoteToGraphic(s)
	return Shorten(q[1:len(q)-1], n)
}

func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = append(r[:n-1], '…')
	}
	return string(r)
}

func Quote(s string) string { return `"` + clip(s, 80) + `"` }

func Seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) + "s" }

// Precise shows a shortfall of microseconds.
func Precise(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 6, 64) + "s" }

// Columns is the width of a line in characters.
const Columns = 100

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

// Entry is a part of a web written as text: a site after "== " or a resource after "-- ". The words of that line are
// followed by lines "Name: value", an empty line, and the body. Lines before the body that begin with "#" are comments.
type Entry struct {
	Site   bool
	Words  []string
	Fields [][2]string
	Body   string
}

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

// Field returns the value of a field, unquoted if it is a Go string.
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

func (e *Entry) Page() Page {
	p := Page{Body: e.Body}
	e.Fill(&p)
	return p
}

// Fill sets the fields of a struct by name. Blanks separate the items of a list. It panics on an invalid value.
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
