package scoreboard

import (
	"curtsy/crawler/crawltest"
)

// sheets are what style sheets embed.
func (r *builder) sheets() {
	r.put("/css/main.css", crawltest.Page{Body: `@charset "utf-8";
@import "chain1.css";
@import url(media.css) screen and (min-width: 1px);
@import url( 'layered.css' ) layer(low) supports(display: block);
@namespace svg url(http://www.w3.org/2000/svg);
/* a comment: url(in-comment.png) */
:root { --style-main: 1; --not-a-url: "url(in-string.png)" }
#quoted { background-image: url("bg/quoted.png") }
#single { background-image: url( 'bg/single.png' ) }
#bare { background-image: url(bg/bare.png) }
#upper { background-image: URL(bg/upper.png) }
#escaped { background-image: url(bg/par\(en\)\20 theses.png) }
#hex { background-image: u\72l(bg/h\65x.png) }
#newline { background-image: url("bg/broken\
line.png") }
#query { background-image: url(../css/bg/query.png?a=1&b=2#frag) }
#rooted { background-image: url(/css/bg/rooted.png) }
#several { background: url(bg/top.png) no-repeat, url("bg/bottom.png") }
#set { background-image: image-set("bg/set1.png" 1x, url(bg/set2.png) 2x) }
#webkit { background-image: -webkit-image-set(url(bg/webkit1.png) 1x, url(bg/webkit2.png) 2x) }
#data { background-image: url(data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==) }
#empty { background-image: url() }
#list { list-style-image: url(bg/bullet.gif) }
#border { border: 3px solid; border-image: url(bg/border.png) 3 }
#cursor { cursor: url(bg/cursor.png), auto }
#variable { --picture: url(bg/variable.png); background-image: var(--picture) }
#content::before { content: url(bg/content.png) }
@media print { #never { background: url(bg/on-paper.png) } }
@supports (display: grid) { #supported { background-image: url(bg/supported.png) } }
@font-face { font-family: woff; src: url(fonts/letter.woff) format("woff"), url("fonts/letter.ttf?#iefix") format("truetype") }
@font-face { font-family: ttf; src: local("no such font"), url('fonts/plain.ttf') }
`})
	r.put("/css/chain1.css", crawltest.Page{Body: "@import \"deep/chain2.css\";\n:root { --style-chain1: 1 }\n"})
	r.put("/css/deep/chain2.css",
		crawltest.Page{Body: "@import url(\"../deeper/still/chain3.css?v=3\");\n:root { --style-chain2: 1 }\n"})
	r.put("/css/deeper/still/chain3.css?v=3", crawltest.Page{Body: "@import \"/css/chain1.css\"; /* in a circle */\n:root { --style-chain3: 1 }\n#chained { background-image: url(chained.png) }\n"})
	r.put("/css/media.css", crawltest.Page{Body: ":root { --style-media: 1 }\n"})
	r.put("/css/layered.css", crawltest.Page{Body: ":root { --style-layered: 1 }\n"})
	r.put("/css/in-style.css", crawltest.Page{Body: ":root { --style-in-style: 1 }\n"})
	r.put("/css/empty.css", crawltest.Page{Type: "text/css"})
	r.put("/css/theme.php?skin=dark&v=2", crawltest.Page{Type: "text/css",
		Body: ":root { --style-theme: 1 }\n#themed { background-image: url(bg/themed.png) }\n"})
	r.put("/css/latin.css", crawltest.Page{Type: "text/css; charset=iso-8859-1",
		Body: "/* \xe9t\xe9 */ :root { --style-latin: 1 }\n#latin { background-image: url(bg/caf\xe9.png) }\n"})

	probe := func(id, ref string) string {
		return `<i id="` + id + `" data-css="background-image" data-want="{{want ` + ref + `}}">` + id + "</i>\n"
	}
	body := `<link rel="stylesheet" href="theme.php?skin=dark&amp;v=2"><link rel="stylesheet" href="{{embed empty.css}}"><link rel="stylesheet" href="{{embed latin.css}}">
<style>@import "in-style.css"; #styled { background-image: url(bg/styled.png) }</style>
<i data-css="background-image" style="background-image: url(&quot;bg/inline.png&quot;)" data-want="{{want bg/inline.png}}"></i>
<i data-css="background-image" style='background:url(bg/inline2.png?a=1&amp;b=2)' data-want="{{want bg/inline2.png?a=1&b=2}}"></i>
<i id="several" data-css="background-image" data-want="{{want bg/top.png}} {{want bg/bottom.png}}"></i>
<i id="set" data-css="background-image" data-want="{{want bg/set1.png}} {{want bg/set2.png}}"></i>
<i id="webkit" data-css="background-image" data-want="{{want bg/webkit1.png}} {{want bg/webkit2.png}}"></i>
<ul><li id="list" data-css="list-style-image" data-want="{{want bg/bullet.gif}}"></li></ul>
<i id="border" data-css="border-image-source" data-want="{{want bg/border.png}}"></i>
<i id="cursor" data-css="cursor" data-want="{{want bg/cursor.png}}"></i>
<i id="content" data-css="content" data-pseudo="::before" data-want="{{want bg/content.png}}"></i>
<i id="data" data-css="background-image" data-want="1x1"></i>
<p style="font-family: woff">A</p><p style="font-family: ttf">A</p>
{{embed main.css}} {{embed chain1.css}} {{embed deep/chain2.css}} {{embed deeper/still/chain3.css?v=3}} {{embed media.css}} {{embed layered.css}} {{embed in-style.css}} {{embed theme.php?skin=dark&v=2}} {{want bg/on-paper.png}}
`
	for _, p := range [][2]string{
		{"quoted", "bg/quoted.png"}, {"single", "bg/single.png"}, {"bare", "bg/bare.png"}, {"upper", "bg/upper.png"},
		{"escaped", "bg/par(en)%20theses.png"}, {"hex", "bg/hex.png"}, {"newline", "bg/brokenline.png"},
		{"query", "bg/query.png?a=1&b=2"},
		{"rooted", "bg/rooted.png"}, {"variable", "bg/variable.png"}, {"supported", "bg/supported.png"},
		{"chained", "deeper/still/chained.png"}, {"themed", "bg/themed.png"}, {"styled", "bg/styled.png"},
		{"latin", "bg/caf%C3%A9.png"},
	} {
		body += probe(p[0], p[1])
	}
	r.shown = append(r.shown, "/css/")
	r.html("/css/", whole("Style sheets", `data-styles="main chain1 chain2 chain3 media layered in-style theme latin" data-fonts="woff:{{want fonts/letter.woff}} ttf:{{want fonts/plain.ttf}}" data-spare="{{want fonts/letter.ttf}}"`,
		`<link rel="stylesheet" href="main.css">`+body))
}

// elsewhere are requisites on other hosts, each step one further off the scope.
func (r *builder) elsewhere() {
	cors := map[string]string{"Access-Control-Allow-Origin": "*"}
	on := func(host, target string, p crawltest.Page) {
		p.Header = cors
		r.sites[host].Pages[target] = p
	}
	on(cdnHost, "/one.css", crawltest.Page{Body: "@import \"//fonts.test/two.css\";\n:root { --style-one: 1 }\n#one { background-image: url(one.png) }\n"})
	on(fontsHost, "/two.css", crawltest.Page{Body: "@import url(http://deep.test/three.css);\n:root { --style-two: 1 }\n#two { background-image: url(/two.png) }\n" +
		"@font-face { font-family: far; src: url(far.woff) format(\"woff\") }\n"})
	on(deepHost, "/three.css",
		crawltest.Page{Body: "@import \"http://beyond.test/four.css\";\n:root { --style-three: 1 }\n"})
	on(beyondHost, "/four.css", crawltest.Page{Body: ":root { --style-four: 1 }\n"})
	on(cdnHost, "/lib.js", crawltest.Page{Body: "(window.ran = window.ran || []).push(\"lib\");\n"})
	on(neighbourHost, "/", crawltest.Page{Title: "The neighbour"})
	on(neighbourHost, "/page.html", crawltest.Page{Title: "The neighbour's page"})
	r.show("/cdn.html", "From other hosts", `
<link rel="stylesheet" href="http://cdn.test/one.css"><script src="//cdn.test/lib.js" crossorigin="anonymous"></script>
<img src="//cdn.test/pic.png" data-want="{{want //cdn.test/pic.png}}">
<img src="http://cdn.test/pic.png?size=2" data-want="{{want //cdn.test/pic.png?size=2}}">
<img src="http://cdn.test/html/img/plain.png" data-want="{{want //cdn.test/html/img/plain.png}}">
<img srcset="//cdn.test/set1.png 1x, //cdn.test/set2.png 2x" data-want="{{want //cdn.test/set1.png}}" alt="{{want //cdn.test/set2.png}}">
<i id="one" data-css="background-image" data-want="{{want //cdn.test/one.png}}"></i>
<i id="two" data-css="background-image" data-want="{{want //fonts.test/two.png}}"></i>
<p style="font-family: far">A</p>
{{embed //cdn.test/one.css}} {{embed //cdn.test/lib.js}} {{embed //fonts.test/two.css}} {{embed //deep.test/three.css}}
<script>document.body.dataset.styles = "one two three"; document.body.dataset.scripts = "lib"; document.body.dataset.fonts = "far:{{want //fonts.test/far.woff}}"</script>`)
	r.lack("hops", true, "http://beyond.test/four.css")
}
