package crawltest

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"time"
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
