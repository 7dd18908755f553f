package scoreboard

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"html"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"curtsy/crawler/crawltest"
)

// place is a resource: the authority of its site, and the key of its target.
type place struct{ host, key string }

func (p place) String() string { return "http://" + p.host + p.key }

// builder is what the web is put together on.
type builder struct {
	order  []string
	sites  map[string]*crawltest.Site
	count  int              // pictures, sounds and fonts so far
	wants  map[place]string // what a page expects of each
	shown  []string         // targets of the pages that the home page links to
	absent []Absent
	paths  []string // names of pages of /names/
}

func newBuilder(hosts ...string) *builder {
	r := &builder{order: hosts, sites: map[string]*crawltest.Site{}, wants: map[place]string{}}
	for _, name := range hosts {
		r.sites[name] = &crawltest.Site{Name: name, Pages: map[string]crawltest.Page{}}
	}
	return r
}

func (r *builder) all() []*crawltest.Site {
	sites := make([]*crawltest.Site, len(r.order))
	for i, name := range r.order {
		sites[i] = r.sites[name]
	}
	return sites
}

// entry adds what an entry of the text has.
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

// names makes pages whose URLs make bad names of files, and returns a list of links to them.
func (r *builder) names() string {
	var list strings.Builder
	for _, target := range r.paths {
		target = strings.NewReplacer("LONG", strings.Repeat("long-", 46), "WIDE", strings.Repeat("%D0%B6", 120)).Replace(target)
		// Braces cannot stand in what the builder fills in: the targets have them escaped.
		r.html("/names/"+target, whole("A name", `<p><a href="/names/" data-want-page="{{page /names/}}">all names</a></p>`))
		list.WriteString(`<li><a href="/names/` + html.EscapeString(target) + `" data-want-page="{{page /names/` +
			strings.ReplaceAll(target, " ", "%20") + `}}">` + html.EscapeString(target) + "</a></li>\n")
	}
	return list.String()
}

// put adds a resource to the site in scope.
func (r *builder) put(target string, p crawltest.Page) { r.sites[tortureHost].Pages[target] = p }

// at resolves a reference on a page.
func (r *builder) at(page, ref string) place {
	base, err := url.Parse("http://" + tortureHost + page)
	if err != nil {
		panic(err) // pages are ours
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

// want makes what a page refers to, unless it is there, and returns what the page expects of it.
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

// id is what a page is known by.
func id(p place) string {
	h := fnv.New32a()
	h.Write([]byte(p.host + p.key))
	return fmt.Sprintf("p%08x", h.Sum32())
}

// html adds a page. In its text stand, in double braces, with references relative to the page:
//
//	{me}            the id of the page
//	{page REF}      the id of the page that REF leads to, and a link to REF
//	{to REF FINAL}  the id of FINAL, where a link to REF ends
//	{link REF}      REF, and a link to it
//	{embed REF}     REF, and it is embedded
//	{want REF}      what is to be expected of the picture, sound or font at REF, which is made; and it is embedded
func (r *builder) html(target, text string) { r.page(target, text, crawltest.Page{}) }

// page is html with more to be said of the page.
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

// whole is a page around a body.
func whole(title, body string) string {
	return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" + title + "</title></head>\n" +
		"<body data-page=\"{{me}}\" >\n<h1>" + title + "</h1>\n" + body + "\n</body>\n</html>\n"
}

// fill does what stands in braces in the text of a page.
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
	panic(fmt.Sprintf("torture: %s: {{%s}}", page, order)) // pages are ours
}

// expect says what a correct crawler does with the hosts that only requisites are at: it fetches all of them up to
// three steps off the scope, and nothing further.
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
