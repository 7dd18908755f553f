package crawltest

import (
	"fmt"
	"net/http"
)

// NewFaultySite makes the site.
func NewFaultySite() *FaultySite {
	s := &FaultySite{pages: map[string]string{}, types: map[string]string{}, status: map[string]int{}, moved: map[string]string{}}
	home := s.page("/")
	home.say("<!doctype html><title>A site with faults</title>")
	for _, name := range []string{"statuses", "requisites", "fragments", "redirects", "oddities", "media", "links"} {
		home.say(fmt.Sprintf("<p><a href=%s.html>%s</a>", name, name))
	}
	home.end("")
	s.statuses()
	s.requisites()
	s.fragments()
	s.redirects()
	s.oddities()
	s.pages["/robots.txt"], s.types["/robots.txt"] = "User-agent: *\nDisallow: /private/\n", "text/plain"
	for _, path := range []string{"/good.html", "/sub/good.html"} {
		s.pages[path] = "<!doctype html><title>Good</title>\n<h1 id=here>Here</h1><a name='old name'></a><p id=größe>\n<a href=/>home</a>\n"
	}
	for _, path := range []string{"/good.png", "/good-2x.png"} {
		s.pages[path], s.types[path] = "\x89PNG\r\n\x1a\n", "image/png"
	}
	s.more()
	return s
}

func (s *FaultySite) statuses() {
	p := s.page("/statuses.html")
	p.say("<!doctype html><title>Statuses</title>")
	for n := range 3 {
		p.plant(notFound, fmt.Sprintf("/missing-%d.html", n), fmt.Sprintf("<p><a href='missing-%d.html'>Missing <b>%d</b></a>", n, n))
		for _, k := range []struct {
			kind   FaultKind
			status int
		}{{gone, http.StatusGone}, {forbidden, http.StatusForbidden}, {badRequest, http.StatusBadRequest}} {
			path := fmt.Sprintf("/status/%d/%d", k.status, n)
			s.status[path] = k.status
			p.plant(k.kind, path, fmt.Sprintf("<p>é <a class=x href=%q>%s %d</a>", path, k.kind, n))
		}
	}
	p.say("<p><a href=good.html?a=1&amp;b=2>good, with a query</a> <a href='mailto:a@b.example'>write</a> <a href='tel:+49'>call</a>")
	p.say("<p><a href='javascript:void(0)'>act</a> <a href='data:text/plain,x'>data</a> <a>no link</a> <a href=''>here</a>")
	p.say("<!-- <a href=commented.html> --><template><a href=template.html>t</a></template><script>'<a href=scripted.html>'</script>")
	p.say("<a href=/private/secret.html>forbidden by robots.txt</a><a href=' good.html\n'>white space</a><a href='http://elsewhere.invalid/x'>elsewhere</a>")
	p.end("")
}

func (s *FaultySite) requisites() {
	p := s.page("/requisites.html")
	p.say("<!doctype html><title>Requisites</title><link rel=stylesheet href=good.css>")
	for n := range 3 {
		p.plant(noImage, fmt.Sprintf("/img/missing-%d.png", n), fmt.Sprintf("<img src=img/missing-%d.png alt=%d>", n, n))
		p.plant(noCandidate, fmt.Sprintf("/img/missing-%d-2x.png", n), fmt.Sprintf("<img src=good.png srcset='good-2x.png 2x, img/missing-%d-2x.png 3x'>", n))
		p.plant(noScript, fmt.Sprintf("/js/missing-%d.js", n), fmt.Sprintf("<script src=js/missing-%d.js></script>", n))
		p.plant(noStyle, fmt.Sprintf("/css/missing-%d.css", n), fmt.Sprintf("<link rel=stylesheet href=css/missing-%d.css>", n))
		p.plant(noFrame, fmt.Sprintf("/frame-%d.html", n), fmt.Sprintf("<iframe src=frame-%d.html></iframe>", n))
	}
	p.plant(noArea, "/area-0.html", "<map name=m><area href=area-0.html alt=0></map>")
	p.plant(noArea, "/area-1.html", "<map name=n><area href=area-1.html alt=1></map>")
	p.plant(noArea, "/refreshed.html", "<noscript><meta http-equiv=refresh content='600; url=refreshed.html'></noscript>")
	p.say("<img src='data:image/gif,x'><img src=''><link rel=preconnect href=https://elsewhere.invalid><p style='background:url(good.png)'>")
	p.end("")
	c := s.page("/good.css")
	c.say("/* url(commented.png) */ a { background: url(good.png) }")
	c.plant(noFont, "/fonts/missing.woff2", "@font-face { font-family: F; src: url(fonts/missing.woff2) }")
	c.plant(noFont, "/bg/missing.png", "b { background: url('bg/missing.png') }")
	c.plant(noFont, "/bg/missing-set.png", "i { background: image-set(\"bg/missing-set.png\" 1x) }")
	c.end("text/css")
}

func (s *FaultySite) fragments() {
	p := s.page("/fragments.html")
	p.say("<!doctype html><title>Fragments</title><h1 id=start>Start</h1>")
	for n := range 3 {
		p.plant(noFragment, fmt.Sprintf("/fragments.html#nope-%d", n), fmt.Sprintf("<a href='#nope-%d'>nope</a>", n))
		p.plant(noFarFragment, fmt.Sprintf("/sub/good.html#far-%d", n), fmt.Sprintf("<a href='sub/good.html#far-%d'>far</a>", n))
		path := fmt.Sprintf("/led-%d", n)
		s.moved[path], s.status[path] = "/good.html", http.StatusFound
		p.plant(noLedFragment, path+"#lost", fmt.Sprintf("<a href='led-%d#lost'>led</a>", n))
	}
	p.say("<a href='#start'>a</a><a href='#'>b</a><a href='#top'>c</a><a href='#TOP'>d</a><a href='#:~:text=Start'>e</a><a href='#start:~:text=S'>f</a>")
	p.say("<a href='good.html#here'>g</a><a href='good.html#old%20name'>h</a><a href='good.html#größe'>i</a><a href='good.html#gr%C3%B6%C3%9Fe'>j</a>")
	p.say("<a href='#/route'>k</a><a href='#!route'>l</a><a href='good.png#xywh=1'>m</a><a href='led-0#here'>n</a>")
	p.end("")
}

func (s *FaultySite) redirects() {
	p := s.page("/redirects.html")
	p.say("<!doctype html><title>Redirects</title>")
	for n, status := range []int{http.StatusMovedPermanently, http.StatusPermanentRedirect, http.StatusMovedPermanently} {
		link := func(kind FaultKind, name string) string {
			path := fmt.Sprintf("/%s-%d", name, n)
			s.status[path] = status
			p.plant(kind, path, fmt.Sprintf("<p><a href=%s>%s</a>", path, kind))
			return path
		}
		s.moved[link(Moved, "old")] = "/good.html"
		first := link(Chain, "chain")
		s.moved[first], s.moved[first+"/2"], s.status[first+"/2"] = first+"/2", "/good.html", status
		around := link(loop, "loop")
		s.moved[around], s.moved[around+"/2"], s.status[around+"/2"] = around+"/2", around, status
		s.moved[link(movedAway, "away")] = fmt.Sprintf("/away-%d/missing.html", n)
	}
	s.moved["/now"], s.status["/now"] = "/good.html", http.StatusFound
	p.say("<p><a href=now>for now</a>")
	p.end("")
}

func (s *FaultySite) oddities() {
	p := s.page("/oddities.html")
	p.say("<!doctype html><title>Oddities</title>")
	for _, url := range []string{"http://", "http://[::1", "https://a b/"} {
		p.plant(NoURL, url, fmt.Sprintf("<p><a href='%s'>no URL</a>", url))
	}
	for n := range 3 {
		name := fmt.Sprintf("twice-%d", n)
		p.say(fmt.Sprintf("<p id=%s>one", name))
		p.say(fmt.Sprintf("<p id=%s>two", name))
		s.faults = append(s.faults, Fault{Kind: TwoIDs, URL: p.path, Page: p.path, Line: p.line, Name: name})
	}
	p.say("<form><input name=twice><input name=twice></form><a name=old></a><a name=old></a><p id=One><p id=one>")
	p.end("")
}

// more has kinds that stand in other places than the usual ones, each beside its like that is well.
func (s *FaultySite) more() {
	p := s.page("/media.html")
	p.say("<!doctype html><title>Media</title><link rel=manifest href=site.webmanifest>")
	p.say("<video src=good.png poster=good.png><track src=good.png></video><audio src=good.png></audio><object data=good.png></object><embed src=good.png>")
	p.plant(noMedia, "/media/poster.png", "<video src=good.png poster=media/poster.png></video>")
	p.plant(noMedia, "/media/sound.ogg", "<audio src=media/sound.ogg></audio>")
	p.plant(noMedia, "/media/words.vtt", "<video src=good.png><track src=media/words.vtt></video>")
	p.plant(noObject, "/media/object.png", "<object data=media/object.png></object>")
	p.plant(noObject, "/media/embed.png", "<embed src=media/embed.png>")
	p.plant(noObject, "/media/button.png", "<form><input type=image src=media/button.png></form>")
	p.say("<picture><source srcset='good.png, good-2x.png 2x'><img src=good.png sizes=50vw srcset='good.png?a,b 1w'></picture>")
	p.plant(noSource, "/media/source.png", "<picture><source srcset=media/source.png><img src=good.png></picture>")
	p.plant(noSource, "/media/comma,1.png", "<img src=good.png srcset='good-2x.png 2x,media/comma,1.png 3x'>")
	p.plant(noSource, "/media/preload.png", "<link rel=preload as=image imagesrcset='good.png 1x, media/preload.png 2x'>")
	p.say("<svg><use href=good.svg#part /><a href=good.html><text>good</text></a></svg>")
	p.plant(noSVG, "/media/use.svg", "<svg><use href=media/use.svg#part /></svg>")
	p.plant(noSVG, "/media/image.png", "<svg><image xlink:href=media/image.png /></svg>")
	p.plant(noSVG, "/media/map.html", "<svg><a xlink:href=media/map.html><text>map</text></a></svg>")
	p.say("<link rel=icon href=good.png>")
	p.plant(noIcon, "/media/favicon.png", "<link rel='shortcut icon' href=media/favicon.png>")
	p.plant(noIcon, "/media/touch.png", "<link rel=apple-touch-icon href=media/touch.png>")
	p.say("<style>@import 'good.css'; p { background: url(good.png) }</style>")
	p.plant(noImport, "/media/element.css", "<style>@import 'media/element.css';</style>")
	p.end("")
	m := s.page("/site.webmanifest")
	m.say(`{"start_url": "good.html", "icons": [{"src": "good.png"},`)
	m.plant(noIcon, "/media/manifest.png", `{"src": "media/manifest.png"}]}`)
	m.end("application/manifest+json")
	s.faults[len(s.faults)-1].Line = 0 // of what a manifest names, check knows no line
	c := s.page("/importing.css")
	c.plant(noImport, "/media/string.css", `@import "media/string.css" screen;`)
	c.plant(noImport, "/media/function.css", "@import url( media/function.css );")
	c.end("text/css")
	s.pages["/good.svg"], s.types["/good.svg"] = "<svg xmlns='http://www.w3.org/2000/svg'><g id='part'/></svg>", "image/svg+xml"

	p = s.page("/links.html")
	p.say("<!doctype html><title>Links</title><link rel=stylesheet href=importing.css><link rel=alternate hreflang=en href=good.html>")
	p.plant(noAlternate, "/links/de.html", "<link rel=alternate hreflang=de href=links/de.html>")
	p.plant(noAlternate, "/links/canonical.html", "<link rel=canonical href=links/canonical.html>")
	p.plant(noAlternate, "/links/next.html", "<link rel=next href=links/next.html>")
	p.say("<a href=two%20words.html>a</a><a href='two words.html'>b</a><a href=gr%C3%B6%C3%9Fe.html>c</a><a href=größe.html>d</a>")
	p.plant(noEncoded, "/links/caf%C3%A9.html", "<a href=links/café.html>e</a>")
	p.plant(noEncoded, "/links/two%20words.html", "<a href='links/two words.html'>f</a>")
	p.plant(noEncoded, "/links/query.html?a=1&b=%20", "<a href='links/query.html?a=1&amp;b=%20'>g</a>")
	p.say("<a href='good.html#h%65re'>h</a><a href='good.html#old name'>i</a>")
	p.plant(noOddFragment, "/good.html#HERE", "<a href='good.html#HERE'>j</a>")
	p.plant(noOddFragment, "/good.html#old%2520name", "<a href='good.html#old%2520name'>k</a>")
	p.plant(noOddFragment, "/good.html#Old%20Name", "<a href='good.html#Old%20Name'>l</a>")
	p.say("<a href=based.html>m</a>")
	for n, then := range []string{"; url=links/later-0.html", ";URL='links/later-1.html'", ", links/later-2.html"} {
		p.say(fmt.Sprintf("<a href=refresh-%d.html>n</a>", n))
		r := s.page(fmt.Sprintf("/refresh-%d.html", n))
		r.plant(noRefresh, fmt.Sprintf("/links/later-%d.html", n), "<!doctype html><title>Later</title><meta http-equiv=Refresh content=\"600"+then+"\">")
		r.end("")
	}
	p.end("")
	for _, path := range []string{"/two words.html", "/größe.html", "/sub/deep.html"} {
		s.pages[path] = s.pages["/good.html"]
	}
	p = s.page("/based.html")
	p.say("<!doctype html><title>Based</title><base href=/sub/><a href=deep.html>a</a><a href=deep.html#here>b</a><img src=/good.png>")
	p.plant(noBased, "/sub/based.html", "<a href=based.html>c</a>")
	p.plant(noBased, "/sub/img/based.png", "<img src=img/based.png>")
	p.plant(noBased, "/sub/good.html#based", "<a href='./good.html#based'>d</a>")
	p.end("")
}
