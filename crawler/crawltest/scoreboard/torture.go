package scoreboard

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"html"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"curtsy/crawler/crawltest"
)

// Web tests mirrors with all kinds of page contents and file names. A browser that opens the mirror can check that the
// right resource was loaded: each picture has a unique size, each sound a length, each font an advance, each page an id,
// and attributes of the pages have the expected values.
//
//	data-page           on body: the id of the page
//	data-want-page      on a, area, iframe, form: the id of the page that it leads to
//	data-want           the natural size of the picture, "21x7"; of several, in order
//	data-css            the property of the element with that picture
//	data-want-box       the size of the element on the screen
//	data-want-seconds   the length of the sound
//	data-want-cues      the number of cues of a track
//	data-want-text      the text of the element
//	data-styles         on body: the custom properties --style-NAME that the style sheets set on :root
//	data-scripts        on body: the names that scripts have appended to window.ran
//	data-fonts          on body: FAMILY:ADVANCE of the letter A at 100px
//
// A crawl begins at Seed with the authority of Seed as its scope; requisites are up to three steps off it.
type Web struct {
	*crawltest.Web

	// Absent lists the URLs that a faithful mirror lacks, in their order.
	Absent []Absent
}

// Absent is a referenced resource that a mirror does not have.
type Absent struct {
	URL   string // in the web's own names
	Why   string // "robots", "scope", "error", "noarchive", "hops"
	Embed bool   // a page embeds it
}

const (
	tortureHost   = "torture.test"   // the scope
	cdnHost       = "cdn.test"       // one step off it
	fontsHost     = "fonts.test"     // two
	deepHost      = "deep.test"      // three
	beyondHost    = "beyond.test"    // four: too far
	closedHost    = "closed.test"    // disallowed
	neighbourHost = "neighbour.test" // only linked
)

//go:embed torture.txt
var tortureText string

// NewTorture returns a Web.
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
	var list strings.Builder
	for _, target := range r.shown {
		list.WriteString(`<li><a href="` + target + `" data-want-page="{{page ` + target + `}}">` + target + "</a></li>\n")
	}
	r.page("/", whole("An ordeal", "<ul>\n"+list.String()+"</ul>"), crawltest.Page{})
	r.expect()
	sites := make([]*crawltest.Site, len(r.order))
	for i, name := range r.order {
		sites[i] = r.sites[name]
	}
	o := &Web{Web: crawltest.New(sites...), Absent: r.absent}
	slices.SortFunc(o.Absent, func(a, b Absent) int { return cmp.Compare(a.URL, b.URL) })
	return o
}

// Seed returns the loopback URL that a crawl begins with: "" unless the web is started with Start.
func (o *Web) Seed() string { return o.LoopbackURL(tortureHost) }

// Judge judges a crawl from Seed by the crawler of a product token.
func (o *Web) Judge(token string) crawltest.Report {
	return o.Referee().Judge(crawltest.Rules{Token: token, Seeds: []string{"http://" + tortureHost + "/"}})
}

// IDs returns the ids of the pages in order, without duplicates.
func (o *Web) IDs() []string {
	absent := map[string]bool{}
	for _, a := range o.Absent {
		absent[a.URL] = true
	}
	var ids []string
	for k, p := range o.Web.Pages(tortureHost) {
		u := place{tortureHost, k}.String()
		if p.Status != http.StatusOK || p.Redirect != "" || !strings.HasPrefix(p.Type, "text/html") || absent[u] ||
			strings.HasPrefix(k, "/private/") {
			continue
		}
		if _, rest, ok := strings.Cut(strings.ReplaceAll(p.Body, "\x00", ""), "data-page="); ok {
			rest = strings.TrimLeft(rest, `"`)
			ids = append(ids, rest[:strings.IndexAny(rest, `" >`)])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// place is a resource: the authority of its site, and the key of its target.
type place struct{ host, key string }

func (p place) String() string { return "http://" + p.host + p.key }

// builder builds the web.
type builder struct {
	order  []string
	sites  map[string]*crawltest.Site
	count  int              // pictures, sounds and fonts so far
	wants  map[place]string // expected value of each
	shown  []string         // targets that the home page links to
	absent []Absent
	paths  []string // of /names/
}

func newBuilder(hosts ...string) *builder {
	r := &builder{order: hosts, sites: map[string]*crawltest.Site{}, wants: map[place]string{}}
	for _, name := range hosts {
		r.sites[name] = &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{}}
	}
	return r
}

func (r *builder) entry(e *crawltest.Entry) {
	verb, p, title := e.Words[0], e.Page(), e.Field("Title")
	for _, target := range e.Words[1:] {
		host, key := tortureHost, target
		if rest, ok := strings.CutPrefix(target, "http://"); ok {
			host, key, _ = strings.Cut(rest, "/")
			key = "/" + key
		}
		switch verb {
		case "names":
			r.paths = append(r.paths, target)
			continue
		case "lack":
			r.absent = append(r.absent, Absent{URL: place{host, key}.String(), Why: e.Field("Why"), Embed: e.Field("Embed") != ""})
			continue
		}
		p.Body = strings.TrimSuffix(e.Page().Body, "\n")
		if verb == "put" {
			r.sites[host].Pages[key] = p
			continue
		}
		if p.Title = ""; title != "" {
			p.Body = whole(title, p.Body)
		}
		if verb == "show" {
			r.shown = append(r.shown, target)
		}
		name := strings.TrimSuffix(path.Base(target), path.Ext(target))
		text := strings.ReplaceAll(p.Body, "{{name}}", name)
		if strings.Contains(text, "{{names}}") {
			text = strings.ReplaceAll(text, "{{names}}", r.names())
		}
		r.page(target, text, p)
		if e.Field("UTF-16") != "" {
			made := r.sites[tortureHost].Pages[target]
			octets := []byte{0xff, 0xfe}
			for _, unit := range utf16.Encode([]rune(made.Body)) {
				octets = binary.LittleEndian.AppendUint16(octets, unit)
			}
			made.Body = string(octets)
			r.put(target, made)
		}
	}
}

// names makes pages whose URLs are difficult file names, and returns a list of links to them.
func (r *builder) names() string {
	var list strings.Builder
	for _, target := range r.paths {
		target = strings.NewReplacer("LONG", strings.Repeat("long-", 46), "WIDE", strings.Repeat("%D0%B6", 120)).Replace(target)
		// The targets have braces escaped, which the builder would fill in.
		r.page("/names/"+target, whole("A name", `<p><a href="/names/" data-want-page="{{page /names/}}">all names</a></p>`),
			crawltest.Page{})
		list.WriteString(`<li><a href="/names/` + html.EscapeString(target) + `" data-want-page="{{page /names/` +
			strings.ReplaceAll(target, " ", "%20") + `}}">` + html.EscapeString(target) + "</a></li>\n")
	}
	return list.String()
}

func (r *builder) put(target string, p crawltest.Page) { r.sites[tortureHost].Pages[target] = p }

// at resolves a reference on a page.
func (r *builder) at(page, ref string) place {
	base, err := url.Parse("http://" + tortureHost + page)
	if err != nil {
		panic(err) // pages are fixed
	}
	u, err := base.Parse(crawltest.Spell(ref))
	if err != nil || r.sites[u.Host] == nil {
		panic(fmt.Sprintf("torture: %s refers to %q: %v", page, ref, err))
	}
	target := u.EscapedPath()
	if u.RawQuery != "" {
		target += "?" + u.RawQuery
	}
	return place{u.Host, crawltest.Key(target)}
}

// want makes a referenced resource, unless it is there, and returns its expected value.
func (r *builder) want(p place) string {
	if w := r.wants[p]; w != "" {
		return w
	}
	r.count++
	name, _, _ := strings.Cut(p.key, "?")
	page, want := made(path.Ext(name), r.count)
	if p.host != tortureHost {
		page.Header = map[string]string{"Access-Control-Allow-Origin": "*"}
	}
	r.sites[p.host].Pages[p.key], r.wants[p] = page, want
	return want
}

func id(p place) string {
	h := fnv.New32a()
	h.Write([]byte(p.host + p.key))
	return fmt.Sprintf("p%08x", h.Sum32())
}

// page adds a page. It replaces in the text, in double braces, with references relative to the page:
//
//	{me}            the id of the page
//	{page REF}      the id of the page that REF leads to; a link to REF
//	{to REF FINAL}  the id of FINAL, where a link to REF ends
//	{link REF}      REF; a link to it
//	{embed REF}     REF; it is embedded
//	{want REF}      the expected value of the picture, sound or font at REF, which is made and embedded
func (r *builder) page(target, text string, p crawltest.Page) {
	var b strings.Builder
	for {
		before, rest, more := strings.Cut(text, "{{")
		b.WriteString(before)
		if !more {
			break
		}
		order, after, _ := strings.Cut(rest, "}}")
		b.WriteString(r.fill(target, order, &p))
		text = after
	}
	p.Body = b.String()
	if p.Type == "" {
		p.Type = "text/html"
	}
	r.put(target, p)
}

func whole(title, body string) string {
	return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" + title + "</title></head>\n" +
		"<body data-page=\"{{me}}\" >\n<h1>" + title + "</h1>\n" + body + "\n</body>\n</html>\n"
}

// fill returns the replacement of an order in braces.
func (r *builder) fill(page, order string, p *crawltest.Page) string {
	verb, rest, _ := strings.Cut(order, " ")
	ref, final, _ := strings.Cut(rest, " ")
	switch verb {
	case "me":
		return id(r.at(page, page))
	case "page":
		p.Links = append(p.Links, ref)
		return id(r.at(page, ref))
	case "to":
		p.Links = append(p.Links, ref)
		return id(r.at(page, final))
	case "link":
		p.Links = append(p.Links, ref)
		return ref
	case "embed":
		p.Embeds = append(p.Embeds, ref)
		return ref
	case "want":
		p.Embeds = append(p.Embeds, ref)
		return r.want(r.at(page, ref))
	}
	panic(fmt.Sprintf("torture: %s: {{%s}}", page, order)) // pages are fixed
}

// expect sets what a correct crawler fetches off the scope: all requisites up to three steps off, and none further.
func (r *builder) expect() {
	const rule crawltest.Rule = "requisites off the scope"
	for _, name := range []string{cdnHost, fontsHost, deepHost} {
		e := &crawltest.Expect{Rule: rule}
		for target := range r.sites[name].Pages {
			e.Fetched = append(e.Fetched, target)
		}
		slices.Sort(e.Fetched)
		r.sites[name].Expect = e
	}
	r.sites[beyondHost].Expect = &crawltest.Expect{Rule: rule, Left: []string{"/"}}
	r.sites[closedHost].Expect = &crawltest.Expect{Rule: rule, Left: []string{"/"}}
}

// answers adds responses that the text cannot express.
func (r *builder) answers() {
	text := whole("Coded",
		strings.Repeat("<p>bread and butter</p>\n", 40)+`<img src="coded.png" data-want="{{want coded.png}}">`)
	r.page("/answers/gzip.html", text, crawltest.Page{Gzip: true})
	r.page("/answers/brotli.html", text, crawltest.Page{Brotli: true})
	untyped := `<!DOCTYPE html><html><head><title>Of no type</title></head><body data-page="` +
		id(place{tortureHost, "/answers/untyped"}) + `"><a href="./">back</a></body></html>`
	r.put("/answers/untyped", crawltest.Page{Raw: crawltest.Say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+untyped,
		true), Links: []string{"./"}})
	r.put("/answers/none.html", crawltest.Page{Type: "text/html", Raw: crawltest.Say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", true)})
	typed, _ := made(".png", 200)
	r.put("/answers/typed.png", crawltest.Page{Type: "text/plain", Body: typed.Body})
	r.put("/answers/unknown.png", crawltest.Page{Type: "application/octet-stream", Body: typed.Body})
	r.put("/answers/big.bin",
		crawltest.Page{Type: "application/octet-stream", Body: strings.Repeat("0123456789abcdef", 20<<16)})
	r.page("/answers/big.html", whole("Too long to be read for links", `<img src="early.png" data-want="{{want early.png}}">`+strings.Repeat("<p>"+strings.Repeat("word ", 1000)+"</p>\n", 2200)), crawltest.Page{})
}

// made makes the n-th resource, by its extension, and returns its unique value.
func made(ext string, n int) (crawltest.Page, string) {
	switch ext {
	case ".wav":
		return wav(n)
	case ".woff", ".ttf":
		return font(ext, n)
	case ".vtt":
		return track(n)
	}
	return picture(ext, n)
}

// picture makes a picture of width 8 + n.
func picture(ext string, n int) (crawltest.Page, string) {
	w, h := 8+n, 8+n%5
	size := sizeOf(w, h)
	if ext == ".svg" {
		return crawltest.Page{Type: "image/svg+xml", Body: fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" `+
			`xmlns:xlink="http://www.w3.org/1999/xlink" width="%d" height="%d" viewBox="0 0 %[1]d %d">`+
			`<rect width="%[1]d" height="%d" fill="teal"/></svg>`+"\n", w, h)}, size
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h),
		color.Palette{color.White, color.RGBA{uint8(40 * n), uint8(n), 120, 255}})
	for i := range img.Pix {
		img.Pix[i] = uint8(i / 3 % 2)
	}
	var b bytes.Buffer
	var err error
	p := crawltest.Page{Type: "image/png"}
	switch ext {
	case ".gif":
		p.Type, err = "image/gif", gif.Encode(&b, img, nil)
	case ".jpg":
		p.Type, err = "image/jpeg", jpeg.Encode(&b, img, nil)
	default: // also another extension, or none
		err = png.Encode(&b, img)
	}
	if err != nil {
		panic(err) // an image of a fixed, legal size in memory
	}
	p.Body = b.String()
	return p, size
}

// wav makes n tenths of a second of silence.
func wav(n int) (crawltest.Page, string) {
	const rate = 4000 // samples of one byte a second
	length := uint32(rate / 10 * n)
	var b bytes.Buffer
	put := func(v ...any) {
		for _, v := range v {
			_ = binary.Write(&b, binary.LittleEndian, v) // a bytes.Buffer takes everything
		}
	}
	b.WriteString("RIFF")
	put(36 + length)
	b.WriteString("WAVEfmt ")
	put(uint32(16), uint16(1), uint16(1), uint32(rate), uint32(rate), uint16(1), uint16(8))
	b.WriteString("data")
	put(length)
	b.Write(bytes.Repeat([]byte{0x80}, int(length)))
	return crawltest.Page{Type: "audio/wav", Body: b.String()}, fmt.Sprintf("%.1f", float64(n)/10)
}

// track makes WebVTT with n%7+1 cues.
func track(n int) (crawltest.Page, string) {
	var b bytes.Buffer
	b.WriteString("WEBVTT\n")
	for i := range n%7 + 1 {
		fmt.Fprintf(&b, "\n00:0%d.000 --> 00:0%d.900\nline %d\n", i, i, i)
	}
	return crawltest.Page{Type: "text/vtt; charset=utf-8", Body: b.String()}, fmt.Sprint(n%7 + 1)
}

func sizeOf(w, h int) string { return fmt.Sprintf("%dx%d", w, h) }

// Fonts of one letter, A, a square, as TrueType and as uncompressed WOFF, with fontWidth in place of its width.
var (
	//go:embed letter.ttf
	ttf string
	//go:embed letter.woff
	woff string
)

const fontWidth = "zz"

// font makes a font whose letter is 300 + n of 1,000 units wide. Browsers ignore the checksums of the tables.
func font(ext string, n int) (crawltest.Page, string) {
	p, advance := crawltest.Page{Type: "font/ttf", Body: ttf}, uint16(300+n)
	if ext == ".woff" {
		p = crawltest.Page{Type: "font/woff", Body: woff}
	}
	p.Body = strings.ReplaceAll(p.Body, fontWidth, string(binary.BigEndian.AppendUint16(nil, advance)))
	return p, fmt.Sprintf("%.1f", float64(advance)/10)
}
