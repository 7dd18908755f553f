package extract

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/markup"
)

func TestLinks_ByElementAndAttribute(t *testing.T) {
	for _, tt := range []struct{ rule, html, want string }{
		{"a href", `<a href="x">`, "a href /dir/x"},
		{"area href", `<map><area href=/x></map>`, "area href /x"},
		{"a name is not a link", `<a name=x>`, ""},
		{"names fold case", `<A HREF=x>`, "a href /dir/x"},
		{"2.4.1 white space around a URL", "<a href=' \t\n\f\r x \n'>", "a href /dir/x"},
		{"URL Standard 4.4: breaks within a URL", "<a href='/x\ny'>", "a href /xy"},
		{"entities", `<a href="?a=1&amp;b=2&copy=3">`, "a href /dir/page.html?a=1&b=2&copy=3"},
		{"an absolute URL", `<a href=HTTPS://Other.Test>`, "a href https://other.test/"},
		{"fragments are dropped", `<a href=x#a><a href=x#b>`, "a href /dir/x"},
		{"the page itself is not listed", `<a href=""><a href=" "><a href="#top"><img src="#"><img src="">`, ""},
		{"no URL, not listed", `<a href="mailto:a@b"><a href="javascript:x()"><img src="data:,"><a href="http://">`, ""},

		{"rel nofollow", `<a rel=nofollow href=x>`, "a href /dir/x nofollow"},
		{"rel folds case, is a set", "<a rel='noopener\tUGC NoFollow sponsored' href=x>", "a href /dir/x nofollow ugc sponsored"},
		{"rel in part is nothing", `<a rel="nofollowing" href=x>`, "a href /dir/x"},
		{"a link without nofollow wins", `<a rel=nofollow href=x><a href=x>`, "a href /dir/x"},
		{"a link without nofollow wins, first", `<a href=x><a rel=nofollow href=x>`, "a href /dir/x"},
		{"nofollow stays if all have it", `<a rel="nofollow ugc" href=x><a rel="nofollow" href=./x>`, "a href /dir/x nofollow"},

		{"link stylesheet", `<link rel=stylesheet href=x>`, "+link href /dir/x"},
		{"link alternate stylesheet", `<link rel="alternate stylesheet" href=x>`, "+link href /dir/x"},
		{"link icon", `<link rel="shortcut icon" href=/f.ico>`, "+link href /f.ico"},
		{"link apple-touch-icon", `<link rel=apple-touch-icon href=x>`, "+link href /dir/x"},
		{"link manifest", `<link rel=manifest href=x>`, "+link href /dir/x"},
		{"link preload", `<link rel=preload as=font href=x>`, "+link href /dir/x"},
		{"link modulepreload", `<link rel=modulepreload href=x>`, "+link href /dir/x"},
		{"link imagesrcset", `<link rel=preload as=image href=a imagesrcset="b 1x, c 2x">`, "+link href /dir/a; +link imagesrcset /dir/b; +link imagesrcset /dir/c"},
		{"link canonical", `<link rel=canonical href=x>`, "link href /dir/x"},
		{"link next, prev, alternate", `<link rel=next href=n><link rel=PREV href=p><link rel=alternate hreflang=de href=d>`, "link href /dir/n; link href /dir/p; link href /dir/d"},
		{"link index: an unknown word is a link", `<link rel=index href=x>`, "link href /dir/x"},
		{"link nofollow", `<link rel="next nofollow" href=x>`, "link href /dir/x nofollow"},
		{"link dns-prefetch is nothing", `<link rel=dns-prefetch href=//cdn.test><link rel="preconnect" href=//cdn.test>`, ""},
		{"link pingback is nothing", `<link rel=pingback href=/xmlrpc.php><link rel=EditURI href=/x>`, ""},
		{"link without a kind is nothing", `<link href=x><link rel="" href=x><link rel="nofollow noopener" href=x>`, ""},
		{"link preconnect stylesheet", `<link rel="preconnect stylesheet" href=x>`, "+link href /dir/x"},

		{"frame", `<frameset><frame src=x><frame src=y></frameset>`, "+frame src /dir/x; +frame src /dir/y"},
		{"iframe", `<iframe src=x></iframe>`, "+iframe src /dir/x"},
		{"iframe srcdoc", `<iframe srcdoc="<a href=x rel=nofollow><b style='background:url(y)'>"></iframe>`, "a href /dir/x nofollow; +b style /dir/y"},
		{"iframe srcdoc has the page's base, and may have its own", `<base href=/b/><iframe srcdoc="<a href=x><iframe srcdoc='<base href=c/><a href=x>'></iframe><a href=y>"></iframe><a href=z>`,
			"a href /b/x; a href /b/c/x; a href /b/y; a href /b/z"},
		{"img", `<img src=x>`, "+img src /dir/x"},
		{"img srcset, in the order of the attributes", `<img srcset="b 2x" src=a>`, "+img srcset /dir/b; +img src /dir/a"},
		{"image is img", `<image src=x>`, "+img src /dir/x"},
		{"lazy attributes", `<img src=a data-src=b data-srcset="c 1x, d 2x" data-other=e longdesc=f>`, "+img src /dir/a; +img data-src /dir/b; +img data-srcset /dir/c; +img data-srcset /dir/d"},
		{"lazy attributes of other elements", `<div data-src=x></div><iframe data-src=y></iframe><video data-poster=z></video>`, "+div data-src /dir/x; +iframe data-src /dir/y; +video data-poster /dir/z"},
		{"style attribute", `<div style="background: url( 'a.png' ) , url(b\2e png)">`, "+div style /dir/a.png; +div style /dir/b.png"},
		{"style attribute, entities", `<div style="background:url(&quot;a?b&amp;c&quot;)">`, "+div style /dir/a?b&c"},
		{"style attribute of formatting", `<b style="background:url(x)">a<p><b>b`, "+b style /dir/x"},
		{"style attribute of a link", `<a href=x style="cursor:url(y),auto">`, "a href /dir/x; +a style /dir/y"},
		{"style without a picture", `<div style="width:calc(1px + 2px)"><div style=x><div style="fill:url(#x)">`, ""},
		{"style element", `<style>@import "a.css" screen; p { background: URL(b.png) } @font-face { src: url(c.woff2) format("woff2"), local(d) }</style>`,
			"+style import /dir/a.css; +style url /dir/b.png; +style url /dir/c.woff2"},
		{"style element, base", `<base href=/b/><style>p{background:url(x)}</style>`, "+style url /b/x"},
		{"style element of no style", `<style type=text/less>@import "a";</style><style type=TEXT/CSS>@import "b";</style>`, "+style import /dir/b"},
		{"style element: image-set", `<style>p{background:image-set("a.png" 1x, url(b.png) 2x);content:"c"}</style>`, "+style image-set /dir/a.png; +style url /dir/b.png"},
		{"style element in noscript", `<head><noscript><style>p{background:url(x)}</style></noscript></head>`, "+style url /dir/x"},
		{"style element in svg", `<svg><style>p{fill:url(x.svg#a)}</style><rect fill="url(y.svg#b)" stroke="url(#c)" style="filter:url(z.svg#d)"/></svg>`,
			"+style url /dir/x.svg; +rect fill /dir/y.svg; +rect style /dir/z.svg"},
		{"style sheets in templates are inert", `<template><style>@import "x";</style><img data-src=y></template>`, ""},
		{"pictures for others", `<meta property=og:image content=/x.png><meta name=twitter:image content=/y.png>`, ""},
		{"picture source", `<picture><source srcset="a, b 2x"><img src=c></picture>`, "+source srcset /dir/a; +source srcset /dir/b; +img src /dir/c"},
		{"video and its sources", `<video src=a poster=b><source src=c><track src=d></video>`, "+video src /dir/a; +video poster /dir/b; +source src /dir/c; +track src /dir/d"},
		{"audio", `<audio src=x></audio>`, "+audio src /dir/x"},
		{"script", `<script src=x></script>`, "+script src /dir/x"},
		{"the contents of a script are not read", `<script>"<a href=x>"</script>`, ""},
		{"object", `<object data=x></object>`, "+object data /dir/x"},
		{"embed", `<embed src=x>`, "+embed src /dir/x"},
		{"input type=image", `<input type=IMAGE src=x>`, "+input src /dir/x"},
		{"input of another type", `<input src=x><input type=text src=x>`, ""},
		{"background", `<body background=a><table background=b><tr><td background=c>`, "+body background /dir/a; +table background /dir/b; +td background /dir/c"},
		{"forms and pings are not read", `<form action=x><button formaction=y><a ping=z>`, ""},
		{"svg", `<svg><a xlink:href=a></a><a href=b xlink:href=c></a><image xlink:href=d /><use href="s.svg#i"/><use href="#j"/><script href=e></script></svg>`,
			"a xlink:href /dir/a; a href /dir/b; +image xlink:href /dir/d; +use href /dir/s.svg; +script href /dir/e"},
		{"svg filters", `<svg><filter><feImage href=x /></filter><title>no</title></svg>`, "+feImage href /dir/x"},

		{"AMP", `<amp-img src=a srcset="b 2x"><amp-video src=c poster=d></amp-video><amp-iframe src=e></amp-iframe>`,
			"+amp-img src /dir/a; +amp-img srcset /dir/b; +amp-video src /dir/c; +amp-video poster /dir/d; +amp-iframe src /dir/e"},
		{"MathML", `<math href=a><mrow href=b xlink:href=c><mi xlink:href=d>x</mi></mrow></math>`,
			"math href /dir/a; mrow href /dir/b; mi xlink:href /dir/d"},
		{"noframes is read, as far as it goes", `<frameset><frame src=a><noframes><body><a href=b>x</a><!-- <a href=c></noframes></frameset>`, "+frame src /dir/a; a href /dir/b"},
		{"noframes in a body, and within another", `<p>x<noframes><base href=/no/><img src=a><noframes><a href=b></noframes><a href=c>`, "+img src /dir/a; a href /dir/c"},
		{"modules in the page", `<script type=module src=a>import "./no.js"</script><script type=Module>import b from "./b.js";export*from'/c.js'</script><script>import "./no.js"</script>`,
			"+script src /dir/a; +script import /dir/no.js; +script import /dir/b.js; +script import /c.js"},
		{"noscript is read", `<noscript><a href=x></a><img src=y></noscript>`, "a href /dir/x; +img src /dir/y"},
		{"noscript in the head is read", `<head><noscript><link rel=stylesheet href=x></noscript></head>`, "+link href /dir/x"},
		{"template is inert", `<template><a href=x></a><base href=/b/></template><a href=y>`, "a href /dir/y"},
		{"a shadow root is not", `<div><template shadowrootmode=open><a href=x></a></template></div>`, "a href /dir/x"},
		{"comments are not read", `<!-- <a href=x> -->`, ""},

		{"a link and a requisite are two", `<a href=x><img src=x><a href=x>`, "a href /dir/x; +img src /dir/x"},
		{"document order", `<img src=a><a href=b><link rel=next href=c><img src=a>`, "+img src /dir/a; a href /dir/b; link href /dir/c"},
		{"one by key, as first written", `<a href=/%7Ea><a href=/~a><a href=/%7ea>`, "a href /%7Ea"},
	} {
		assert.Equalf(t, tt.want, lines(extract(t, tt.html)), "%s: %s", tt.rule, tt.html)
	}
}

func TestBase_HTML_2_4_3(t *testing.T) {
	for _, tt := range []struct{ rule, html, base, want string }{
		{"none", `<a href=x>`, pageURL, "a href /dir/x"},
		{"relative to the page", `<base href="sub/"><a href=x>`, "http://h.test/dir/sub/", "a href /dir/sub/x"},
		{"applies to links before it", `<link rel=next href=x><base href=/b/>`, "http://h.test/b/", "link href /b/x"},
		{"the first with href wins", `<base target=_top><base href=/b/><base href=/c/><a href=x>`, "http://h.test/b/", "a href /b/x"},
		{"the first with href wins, though malformed", `<base href="http://"><base href=/c/><a href=x>`, pageURL, "a href /dir/x"},
		{"in the body", `<body><p><base href=/b/><a href=x>`, "http://h.test/b/", "a href /b/x"},
		{"white space", "<base href=' /b/\n'><a href=x>", "http://h.test/b/", "a href /b/x"},
		{"data: is as if absent", `<base href="data:,x"><a href=x>`, pageURL, "a href /dir/x"},
		{"javascript: is as if absent", `<base href="JavaScript:x"><a href=x>`, pageURL, "a href /dir/x"},
		{"off the web", `<base href="file:///C:/"><a href=x><a href=http://h.test/y>`, "", "a href /y"},
		{"another host", `<base href="//cdn.test"><img src=x>`, "http://cdn.test/", "+img src http://cdn.test/x"},
		{"a fragment is of the base, not of the page", `<base href=/b/><a href="#x"><a href="">`, "http://h.test/b/", "a href /b/"},
		{"empty", `<base href=""><a href="#x"><a href=x>`, pageURL, "a href /dir/x"},
	} {
		page := extract(t, tt.html)
		if got := lines(page); got != tt.want || page.Base.String() != tt.base {
			t.Errorf("%s: %s\n got %q at %q\nwant %q at %q", tt.rule, tt.html, got, page.Base, tt.want, tt.base)
		}
	}
}

func TestRefresh_HTML_4_2_5_3(t *testing.T) {
	for _, tt := range []struct {
		value, ref string
		ok         bool
	}{
		{"0; url=x", "x", true}, {"5;URL = x", "x", true}, {"  0  ,  x", "x", true}, {"0 x", "x", true},
		{"0;x", "x", true}, {"0.5; url=x", "x", true}, {".5; url=x", "x", true}, {"1.2.3;url=x", "x", true},
		{"0; url='x'y", "x", true}, {`0; url="x y" z`, "x y", true}, {`0; url="x`, "x", true},
		{`0; "x"`, "x", true}, {"0; url x", "url x", true}, {"0; url", "url", true},
		{"0; up/down", "up/down", true}, {"0; ur", "ur", true}, {"0; URLs/x", "URLs/x", true},
		{"0; url=url=x", "url=x", true}, {"0; url=x;y", "x;y", true}, {"0; url=", "", true}, {"0", "", false},
		{"0;", "", false}, {"0 ; ", "", false}, {"", "", false}, {"url=x", "", false}, {"; url=x", "", false},
		{"-1; url=x", "", false}, {"0x; url=x", "", false}, {"0\u00a0; url=x", "", false},
	} {
		if from, to, _, ok := markup.RefreshURL(tt.value); tt.value[from:to] != tt.ref || ok != tt.ok {
			t.Errorf("%q: %q %t; want %q %t", tt.value, tt.value[from:to], ok, tt.ref, tt.ok)
		}
	}
}

func TestRefresh_ElementAndField(t *testing.T) {
	const want = "Refresh /dir/a refresh; a href /dir/b; meta content /dir/c refresh"
	page := extract(t, `<a href=b><meta http-equiv=REFRESH content="0;url=c"><meta http-equiv=refresh content=5><meta name=refresh content="0;d">`, "Refresh", "0; url=a")
	assert.Equal(t, want, lines(page))
	assert.Equal(t, "a href /dir/b refresh", lines(extract(t, `<a href=b><meta http-equiv=refresh content="0;url=b">`)), "a link that is also a refresh")
}
