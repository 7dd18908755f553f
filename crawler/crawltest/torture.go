package crawltest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Ordeal is a web made to try a mirror by: whatever a page can be made of, and whatever a name of a file can be. A browser
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
type Ordeal struct {
	*Web

	// Absent is what no faithful mirror holds, in the order of the URLs.
	Absent []Absent
}

// Absent is a resource that pages of an Ordeal refer to and that a mirror leaves alone.
type Absent struct {
	URL   string // in the web's own names
	Why   string // "robots", "scope", "error", "noarchive", "hops"
	Embed bool   // a page embeds it: opening the page asks for it
}

// The hosts of an Ordeal.
const (
	tortureHost   = "torture.test"   // the scope
	cdnHost       = "cdn.test"       // one step off it
	fontsHost     = "fonts.test"     // two
	deepHost      = "deep.test"      // three
	beyondHost    = "beyond.test"    // four: too far
	closedHost    = "closed.test"    // all of it is disallowed
	neighbourHost = "neighbour.test" // only links lead there
)

// Torture returns the web of an ordeal.
func Torture() *Ordeal {
	r := newRack(tortureHost, cdnHost, fontsHost, deepHost, beyondHost, closedHost, neighbourHost)
	r.sites[tortureHost].Robots = Robots{Body: "User-agent: *\nDisallow: /private/\n"}
	r.sites[closedHost].Robots = Robots{Body: "User-agent: *\nDisallow: /\n"}
	r.requisites()
	r.sheets()
	r.media()
	r.elsewhere()
	r.names()
	r.links()
	r.bases()
	r.charsets()
	r.redirects()
	r.defences()
	r.answers()
	r.missing()
	r.home()
	r.expect()
	o := &Ordeal{Web: New(r.all()...), Absent: r.absent}
	slices.SortFunc(o.Absent, func(a, b Absent) int { return cmp.Compare(a.URL, b.URL) })
	return o
}

// Seed returns the URL that a crawl begins with, under which it needs no hook: "" unless the web is started with Start.
func (o *Ordeal) Seed() string { return o.LoopbackURL(tortureHost) }

// Local returns the URL under which a resource is reached without a hook. What is not in the web stays as it is.
func (o *Ordeal) Local(u string) string {
	if o.local == nil {
		return u
	}
	return o.local.Replace(u)
}

// Judge lets the referee judge a visit by the crawler of a product token, or by none in particular, that began at Seed.
func (o *Ordeal) Judge(token string) Report {
	return o.referee.Judge(Rules{Token: token, Seeds: []string{"http://" + tortureHost + "/"}})
}

// Pages returns the URLs of the pages that a mirror should hold, in order: HTML in scope that is not absent.
func (o *Ordeal) Pages() []string {
	var urls []string
	for _, k := range o.pages() {
		urls = append(urls, place{tortureHost, k}.String())
	}
	return urls
}

// IDs returns what the pages are known by, those of them that say it, without repetition.
func (o *Ordeal) IDs() []string {
	var ids []string
	for _, k := range o.pages() {
		body := strings.ReplaceAll(string(o.hosts[tortureHost].now().pages[k].body), "\x00", "")
		if _, rest, ok := strings.Cut(body, "data-page="); ok {
			rest = strings.TrimLeft(rest, `"`)
			ids = append(ids, rest[:strings.IndexAny(rest, `" >`)])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (o *Ordeal) pages() []string {
	absent := map[string]bool{}
	for _, a := range o.Absent {
		absent[a.URL] = true
	}
	var keys []string
	for k, l := range o.hosts[tortureHost].now().pages {
		u := place{tortureHost, k}.String()
		if l.Status == http.StatusOK && l.Redirect == "" && strings.HasPrefix(l.Type, "text/html") && !absent[u] && !strings.HasPrefix(k, "/private/") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}
