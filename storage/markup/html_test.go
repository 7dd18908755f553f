package markup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHTML_Places(t *testing.T) {
	tryPlaces(t, HTML, options(t), []placeTest{
		{"a, area", `<a href=x.html>x</a><area href='y'>`, "link a href x.html; link area href y", `<a href="r1.x">x</a><area href="r2.x">`},
		{"img", `<img src="a.png" srcset="a.png 1x, b,c.png 2x">`, "embed img src a.png; embed img srcset a.png; embed img srcset b,c.png", `<img src="r1.x" srcset="r2.x 1x, r3.x 2x">`},
		{"picture", `<picture><source srcset=a.webp type=image/webp><img src=b></picture>`, "embed source srcset a.webp; embed img src b", `<picture><source srcset="r1.x" type=image/webp><img src="r2.x"></picture>`},
		{"srcset: descriptors no browser takes", `<img srcset="a 1q, b 2x">`, "embed img srcset b", `<img srcset="a 1q, r1.x 2x">`},
		{"image is img", `<image src=a>`, "embed img src a", `<image src="r1.x">`},
		{"lazy", `<img src=data:, data-src=a data-srcset="b 1w, c 2w" data-original=d data-lazy-src=e>`, "lazy img data-src a; lazy img data-srcset b; lazy img data-srcset c; lazy img data-original d; lazy img data-lazy-src e",
			`<img src=data:, data-src="r1.x" data-srcset="r2.x 1w, r3.x 2w" data-original="r4.x" data-lazy-src="r5.x">`},
		{"lazy backgrounds", `<div data-bg="url(a)" data-background-image="b">`, "lazy div data-bg a; lazy div data-background-image b", `<div data-bg="url(r1.x)" data-background-image="r2.x">`},
		{"style attribute", `<p style="background:url(a.png)">`, "embed p style a.png", `<p style="background:url(r1.x)">`},
		{"style attribute, entities and quotes", `<p style="background:url(&quot;a&amp;b&quot;);content:'&eacute;'">`, "embed p style a&b", `<p style="background:url(&#34;r1.x&#34;);content:'&eacute;'">`},
		{"style attribute in single quotes", `<p style='background:url("a")'>`, "embed p style a", `<p style='background:url(&#34;r1.x&#34;)'>`},
		{"style attribute without quotes", `<p style=background:url("a");font-family:"b">`, "embed p style a", `<p style="background:url(&#34;r1.x&#34;);font-family:&quot;b&quot;">`},
		{"style element", `<style>@import "a.css"; p{background:url(b)}</style>`, "style style import a.css; embed style url b", `<style>@import "r1.x"; p{background:url(r2.x)}</style>`},
		{"a style without CSS", `<style type=text/less>@import "a.less";</style>`, "", `<style type=text/less>@import "a.less";</style>`},
		{"video", `<video src=a poster=b><source src=c><track src=d></video><audio src=e></audio>`, "embed video src a; embed video poster b; embed source src c; embed track src d; embed audio src e",
			`<video src="r1.x" poster="r2.x"><source src="r3.x"><track src="r4.x"></video><audio src="r5.x"></audio>`},
		{"object, embed, applet", `<object data=a></object><embed src=b><applet archive=c></applet>`, "embed object data a; embed embed src b; embed applet archive c", `<object data="r1.x"></object><embed src="r2.x"><applet archive="r3.x"></applet>`},
		{"frames", `<iframe src=a></iframe><frameset><frame src=b longdesc=c></frameset>`, "frame iframe src a; frame frame src b; cite frame longdesc c", `<iframe src="r1.x"></iframe><frameset><frame src="r2.x" longdesc="r3.x"></frameset>`},
		{"srcdoc", `<iframe srcdoc="<img src=a><a href='b&amp;amp;c'><p title=&quot;é&quot;>"></iframe>`, "embed img src a; link a href b&c", `<iframe srcdoc="<img src=&#34;r1.x&#34;><a href=&#34;r2.x&#34;><p title=&quot;é&quot;>"></iframe>`},
		{"srcdoc in srcdoc", `<iframe srcdoc='<iframe srcdoc="&lt;a href=x>">'></iframe>`, "link a href x", `<iframe srcdoc='<iframe srcdoc="&lt;a href=&amp;#34;r1.x&amp;#34;>">'></iframe>`},
		{"link by rel", `<link rel=stylesheet href=a><link rel="shortcut icon" href=b><link rel=manifest href=c><link rel=next href=d><link rel=preconnect href=//e><link rel=preload as=image imagesrcset="f 1x" href=g>`,
			"style link href a; embed link href b; manifest link href c; link link href d; service link href //e; embed link imagesrcset f; embed link href g",
			`<link rel=stylesheet href="r1.x"><link rel="shortcut icon" href="r2.x"><link rel=manifest href="r3.x"><link rel=next href="r4.x"><link rel=preconnect href="r5.x"><link rel=preload as=image imagesrcset="r6.x 1x" href="r7.x">`},
		{"script", `<script src=a></script><script>document.write("<img src=b>")</script>`, "script script src a", `<script src="r1.x"></script><script>document.write("<img src=b>")</script>`},
		{"input", `<input type=IMAGE src=a><input type=text src=b>`, "embed input src a", `<input type=IMAGE src="r1.x"><input type=text src=b>`},
		{"background", `<body background=a><table background=b><tr background=c><td background=d>`, "embed body background a; embed table background b; embed tr background c; embed td background d", `<body background="r1.x"><table background="r2.x"><tr background="r3.x"><td background="r4.x">`},
		{"refresh", `<meta http-equiv=Refresh content="5; URL='a'"><meta http-equiv=refresh content=0;b><meta http-equiv=refresh content=0;url=c>`, "refresh meta content a; refresh meta content b; refresh meta content c",
			`<meta http-equiv=Refresh content="5; URL='r1.x'"><meta http-equiv=refresh content="0;url=r2.x"><meta http-equiv=refresh content="0;url=r3.x">`},
		{"forms", `<form action=/a method=Post><button formaction=b></form><form action=c>`, "service form action /a; service button formaction b; query form action c", `<form action="r1.x" method=Post><button formaction="r2.x"></form><form action="r3.x">`},
		{"cite", `<blockquote cite=a><q cite=b><ins cite=c><del cite=d>`, "cite blockquote cite a; cite q cite b; cite ins cite c; cite del cite d", `<blockquote cite="r1.x"><q cite="r2.x"><ins cite="r3.x"><del cite="r4.x">`},
		{"SVG in a page", `<svg><image href=a /><use xlink:href="b#c"/><use href="#d"/><feImage href=e /><a href=f>g</a><script href=h /><path fill="url(#p)" filter="url(i#x)"/></svg><img src=j>`,
			"embed image href a; embed use xlink:href b#c; embed feImage href e; link a href f; script script href h; embed path filter i#x; embed img src j",
			`<svg><image href="r1.x" /><use xlink:href="r2.x"/><use href="#d"/><feImage href="r3.x" /><a href="r4.x">g</a><script href="r5.x" /><path fill="url(#p)" filter="url(r6.x)"/></svg><img src="r7.x">`},
		{"style in SVG", `<svg><style>a{fill:url(&quot;x&quot;)}</style><style><![CDATA[b{fill:url(y)}]]></style></svg>`, "embed style url x; embed style url y", `<svg><style>a{fill:url(&#34;r1.x&#34;)}</style><style><![CDATA[b{fill:url(r2.x)}]]></style></svg>`},
		{"SVG is over", `<div><svg><g></div><style>a{b:url(x)}</style>`, "embed style url x", `<div><svg><g></div><style>a{b:url(r1.x)}</style>`},
		{"CDATA only in SVG", `<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=y>]]>`, "", `<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=y>]]>`},
	})
}

// HTML Standard 13.2.5: spellings of tags and attributes.
func TestHTML_Spellings(t *testing.T) {
	tryPlaces(t, HTML, options(t), []placeTest{
		{"upper case and white space", "<IMG\n\tSRC \f=\r 'a' >", "embed img src a", "<IMG\n\tSRC \f=\r \"r1.x\" >"},
		{"no white space between attributes", `<img src="a"srcset='b'alt=x>`, "embed img src a; embed img srcset b", `<img src="r1.x"srcset='r2.x'alt=x>`},
		{"the first of two counts", `<a href=a href=b HREF=c>`, "link a href a", `<a href="r1.x" href=b HREF=c>`},
		{"slashes between", `<a/href=x/ >`, "link a href x/", `<a/href="r1.x" >`},
		{"a slash that ends nothing", `<a href=x/>`, "link a href x/", `<a href="r1.x">`},
		{"entities in values", `<a href="?a=1&amp;b=2&copy=3&#x41;">`, "link a href ?a=1&b=2&copy=3A", `<a href="r1.x">`},
		{"an end tag has no attributes", `</a href=x><a href=y>`, "link a href y", `</a href=x><a href="r1.x">`},
		{"a tag that does not end", `<a href=x><a href="y`, "link a href x", `<a href="r1.x"><a href="y`},
		{"comments", `<!-- <a href=x> --><!--><a href=a><!---><a href=b><!-- --!><a href=c>`, "link a href a; link a href b; link a href c", `<!-- <a href=x> --><!--><a href="r1.x"><!---><a href="r2.x"><!-- --!><a href="r3.x">`},
		{"conditional comments", `<!--[if IE]><img src=x><![endif]--><![if !IE]><img src=y><![endif]>`, "embed img src y", `<!--[if IE]><img src=x><![endif]--><![if !IE]><img src="r1.x"><![endif]>`},
		{"raw text", `<title><a href=a></title><textarea><a href=b></textarea><xmp><a href=c></xmp><iframe><a href=d></iframe><noscript><a href=e></noscript><plaintext><a href=f>`, "link a href e",
			`<title><a href=a></title><textarea><a href=b></textarea><xmp><a href=c></xmp><iframe><a href=d></iframe><noscript><a href="r1.x"></noscript><plaintext><a href=f>`},
		{"scripts that hide their end", `<script><!-- <script> </script> <a href=x> --></script><a href=y>`, "link a href y", `<script><!-- <script> </script> <a href=x> --></script><a href="r1.x">`},
		{"template", `<template><a href=x><template><a href=y></template><a href=z></template><a href=w><template shadowrootmode=open><a href=v></template>`, "link a href w; link a href v",
			`<template><a href=x><template><a href=y></template><a href=z></template><a href="r1.x"><template shadowrootmode=open><a href="r2.x"></template>`},
		{"unchanged attributes", `<a href="#x"><a href=""><img src=""><img src="#y"><a href="javascript:x()"><img src="DATA:image/png,"><iframe src=about:blank>`, "",
			`<a href="#x"><a href=""><img src=""><img src="#y"><a href="javascript:x()"><img src="DATA:image/png,"><iframe src=about:blank>`},
		{"other schemes", `<a href=mailto:a@b>`, "link a href mailto:a@b", `<a href="r1.x">`},
		{"an attribute without a value", `<base href=/b/><a href>`, "base base href /b/; link a href", `<base href="r1.x"><a href="r2.x">`},
		{"octets that are not UTF-8", "<a href=\"\xff\">\xfe<p title='\x80'>", "link a href \xff", "<a href=\"r1.x\">\xfe<p title='\x80'>"},
	})
}

func TestHTML_Base(t *testing.T) {
	for _, tt := range []struct{ rule, in, want string }{
		{"none", `<a href=x>`, pageURL},
		{"the first that has an href, at any place", `<a href=x><base target=_top><base href=/b/><base href=/c/>`, "http://h.test/b/"},
		{"not one in a template, nor in SVG", `<template><base href=/t/></template><svg><base href=/s/></svg><a href=x>`, pageURL},
		{"a data: URL is not a base", `<base href=data:x><a href=x>`, pageURL},
		{"out of the web", `<base href=ftp://x/><a href=x>`, ""},
	} {
		var got string
		if err := Find(HTML, []byte(tt.in), options(t), func(r Ref) {
			if r.Role == Link {
				got = r.Base.String()
			}
		}); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.rule, got, err, tt.want)
		}
	}
}

func TestHTML_RemovedAttributes(t *testing.T) {
	o := options(t)
	o.RemoveBase, o.RemovePolicy = true, true
	tryPlaces(t, HTML, o, []placeTest{
		{"base loses every href and keeps its target", `<base target=_top href=/b/ href=/c/><a href=#x>`, "link a href #x", `<base target=_top  ><a href="r1.x">`},
		{"a policy that blocks files", `<meta http-equiv="Content-Security-Policy" content="default-src 'self'">`, "", `<meta  >`},
		{"one that does not", `<meta http-equiv="Content-Security-Policy" content="frame-ancestors 'none'">`, "", `<meta http-equiv="Content-Security-Policy" content="frame-ancestors 'none'">`},
		{"integrity and crossorigin of local files", `<script integrity=sha256-x src=a crossorigin integrity=y nonce=z></script><link rel=stylesheet crossorigin=anonymous integrity=q href=b>`, "script script src a; style link href b",
			`<script  src="r1.x"   nonce=z></script><link rel=stylesheet   href="r2.x">`},
		{"attributes that send requests without loading", `<a href=a ping="/p https://o.test/q" attributionsrc=r></a><area ping=p ping=q><img attributionsrc src=b><script attributionsrc="r"></script><svg><a ping=p href=c></a></svg>`, "link a href a; embed img src b; link a href c",
			`<a href="r1.x"  ></a><area  ><img  src="r2.x"><script ></script><svg><a  href="r3.x"></a></svg>`},
		{"a sign after a removed attribute", `<script async integrity="x" = src=a></script>`, "script script src a", `<script async _="" = src="r1.x"></script>`},
	})
}

func TestHTML_IntegrityStaysElsewhere(t *testing.T) {
	const in = `<script src=a integrity=x crossorigin></script>`
	remote := func(Ref) (string, bool) { return "https://o.test/a", true }
	o := options(t)
	out, err := HTML([]byte(in), o, remote)
	assert.Truef(t, err == nil && string(out) == `<script src="https://o.test/a" integrity=x crossorigin></script>`, "elsewhere: %s %v", out, err)
}

func TestHTML_Previews(t *testing.T) {
	o := options(t)
	o.Previews = true
	tryPlaces(t, HTML, o, []placeTest{
		{"og and twitter", `<meta property="og:image" content=a><meta name=twitter:image content=b><meta name=description content=c>`, "preview meta content a; preview meta content b", `<meta property="og:image" content="r1.x"><meta name=twitter:image content="r2.x"><meta name=description content=c>`},
	})
}

func TestReplacement_MustBeWritable(t *testing.T) {
	for _, bad := range []string{"", "a b", "é", "a\n", "\x00", "\x7f"} {
		_, err := HTML([]byte(`<a href=x>`), options(t), func(Ref) (string, bool) { return bad, true })
		assert.Errorf(t, err, "%q is written", bad)
	}
}

func TestReplacement_IsEscaped(t *testing.T) {
	const hostile = `,"'</style></script>&amp;\)--><x>,`
	for name, tt := range map[string]struct {
		in      string
		rewrite rewriter
	}{
		"href": {`<a href=x>`, HTML}, "srcset": {`<img srcset="x 1x">`, HTML}, "style": {`<style>a{b:url(x)}</style>`, HTML},
		"string": {`@import 'x';`, CSS}, "srcdoc": {`<iframe srcdoc='<p style=a:url("x")>'>`, HTML}, "svg": {`<svg><style>a{b:url(x)}</style></svg>`, SVG},
		"refresh": {`<meta http-equiv=refresh content="1;x">`, HTML}, "json": {`{"start_url":"x"}`, Manifest},
	} {
		out, err := tt.rewrite([]byte(tt.in), options(t), func(Ref) (string, bool) { return hostile, true })
		require.NoError(t, err)
		want := hostile
		switch name {
		case "srcset":
			want = inCandidate(hostile)
		case "refresh":
			want = inRefresh(hostile, true)
		}
		var got []string
		_, err = tt.rewrite(out, options(t), func(r Ref) (string, bool) { got = append(got, r.Raw); return "", false })
		assert.Truef(t, err == nil && len(got) == 1 && got[0] == want, "%s: %q in %s, %v", name, got, out, err)
	}
}
