package scoreboard

import (
	"cmp"
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"curtsy/crawler/crawltest"
)

// Web is made to try a mirror by: whatever a page can be made of, and whatever a name of a file can be. A browser
// that opens the mirror can tell that the right thing came: each picture has a size of its own, each sound a length,
// each font an advance, each page an id, and the pages say in data-want attributes what they expect.
//
//	data-page           on body: the id of the page
//	data-want-page      on a, area, iframe, form: the id of the page that it leads to
//	data-want           the natural size of the picture, "21x7"; of several, in order
//	data-css            that picture is the value of this property of the element
//	data-want-box       the size of the element on the screen
//	data-want-seconds   the length of the sound
//	data-want-cues      how many cues a track has
//	data-want-text      the text of the element
//	data-styles         on body: the custom properties --style-NAME that the style sheets set on :root
//	data-scripts        on body: the names that scripts have appended to window.ran
//	data-fonts          on body: FAMILY:ADVANCE of the letter A at 100px
//
// A crawl begins at Seed and has the authority of Seed as its scope; requisites are at up to three steps off it.
type Web struct {
	*crawltest.Web

	// Absent is what no faithful mirror holds, in the order of the URLs.
	Absent []Absent
}

// Absent is a resource that pages of a Web refer to and that a mirror leaves alone.
type Absent struct {
	URL   string // in the web's own names
	Why   string // "robots", "scope", "error", "noarchive", "hops"
	Embed bool   // a page embeds it: opening the page asks for it
}

// The hosts.
const (
	tortureHost   = "torture.test"   // the scope
	cdnHost       = "cdn.test"       // one step off it
	fontsHost     = "fonts.test"     // two
	deepHost      = "deep.test"      // three
	beyondHost    = "beyond.test"    // four: too far
	closedHost    = "closed.test"    // all of it is disallowed
	neighbourHost = "neighbour.test" // only links lead there
)

//go:embed torture.txt
var tortureText string

// NewTorture returns that web.
func NewTorture() *Web {
	r := newBuilder(tortureHost, cdnHost, fontsHost, deepHost, beyondHost, closedHost, neighbourHost)
	r.sites[tortureHost].Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /private/\n"}
	r.sites[closedHost].Robots = crawltest.Robots{Body: "User-agent: *\nDisallow: /\n"}
	for e := range crawltest.Entries(tortureText) {
		switch {
		case !e.Site:
			r.entry(&e)
		case e.Words[0] == "answers":
			r.answers()
		}
	}
	r.home()
	r.expect()
	o := &Web{Web: crawltest.New(r.all()...), Absent: r.absent}
	slices.SortFunc(o.Absent, func(a, b Absent) int { return cmp.Compare(a.URL, b.URL) })
	return o
}

// Seed returns the URL that a crawl begins with, under which it needs no hook: "" unless the web is started with Start.
func (o *Web) Seed() string { return o.LoopbackURL(tortureHost) }

// Judge lets the referee judge a visit by the crawler of a product token, or by none in particular, that began at Seed.
func (o *Web) Judge(token string) crawltest.Report {
	return o.Referee().Judge(crawltest.Rules{Token: token, Seeds: []string{"http://" + tortureHost + "/"}})
}

// Pages returns the URLs of the pages that a mirror should hold, in order: HTML in scope that is not absent.
func (o *Web) Pages() []string {
	var urls []string
	for _, k := range o.pages() {
		urls = append(urls, place{tortureHost, k}.String())
	}
	return urls
}

// IDs returns what the pages are known by, those of them that say it, without repetition.
func (o *Web) IDs() []string {
	var ids []string
	served := o.Web.Pages(tortureHost)
	for _, k := range o.pages() {
		body := strings.ReplaceAll(served[k].Body, "\x00", "")
		if _, rest, ok := strings.Cut(body, "data-page="); ok {
			rest = strings.TrimLeft(rest, `"`)
			ids = append(ids, rest[:strings.IndexAny(rest, `" >`)])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (o *Web) pages() []string {
	absent := map[string]bool{}
	for _, a := range o.Absent {
		absent[a.URL] = true
	}
	var keys []string
	for k, p := range o.Web.Pages(tortureHost) {
		u := place{tortureHost, k}.String()
		if p.Status == http.StatusOK && p.Redirect == "" && strings.HasPrefix(p.Type, "text/html") && !absent[u] &&
			!strings.HasPrefix(k, "/private/") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
