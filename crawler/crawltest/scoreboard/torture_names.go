package scoreboard

import (
	"html"
	"strings"

	"curtsy/crawler/crawltest"
)

// names are pages whose URLs make bad names of files, and pictures and pages that share a name.
func (r *builder) names() {
	var list strings.Builder
	for i, target := range r.paths {
		target = strings.NewReplacer("LONG", strings.Repeat("long-", 46), "WIDE", strings.Repeat("%D0%B6", 120)).Replace(target)
		r.paths[i] = target
		body := `<p><a href="/names/" data-want-page="{{page /names/}}">all names</a></p>`
		// Braces cannot stand in what the builder fills in: the targets have them escaped.
		r.page("/names/"+target, whole("A name", body), crawltest.Page{Type: "text/html"})
		list.WriteString(`<li><a href="/names/` + html.EscapeString(target) + `" data-want-page="{{page /names/` +
			strings.ReplaceAll(target, " ", "%20") + `}}">` + html.EscapeString(target) + "</a></li>\n")
	}
	// A directory with and without its slash: one answer, two answers, and a redirect from one to the other.
	same := whole("With and without a slash", "")
	for _, target := range []string{"/names/same", "/names/same/"} {
		r.put(target, crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "psame")})
	}
	r.html("/names/differ", whole("Without a slash", ""))
	r.html("/names/differ/", whole("With a slash", ""))
	r.put("/names/moved", crawltest.Page{Status: 301, Redirect: "/names/moved/"})
	r.html("/names/moved/", whole("Moved to the slash", ""))
	r.put("/names/copy1.html", crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "pcopy")})
	r.put("/names/copy2.html", crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "pcopy")})

	r.shown = append(r.shown, "/names/")
	r.html("/names/", whole("Names", "<ul>\n"+list.String()+`</ul>
<a href="{{link /names/same}}" data-want-page="psame">same</a> <a href="{{link /names/same/}}" data-want-page="psame">same/</a>
<a href="{{link copy1.html}}" data-want-page="pcopy">one</a> <a href="copy2.html" data-want-page="pcopy">two of one content</a>{{link copy2.html}}
<a href="differ" data-want-page="{{page differ}}">differ</a> <a href="differ/" data-want-page="{{page differ/}}">differ/</a>
<a href="moved" data-want-page="{{to moved moved/}}">moved</a> <a href="moved/" data-want-page="{{page moved/}}">moved/</a>
<a href="/names/q?" data-want-page="{{page /names/q}}">an empty query</a>
<a href="/names/./x/../a" data-want-page="{{page /names/a}}">a, by detours</a>
<a href="/names/%63ase.html" data-want-page="{{page /names/case.html}}">case.html, escaped</a>`))
}
