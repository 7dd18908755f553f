package scoreboard

import (
	"curtsy/crawler/crawltest"
)

// requisites are what HTML embeds.
func (r *builder) requisites() {
	r.show("/html/images.html", "Images", `
<img src="img/plain.png" data-want="{{want img/plain.png}}">
<img src=img/unquoted.gif data-want="{{want img/unquoted.gif}}">
<IMG SRC='img/single.jpg' DATA-WANT='{{want img/single.jpg}}'>
<img alt="a > b" src = " img/space.png
 " data-want="{{want img/space.png}}">
<img src="img/drawing.svg" data-want="{{want img/drawing.svg}}">
<img src="/html/img/rooted.png?size=2&amp;mode=fit" data-want="{{want img/rooted.png?size=2&mode=fit}}">
<img src="&#105;mg/entity&#46;png" data-want="{{want img/entity.png}}">
<img src="img/twice.png" data-want="{{want img/twice.png}}"><img src="./img/../img/twice.png#again" data-want="{{want img/twice.png}}">
<img src="//torture.test/html/img/relative-scheme.png" data-want="{{want img/relative-scheme.png}}">
<img src="http://torture.test/html/img/absolute.png" data-want="{{want img/absolute.png}}">
<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==" data-want="1x1">
<input type="image" src="img/button.png" alt="" data-want-box="{{want img/button.png}}">
<noscript><img src="img/noscript.png" alt="{{want img/noscript.png}}"></noscript>
<template><img src="img/template.png" alt="{{want img/template.png}}"></template>`)

	r.show("/html/sets.html", "Sets of sources", `
<img src="img/small.png" srcset="img/one.png 1x, img/two.png 2x" data-want="{{want img/one.png}}" alt="{{want img/small.png}} {{want img/two.png}}">
<img srcset="img/wide,comma.png 400w,img/wider.png 800w" sizes="400px" alt="{{want img/wide,comma.png}} {{want img/wider.png}}">
<img src="img/fallback.png" srcset="
   img/lines.png
   1x ,
   img/lines2.png   3x" data-want="{{want img/lines.png}}" alt="{{want img/fallback.png}} {{want img/lines2.png}}">
<picture>
<source media="(min-width: 1px)" type="image/png" srcset="img/picture.png" >
<source srcset="img/never.png 1x, img/never2.png 2x">
<img src="img/picture-fallback.png" data-want="{{want img/picture.png}}" alt="{{want img/never.png}} {{want img/never2.png}} {{want img/picture-fallback.png}}">
</picture>`)

	r.show("/html/lazy.html", "Lazy images", `
<img class="lazy" data-src="img/lazy.png" data-want="{{want img/lazy.png}}">
<img class="lazy" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==" data-srcset="img/lazy1.png 1x, img/lazy2.png 2x" data-want="{{want img/lazy1.png}}" alt="{{want img/lazy2.png}}">
<img loading="lazy" src="img/later.png" data-want="{{want img/later.png}}">
<script>
for (const img of document.querySelectorAll(".lazy")) {
  if (img.dataset.src) img.src = img.dataset.src;
  if (img.dataset.srcset) img.srcset = img.dataset.srcset;
}
</script>`)
	r.heads()
	r.frames()
}

// heads is a page whose head has what heads can have.
func (r *builder) heads() {
	r.shown = append(r.shown, "/html/head.html")
	r.put("/html/head.css", crawltest.Page{Body: ":root { --style-head: 1 }"})
	r.put("/html/alternate.css", crawltest.Page{Body: ":root { --style-alternate: 1 }"})
	r.put("/html/print.css", crawltest.Page{Body: "body { color: black; background: url(img/print.png) }"})
	for _, name := range []string{"script", "deferred", "async"} {
		r.put("/html/"+name+".js", crawltest.Page{Body: "(window.ran = window.ran || []).push(\"" + name + "\");\n"})
	}
	r.put("/html/site.webmanifest", crawltest.Page{Type: "application/manifest+json", Body: `{"name": "Ordeal", "start_url": "head.html?from=home", "icons": [
 {"src": "img/icon-192.png", "sizes": "192x192", "type": "image/png"}, {"src": "\/html\/img\/icon-512.png"}],
 "screenshots": [{"src": "img/screen.png"}]}`})
	r.html("/html/head.html?from=home", whole("The head, from home", "", ""))
	r.html("/html/head.html", `<!doctype html><html lang=en><head><meta charset=utf-8><title>The head</title>
<link rel="stylesheet" href="{{embed head.css}}">
<link rel="alternate stylesheet" title="other" href="{{embed alternate.css}}">
<link rel=stylesheet media=print href={{embed print.css}}>
<link rel="shortcut icon" href="img/favicon.png" data-want="{{want img/favicon.png}}">
<link rel="apple-touch-icon" sizes="180x180" href="img/touch.png" data-want="{{want img/touch.png}}">
<link rel="mask-icon" href="img/mask.svg" data-want="{{want img/mask.svg}}">
<link rel="manifest" href="{{embed site.webmanifest}}">
<link rel="preload" as="image" href="img/preload.png" imagesrcset="img/preload.png 1x, img/preload2.png 2x" data-want="{{want img/preload.png}}">
<meta property="og:image" content="http://torture.test/html/img/og.png">
<meta name="twitter:image" content="http://torture.test/html/img/og.png">
<script src="{{embed script.js}}"></script>
<script defer src="{{embed deferred.js}}"></script>
<script async src="{{embed async.js}}"></script>
<script type="application/ld+json">{"@context": "http://schema.test/", "url": "http://torture.test/only-in-json-ld", "image": "only-in-json-ld.png"}</script>
</head><body data-page={{me}} data-styles="head" data-scripts="script deferred async" background="img/body.png">
<a href="img/og.png">{{want img/og.png}}</a> {{want img/print.png}} {{want img/body.png}} {{want img/preload2.png}}
{{want img/icon-192.png}} {{want img/icon-512.png}} {{want img/screen.png}}
<a href="head.html?from=home" data-want-page="{{page head.html?from=home}}">from home</a>
<table background="img/table.png" data-css="background-image" data-want="{{want img/table.png}}"><tr><td background="img/cell.png" data-css="background-image" data-want="{{want img/cell.png}}">cell</td></tr></table>
</body></html>`)
}

// frames embeds documents.
func (r *builder) frames() {
	for _, name := range []string{"frame", "framed", "embedded", "nested", "left", "right"} {
		r.html("/html/"+name+".html",
			whole("A frame: "+name, "", `<img src="img/`+name+`.png" data-want="{{want img/`+name+`.png}}">`))
	}
	r.html("/html/outer.html",
		whole("A frame in a frame", "", `<iframe src="nested.html" data-want-page="{{page nested.html}}"></iframe>`))
	r.show("/html/frames.html", "Documents within", `
<iframe src="frame.html" data-want-page="{{page frame.html}}"></iframe>
<iframe src="outer.html" data-want-page="{{page outer.html}}"></iframe>
<iframe srcdoc="&lt;img src=&quot;img/srcdoc.png?a=1&amp;amp;b=2&quot; data-want=&quot;{{want img/srcdoc.png?a=1&b=2}}&quot;&gt;&lt;a href='frame.html' data-want-page='{{page frame.html}}'&gt;frame&lt;/a&gt;"></iframe>
<iframe src="about:blank"></iframe>
<iframe src="javascript:void 0"></iframe>
<object data="framed.html" type="text/html" width="100" height="50">{{page framed.html}}</object>
<object data="img/object.png" type="image/png" data-want-box="{{want img/object.png}}">no picture</object>
<object data="img/object.svg" type="image/svg+xml" data-want-box="{{want img/object.svg}}">no drawing</object>
<embed src="img/embed.svg" type="image/svg+xml" width="40" height="20">{{want img/embed.svg}}
<embed src="embedded.html" type="text/html" width="40" height="20">{{page embedded.html}}`)
	r.shown = append(r.shown, "/html/frameset.html")
	r.html("/html/frameset.html", `<html><head><title>A set of frames</title></head><frameset cols="50%,50%" data-page="{{me}}">
<frame src="left.html" data-want-page="{{page left.html}}"><frame src="right.html" data-want-page="{{page right.html}}"></frameset></html>`)
}

// media are sounds, films and drawings.
func (r *builder) media() {
	r.show("/media/sounds.html", "Sounds and films", `
<audio src="plain.wav" preload="metadata" data-want-seconds="{{want plain.wav}}"></audio>
<audio preload="metadata" controls data-want-seconds="{{want first.wav}}"><source src="first.wav" type="audio/wav"><source src="second.wav" type="audio/wav">{{want second.wav}}</audio>
<video src="film.wav" poster="poster.png" preload="metadata" data-want-seconds="{{want film.wav}}" data-want-poster="{{want poster.png}}">
<track kind="subtitles" srclang="en" src="words.vtt" default data-want-cues="{{want words.vtt}}"></video>`)

	r.put("/media/sprite.svg", crawltest.Page{Type: "image/svg+xml", Body: `<svg xmlns="http://www.w3.org/2000/svg"><symbol id="star" viewBox="0 0 10 10"><rect width="10" height="10"/></symbol></svg>`})
	r.put("/media/chart.svg", crawltest.Page{Type: "image/svg+xml",
		Body: `<?xml version="1.0"?>` + "\n" + `<?xml-stylesheet href="chart.css" type="text/css"?>` + "\n" +
			svg(90, 60, `<style>@import "chart2.css"; .b { fill: url(#grad) }</style><defs><linearGradient id="grad"><stop stop-color="red"/></linearGradient></defs>`+
				`<image xlink:href="in-svg.png" width="20" height="20"/><image href="in-svg2.png?a=1&amp;b=2" width="20" height="20"/><use href="#part"/><rect class="b" id="part" width="5" height="5"/>`+
				`<a xlink:href="../html/images.html"><text y="50">images</text></a>`)})
	r.put("/media/chart.css", crawltest.Page{Body: "rect { stroke: black; }"})
	r.put("/media/chart2.css", crawltest.Page{Body: "text { background: url(in-svg-css.png) }"})
	r.show("/media/drawings.html", "Drawings", `
<svg width="200" height="40">
<image href="inline.png" width="20" height="20" data-want="{{want inline.png}}"></image>
<image xlink:href="inline-x.png" x="30" width="20" height="20" data-want="{{want inline-x.png}}"></image>
<use href="{{embed sprite.svg}}#star" x="60" width="20" height="20"></use>
<use xlink:href="#local"></use>
<defs><pattern id="dots" width="4" height="4"><image href="pattern.png" width="4" height="4" data-want="{{want pattern.png}}"></image></pattern>
<filter id="f"><feImage href="fe.png" data-want="{{want fe.png}}"></feImage></filter><g id="local"><rect width="5" height="5" fill="url(#dots)"></rect></g></defs>
<a href="../html/images.html" data-want-page="{{page ../html/images.html}}"><text y="20">images</text></a>
</svg>
<a href="chart.svg">a document of its own</a>
<object data="{{embed chart.svg}}" type="image/svg+xml" data-want-box="90x60">no drawing</object>
{{embed chart.css}} {{embed chart2.css}} {{want in-svg.png}} {{want in-svg2.png?a=1&b=2}} {{want in-svg-css.png}}`)
}
