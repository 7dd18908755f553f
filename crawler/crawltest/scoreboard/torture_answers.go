package scoreboard

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"unicode/utf16"

	"curtsy/crawler/crawltest"
)

// charsets are pages that are not in UTF-8.
func (r *builder) charsets() {
	body := func(charset, text, reference, link, query string) string {
		meta := ""
		if charset != "" {
			meta = `<meta charset="` + charset + `">`
		}
		return "<!DOCTYPE html><html><head>" + meta + "<title>" + text +
			"</title></head><body data-page=\"{{me}}\"><p data-want-text=\"" + reference + "\">" + text + "</p>\n" +
			`<a href="` + text + `.html" data-want-page="{{page ` + link + `.html}}">` + text + `</a> <a href="q?x=` + text +
			`" data-want-page="{{page q?x=` + query + `}}">query</a>` +
			`<img src="` + text + `.png" data-want="{{want ` + link + `.png}}" alt="` + text + "\"></body></html>"
	}
	for _, q := range []string{"%E9t%E9", "%C3%A9t%C3%A9", "%93%FA%96{"} {
		r.html("/charset/q?x="+q, whole("A query", "", ""))
	}
	for _, name := range []string{"%C3%A9t%C3%A9", "%E6%97%A5%E6%9C%AC"} {
		r.html("/charset/"+name+".html", whole("A name", "", ""))
	}
	const ete, nihon = "&#233;t&#233;", "&#26085;&#26412;"
	add := func(target, header, text string) {
		r.shown = append(r.shown, target)
		r.page(target, text, crawltest.Page{Header: map[string]string{"Content-Type": header}})
	}
	latin := body("iso-8859-1", "\xe9t\xe9", ete, "%C3%A9t%C3%A9", "%E9t%E9")
	add("/charset/latin-meta.html", "text/html", latin)
	add("/charset/latin-both.html", "text/html; charset=ISO-8859-1", latin)
	add("/charset/latin-header.html", "text/html; charset=iso-8859-1",
		body("", "\xe9t\xe9", ete, "%C3%A9t%C3%A9", "%E9t%E9"))
	add("/charset/header-wins.html", "text/html; charset=utf-8",
		body("iso-8859-1", "été", ete, "%C3%A9t%C3%A9", "%C3%A9t%C3%A9"))
	add("/charset/windows.html", "text/html", strings.Replace(latin, `<meta charset="iso-8859-1">`,
		`<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">`, 1))
	add("/charset/japanese.html", "text/html",
		body("Shift_JIS", "\x93\xfa\x96\x7b", nihon, "%E6%97%A5%E6%9C%AC", "%93%FA%96{"))
	r.shown = append(r.shown, "/charset/wide.html")
	p := crawltest.Page{Type: "text/html"}
	r.page("/charset/wide.html", body("", "été", ete, "%C3%A9t%C3%A9", "%C3%A9t%C3%A9"), p)
	wide := r.sites[tortureHost].Pages["/charset/wide.html"]
	octets := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(wide.Body)) {
		octets = append(octets, byte(unit), byte(unit>>8))
	}
	wide.Body, wide.Header = string(octets), map[string]string{"Content-Type": "text/html"}
	r.put("/charset/wide.html", wide)
}

// integrity is the value of an integrity attribute for a text.
func integrity(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// defences are what pages say of how they may be shown: a mirror has to deal with it.
func (r *builder) defences() {
	// The digest is right here, and no more once a mirror has changed the path in it.
	sheet := ":root { --style-sealed: 1 }\n#sealed { background-image: url(/guard/sealed.png) }\n"
	script := "(window.ran = window.ran || []).push(\"sealed\");\n"
	r.put("/guard/sealed.css", crawltest.Page{Body: sheet})
	r.put("/guard/sealed.js", crawltest.Page{Body: script})
	r.put("/guard/forged.js", crawltest.Page{Body: "window.forged = true;\n"})
	cors := map[string]string{"Access-Control-Allow-Origin": "*"}
	lib := "(window.ran = window.ran || []).push(\"sealed-lib\");\n"
	r.sites[cdnHost].Pages["/sealed.js"] = crawltest.Page{Body: lib, Header: cors}
	r.show("/guard/integrity.html", "Integrity", `
<link rel="stylesheet" href="{{embed sealed.css}}" integrity="`+integrity(sheet)+`" crossorigin="anonymous">
<script src="{{embed sealed.js}}" integrity="`+integrity(script)+`"></script>
<script src="{{embed forged.js}}" integrity="`+integrity("something else")+`"></script>
<script src="//cdn.test/sealed.js" integrity="`+integrity(lib)+`" crossorigin></script>{{embed //cdn.test/sealed.js}}
<img crossorigin src="crossed.png" data-want="{{want crossed.png}}"> <img src="//cdn.test/crossed.png" crossorigin="anonymous" data-want="{{want //cdn.test/crossed.png}}">
<i id="sealed" data-css="background-image" data-want="{{want sealed.png}}"></i>
<script>document.body.dataset.styles = "sealed"; document.body.dataset.scripts = "sealed sealed-lib"</script>`)
	r.put("/guard/policed.css", crawltest.Page{Body: ":root { --style-policed: 1 }\n"})
	r.put("/guard/policed.js", crawltest.Page{Body: "(window.ran = window.ran || []).push(\"policed\");\n"})
	r.shown = append(r.shown, "/guard/policy.html")
	r.html("/guard/policy.html", `<!DOCTYPE html><html><head><meta charset=utf-8><title>A policy</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src http://torture.test/ http://cdn.test/; style-src http://torture.test/; script-src http://torture.test/">
<link rel=stylesheet href="{{embed policed.css}}"><script src="{{embed policed.js}}"></script></head>
<body data-page="{{me}}" data-styles="policed" data-scripts="policed"><img src="policed.png" data-want="{{want policed.png}}"><img src="//cdn.test/policed.png" data-want="{{want //cdn.test/policed.png}}"></body></html>`)

	r.page("/guard/noarchive.html", whole("Not to be kept", "", `<meta name="robots" content="noarchive"><a href="kept.html" data-want-page="{{page kept.html}}">kept</a>`), crawltest.Page{})
	r.page("/guard/noarchive-header.html", whole("Not to be kept", "", ""),
		crawltest.Page{Header: map[string]string{"X-Robots-Tag": "noarchive"}})
	r.html("/guard/kept.html", whole("Kept", "", ""))
	r.show("/guard/", "What may not be kept", `<a href="{{link noarchive.html}}">by an element</a> <a href="{{link noarchive-header.html}}">by a field</a> <a href="kept.html" data-want-page="{{page kept.html}}">kept</a>`)
	r.lack("noarchive", false, "/guard/noarchive.html", "/guard/noarchive-header.html")
}

// answers are odd, in what they say of themselves or do not say.
func (r *builder) answers() {
	text := whole("Coded", "",
		strings.Repeat("<p>bread and butter</p>\n", 40)+`<img src="coded.png" data-want="{{want coded.png}}">`)
	r.page("/answers/gzip.html", text, crawltest.Page{Gzip: true})
	r.page("/answers/brotli.html", text, crawltest.Page{Brotli: true})
	r.put("/answers/gzip.css", crawltest.Page{Body: ":root { --style-gzip: 1 }\n", Gzip: true})
	untyped := `<!DOCTYPE html><html><head><title>Of no type</title></head><body data-page="` +
		id(place{tortureHost, "/answers/untyped"}) + `"><a href="./">back</a></body></html>`
	r.put("/answers/untyped", crawltest.Page{Raw: crawltest.Say("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+untyped,
		true), Links: []string{"./"}})
	r.put("/answers/none.html", crawltest.Page{Type: "text/html", Raw: crawltest.Say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", true)})
	r.put("/answers/none.txt", crawltest.Page{Type: "text/plain"})
	r.put("/answers/plain.html", crawltest.Page{Type: "text/plain", Body: "<p>This is <a href=no-link.html>text</a>.</p>"})
	typed, _ := made(".png", 200)
	r.put("/answers/typed.png", crawltest.Page{Type: "text/plain", Body: typed.Body})
	r.put("/answers/unknown.png", crawltest.Page{Type: "application/octet-stream", Body: typed.Body})
	r.put("/answers/run.js",
		crawltest.Page{Type: "application/octet-stream", Body: "(window.ran = window.ran || []).push(\"run\");\n"})
	r.put("/answers/report?id=7", crawltest.Page{Type: "application/pdf", Body: "%PDF-1.4\n%%EOF\n",
		Header: map[string]string{"Content-Disposition": `attachment; filename="../../../evil.html"`}})
	r.put("/answers/attached.html", crawltest.Page{Type: "text/html", Body: "<title>Attached</title>",
		Header: map[string]string{"Content-Disposition": "attachment; filename*=UTF-8''na%C3%AFve.html"}})
	r.put("/answers/big.bin",
		crawltest.Page{Type: "application/octet-stream", Body: strings.Repeat("0123456789abcdef", 20<<16)})
	r.page("/answers/big.html", whole("Too long to be read for links", "", `<img src="early.png" data-want="{{want early.png}}">`+strings.Repeat("<p>"+strings.Repeat("word ", 1000)+"</p>\n", 2200)), crawltest.Page{})
	r.show("/answers/", "Odd answers", `<link rel="stylesheet" href="{{embed gzip.css}}"><script src="{{embed run.js}}"></script>
<a href="gzip.html" data-want-page="{{page gzip.html}}">gzip</a> <a href="brotli.html" data-want-page="{{page brotli.html}}">brotli</a>
<a href="untyped" data-want-page="{{page untyped}}">of no type</a> <a href="{{link none.html}}">nothing</a> <a href="{{link none.txt}}">nothing</a> <a href="{{link plain.html}}">text</a>
<img src="{{embed typed.png}}" data-want="208x8"> <img src="{{embed unknown.png}}" data-want="208x8">
<a href="{{link report?id=7}}">a report</a> <a href="{{link attached.html}}">attached</a> <a href="{{link big.bin}}">20 MiB</a> <a href="big.html" data-want-page="{{page big.html}}">11 MiB of HTML</a>
<script>document.body.dataset.styles = "gzip"; document.body.dataset.scripts = "run"</script>`)
}

// missing is a page of which much cannot be had.
func (r *builder) missing() {
	r.put("/private/page.html", crawltest.Page{Type: "text/html", Body: "<title>Private</title>"})
	r.put("/private/pic.png", crawltest.Page{Type: "image/png"})
	r.put("/absent/late.html", crawltest.Page{Status: 410})
	r.put("/absent/broken.png", crawltest.Page{Type: "image/png", Status: 404})
	r.sites[closedHost].Pages["/pic.png"] = crawltest.Page{Type: "image/png"}
	r.sites[neighbourHost].Pages["/only-linked.png"] = crawltest.Page{Type: "image/png"}
	r.show("/absent/", "What cannot be had", `
<a href="{{link /private/page.html}}">private</a> <a href="{{link nothing.html}}">nothing</a> <a href="{{link late.html}}">gone</a>
<img src="{{embed /private/pic.png}}" alt="private"> <img src="{{embed broken.png}}" alt="not there"> <img src="{{embed //closed.test/pic.png}}" alt="closed">
<a href="//neighbour.test/only-linked.png">a picture of the neighbour</a>`)
	r.lack("robots", false, "/private/page.html")
	r.lack("error", false, "/absent/nothing.html", "/absent/late.html")
	r.lack("robots", true, "/private/pic.png", "http://closed.test/pic.png")
	r.lack("error", true, "/absent/broken.png")
	r.lack("scope", false, "http://neighbour.test/only-linked.png")
}

// home links to all that is to be shown.
func (r *builder) home() {
	var list strings.Builder
	for _, target := range r.shown {
		list.WriteString(`<li><a href="` + target + `" data-want-page="{{page ` + target + `}}">` + target + "</a></li>\n")
	}
	r.html("/", whole("An ordeal", "", "<ul>\n"+list.String()+"</ul>"))
}
