package scoreboard

import (
	"strings"

	"curtsy/crawler/crawltest"
)

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
