package scoreboard

import (
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
		r.html("/charset/q?x="+q, whole("A query", ""))
	}
	for _, name := range []string{"%C3%A9t%C3%A9", "%E6%97%A5%E6%9C%AC"} {
		r.html("/charset/"+name+".html", whole("A name", ""))
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

// answers are the odd ones that the text does not have.
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

// home links to all that is to be shown.
func (r *builder) home() {
	var list strings.Builder
	for _, target := range r.shown {
		list.WriteString(`<li><a href="` + target + `" data-want-page="{{page ` + target + `}}">` + target + "</a></li>\n")
	}
	r.html("/", whole("An ordeal", "<ul>\n"+list.String()+"</ul>"))
}
