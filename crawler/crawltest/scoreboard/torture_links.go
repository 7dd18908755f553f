package scoreboard

import (
	"curtsy/crawler/crawltest"
)

// links are the ways to write a link.
func (r *builder) links() {
	for _, name := range []string{"plain", "unquoted", "single", "upper", "padded", "entity", "proto", "absolute",
		"scheme", "back", "area", "next", "cited", "form", "refresh", "ping"} {
		r.html("/links/"+name+".html",
			whole("A target: "+name, "", `<p id="part">A part of it.</p><a href="." data-want-page="{{page .}}">back</a>`))
	}
	r.html("/links/?only=query", whole("Only a query", "", ""))
	r.html("/links/entity.html?a=1&copy=2&lt=3", whole("A query with entities", "", ""))
	r.show("/links/", "Links", `
<a href="plain.html" data-want-page="{{page plain.html}}">plain</a>
<a href=unquoted.html data-want-page={{page unquoted.html}}>unquoted</a>
<A HREF='single.html' data-want-page='{{page single.html}}'>single quotes</A>
<a
 HREF
 = "upper.html" data-want-page="{{page upper.html}}">upper case and space</a>
<a href="  pad
ded.html	" data-want-page="{{page padded.html}}">space and a line's end within</a>
<a href="entity&period;html&quest;a=1&amp;copy=2&amp;lt=3" data-want-page="{{page entity.html?a=1&copy=2&lt=3}}">entities</a>
<a href="&#x65;ntity&#46;html" data-want-page="{{page entity.html}}">numbers</a>
<a href="//torture.test/links/proto.html" data-want-page="{{page proto.html}}">without scheme</a>
<a href="http://torture.test/links/absolute.html#part" data-want-page="{{page absolute.html}}">absolute</a>
<a href="HTTP://torture.test/links/scheme.html" data-want-page="{{page scheme.html}}">scheme in upper case</a>
<a href="\links\back.html" data-want-page="{{page back.html}}">backslashes</a>
<a href="" data-want-page="{{me}}">empty</a> <a href="#top" data-want-page="{{me}}">top</a> <a href="#:~:text=links" data-want-page="{{me}}">text fragment</a>
<a href="plain.html#part" data-want-page="{{page plain.html}}">part</a> <a href="plain.html#:~:text=target" data-want-page="{{page plain.html}}">text of another</a>
<a href="?only=query" data-want-page="{{page ?only=query}}">query only</a> <a href="?only=query#part" data-want-page="{{page ?only=query}}">and part</a>
<a href="plain.html" href="/links/nowhere-twice.html" data-want-page="{{page plain.html}}">the first of two</a>
<a href="mailto:someone@torture.test">mail</a> <a href="javascript:void(0)">script</a> <a href="data:text/html,hello">data</a> <a href="tel:+1">call</a> <a href="about:blank">blank</a>
<a href="ftp://torture.test/file">ftp</a> <a href="https://torture.test:444/">another port</a> <a href="http://[bad">no URL</a> <a href="http://">no host</a>
<!-- <a href="in-comment.html">in a comment</a> -->
<script>const text = '<a href="in-script.html">in a script</a>';</script>
<textarea><a href="in-textarea.html">in a text area</a></textarea>
<map name="m"><area shape="rect" coords="0,0,9,9" href="area.html" data-want-page="{{page area.html}}"></map>
<link rel="next" href="next.html" data-want-page="{{page next.html}}"> <link rel="canonical" href="http://torture.test/links/">
<blockquote cite="cited.html">a quotation, <a href="cited.html" data-want-page="{{page cited.html}}">from</a></blockquote>
<form action="form.html"><button>to the form</button></form> <a href="form.html" data-want-page="{{page form.html}}">form</a>
<a href="plain.html" ping="ping.html" data-want-page="{{page plain.html}}">ping</a> <a href="ping.html" data-want-page="{{page ping.html}}">pinged</a>
<a href="http://neighbour.test/page.html">the neighbour</a> <a href="//elsewhere.test/">elsewhere</a> <a href="http://neighbour.test">the neighbour's home</a>`)
	r.lack("scope", false, "http://neighbour.test/page.html", "http://neighbour.test/")
	r.shown = append(r.shown, "/links/hurry.html")
	r.html("/links/hurry.html", `<!doctype html><title>A refresh</title><meta http-equiv="refresh" content="3600; URL='refresh.html#part'"><body data-page="{{me}}"><a href="refresh.html" data-want-page="{{page refresh.html}}">on</a>`)
}

// bases are pages with a base element.
func (r *builder) bases() {
	r.html("/base/deep/er/target.html", whole("Below the base", "", ""))
	r.html("/base/deep/er/frame.html", whole("A frame below the base", "", ""))
	r.put("/base/deep/er/base.css",
		crawltest.Page{Body: ":root { --style-base: 1 }\n#bg { background-image: url(in-sheet.png) }\n"})
	page := func(target, base, resolved string) {
		r.shown = append(r.shown, target)
		r.html(target, `<!DOCTYPE html><html><head><meta charset=utf-8><base href="`+base+`" target="_self"><title>A base</title><base href="/second/is/ignored/">
<link rel="stylesheet" href="base.css"></head><body data-page="{{me}}" data-styles="base">
<img src="base.png" data-want="{{want /base/deep/er/base.png}}"> <i id="bg" data-css="background-image" data-want="{{want /base/deep/er/in-sheet.png}}"></i>
<i style="background-image: url(base-style.png)" data-css="background-image" data-want="{{want /base/deep/er/base-style.png}}"></i>
<a href="target.html" data-want-page="{{page /base/deep/er/target.html}}">target</a> <a href="#top">top, of the base</a>
<a href="../../../links/" data-want-page="{{page /links/}}">links</a> <iframe src="frame.html" data-want-page="{{page /base/deep/er/frame.html}}"></iframe>
{{embed /base/deep/er/base.css}} {{link `+resolved+`}}</body></html>`)
	}
	page("/base/rooted.html", "/base/deep/er/", "/base/deep/er/")
	page("/base/relative.html", "deep/er/what.html?x=1", "/base/deep/er/what.html?x=1")
	r.lack("error", false, "/base/deep/er/what.html?x=1")
	page("/base/absolute.html", "http://torture.test/base/deep/er/", "/base/deep/er/")
	page("/base/schemeless.html", "//torture.test/base/deep/er/", "/base/deep/er/")
	r.put("/base/deep/er/", crawltest.Page{Type: "text/html", Body: "<title>The base</title>"})
	r.shown = append(r.shown, "/base/late.html", "/base/away.html")
	r.html("/base/late.html", `<title>Late</title><body data-page="{{me}}"><a href="deep/er/target.html" data-want-page="{{page deep/er/target.html}}">target</a><!-- <base href="/nowhere/"> --><script>"<base href='/nowhere/'>"</script>`)
	r.html("/base/away.html", `<!DOCTYPE html><html><head><title>A base elsewhere</title><base href="//cdn.test/based/"></head><body data-page="{{me}}">
<img src="pic.png" data-want="{{want //cdn.test/based/pic.png}}"> <a href="http://torture.test/links/" data-want-page="{{page /links/}}">links</a></body></html>`)
}

// redirects are links that lead through them.
func (r *builder) redirects() {
	moved := func(from string, status int, to string) { r.put(from, crawltest.Page{Status: status, Redirect: to}) }
	moved("/r/1", 301, "/r/2")
	moved("/r/2", 302, "3?x=1")
	moved("/r/3?x=1", 307, "//torture.test/r/end.html")
	moved("/R/End.HTML", 301, "/r/end.html")
	moved("/r/part", 308, "/r/end.html#part")
	moved("/r/see", 303, "/r/end.html")
	moved("/r/loop", 302, "/r/pool")
	moved("/r/pool", 302, "/r/loop")
	moved("/r/self", 301, "/r/self")
	moved("/r/away", 302, "http://neighbour.test/page.html")
	moved("/r/gone", 302, "/r/not-there.html")
	moved("/r/private", 302, "/private/page.html")
	moved("/r/pic.png", 302, "/r/real/pic.png")
	moved("/r/far.png", 301, "//cdn.test/far.png")
	moved("/r/style", 302, "/r/real/style.css")
	moved("/r/frame", 302, "/r/end.html")
	r.put("/r/real/style.css",
		crawltest.Page{Body: ":root { --style-moved: 1 }\n#moved { background-image: url(bg.png) }\n"})
	r.html("/r/end.html", whole("The end of redirects", "",
		`<p id="part">part</p><a href="real/" data-want-page="{{page real/}}">relative to the end</a>`))
	r.html("/r/real/", whole("Real", "", ""))
	r.show("/r/", "Redirects", `<link rel="stylesheet" href="style">{{embed style}}
<a href="1" data-want-page="{{to 1 end.html}}">a chain of three</a> <a href="1#part" data-want-page="{{to 1 end.html}}">to a part</a>
<a href="/R/End.HTML" data-want-page="{{to /R/End.HTML end.html}}">case</a> <a href="part" data-want-page="{{to part end.html}}">part</a> <a href="see" data-want-page="{{to see end.html}}">see</a>
<a href="end.html" data-want-page="{{page end.html}}">end</a> <iframe src="frame" data-want-page="{{to frame end.html}}"></iframe>
<a href="{{link loop}}">loop</a> <a href="{{link self}}">self</a> <a href="{{link away}}">away</a> <a href="{{link gone}}">gone</a> <a href="{{link private}}">private</a>
<img src="{{embed pic.png}}" data-want="{{want real/pic.png}}"> <img src="{{embed far.png}}" data-want="{{want //cdn.test/far.png}}">
<i id="moved" data-css="background-image" data-want="{{want real/bg.png}}"></i>
<script>document.body.dataset.styles = "moved"</script>`)
	r.lack("error", false, "/r/loop", "/r/pool", "/r/self", "/r/gone", "/r/not-there.html")
	r.lack("scope", false, "/r/away")
	r.lack("robots", false, "/r/private")
}
