package scoreboard

import (
	"html"
	"strings"

	"curtsy/crawler/crawltest"
)

// nameTargets are names that file systems, or who writes to them, find hard. Each is a page of its own.
func nameTargets() []string {
	long := strings.Repeat("long-", 46) // 230 bytes
	wide := strings.Repeat("%D0%B6", 120)
	targets := []string{
		// A file and a directory of one name, and what an extension added to one makes it.
		"a", "a/b", "a/b/c.html", "a.html", "b.html/", "b.html/c.html",
		// Names that are one where case does not count, and where Unicode is normalised (NFC and NFD).
		"Case.html", "case.html", "CASE.html", "Dir/x.html", "dir/X.html", "caf%C3%A9.html", "cafe%CC%81.html",
		"CAF%C3%89.html",
		"stra%C3%9Fe.html", "strasse.html", "%EF%AC%81le.html", "%E4%BD%A0%E5%A5%BD.html", "%F0%9F%8D%9E.html",
		"%D7%A9%D7%9C%D7%95%D7%9D.html",
		// Not UTF-8.
		"caf%E9.html", "%FF%FE.html",
		// Names that Windows keeps for devices, and does not keep at all.
		"con", "aux.html", "NUL.txt", "com1.tar.gz", "lpt9", "prn.html/inside.html", "dot.", "dots...", "space%20",
		"%20lead.html", "dir./x.html", "dir%20/x.html",
		"star%2A.html", "colon%3Aname.html", "C%3A%5Cwin.html", "less%3Cmore%3E.html", "pipe%7C.html", "quote%22.html",
		"back%5Cslash.html",
		// Names that mean something elsewhere.
		".hidden", "..data", "~user/", "-rf", "semi;colon=1", "a+b", "at@x", "and&or", "dollar$HOME", "tick%60.html",
		"it's.html", "index.html", "index.htm", "(paren).html", "comma,name.html", "tilde~1.html", "[bracket].html",
		"%7Bbrace%7D.html",
		// Escapes that must stay escapes.
		"slash%2fin", "slash/in", "question%3fmark", "percent%25", "percent%2541", "hash%23x", "nul%00x.html",
		"line%0Afeed.html", "tab%09.html", "bell%07.html", "esc%1B%5B31m.html", "%2e%2e%2fescape.html",
		"..%2f..%2fescape.html", "..%5c..%5cescape.html",
		// Too long for a name, alike but for their ends; of two bytes a letter; deep.
		long + "0123456789.html", long + "012345678901234567890123456789a.html",
		long + "012345678901234567890123456789b.html", wide + ".html", wide + "%D0%B7.html",
		"one/two/three/four/five/six/seven/eight/nine/ten/eleven/twelve/end.html", "double//slash.html", "double/slash.html",
		// Queries.
		"q", "q?a=1&b=2", "q?b=2&a=1", "q?a=1%26b=2", "q%3Fa=1&b=2", "q?a=%2F", "q?a=/../../x", "q?a=/etc/passwd",
		"q?A=1&B=2", "q?" + long + "x=" + long + "1", "q?" + long + "x=" + long + "2", "q.html?p=1", "q.html?p=1.html",
		"q?%D0%B6=%E9", "q?a=b?c=d", "q?*:|<>",
		// Extensions that are not those of their types.
		"page.php?id=1", "page.asp", "page.jsp;jsessionid=1F", "looks-like.png", "looks-like.css", "looks-like.pdf", "v1.2",
		"release-1.2.3/", "trailing.html/", "archive.tar.gz", "UPPER.HTM", "strict.xhtml",
	}
	return targets
}

// names are pages whose URLs make bad names of files, and pictures and pages that share a name.
func (r *builder) names() {
	var list strings.Builder
	for _, target := range nameTargets() {
		body := `<p><a href="/names/" data-want-page="{{page /names/}}">all names</a></p>`
		// Braces cannot stand in what the builder fills in: the targets have them escaped.
		r.page("/names/"+target, whole("A name", "", body), crawltest.Page{Type: "text/html"})
		list.WriteString(`<li><a href="/names/` + html.EscapeString(target) + `" data-want-page="{{page /names/` +
			strings.ReplaceAll(target, " ", "%20") + `}}">` + html.EscapeString(target) + "</a></li>\n")
	}
	// A directory with and without its slash: one answer, two answers, and a redirect from one to the other.
	same := whole("With and without a slash", "", "")
	for _, target := range []string{"/names/same", "/names/same/"} {
		r.put(target, crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "psame")})
	}
	r.html("/names/differ", whole("Without a slash", "", ""))
	r.html("/names/differ/", whole("With a slash", "", ""))
	r.put("/names/moved", crawltest.Page{Status: 301, Redirect: "/names/moved/"})
	r.html("/names/moved/", whole("Moved to the slash", "", ""))
	r.put("/names/copy1.html", crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "pcopy")})
	r.put("/names/copy2.html", crawltest.Page{Type: "text/html", Body: strings.ReplaceAll(same, "{{me}}", "pcopy")})

	r.show("/names/", "Names", "<ul>\n"+list.String()+`</ul>
<a href="{{link /names/same}}" data-want-page="psame">same</a> <a href="{{link /names/same/}}" data-want-page="psame">same/</a>
<a href="{{link copy1.html}}" data-want-page="pcopy">one</a> <a href="copy2.html" data-want-page="pcopy">two of one content</a>{{link copy2.html}}
<a href="differ" data-want-page="{{page differ}}">differ</a> <a href="differ/" data-want-page="{{page differ/}}">differ/</a>
<a href="moved" data-want-page="{{to moved moved/}}">moved</a> <a href="moved/" data-want-page="{{page moved/}}">moved/</a>
<a href="/names/q?" data-want-page="{{page /names/q}}">an empty query</a>
<a href="/names/./x/../a" data-want-page="{{page /names/a}}">a, by detours</a>
<a href="/names/%63ase.html" data-want-page="{{page /names/case.html}}">case.html, escaped</a>`)
	r.show("/pictures.html", "Pictures whose names say little", `
<img src="/pic/con.png" data-want="{{want /pic/con.png}}"> <img src="/pic/a.png" data-want="{{want /pic/a.png}}"> <img src="/pic/A.png" data-want="{{want /pic/A.png}}">
<img src="/pic/a.png/b.png" data-want="{{want /pic/a.png/b.png}}"> <img src="/pic/none" data-want="{{want /pic/none}}"> <img src="/pic/image.php?id=1" data-want="{{want /pic/image.php?id=1}}">
<img src="/pic/image.php?id=2" data-want="{{want /pic/image.php?id=2}}"> <img src="/pic/q%3Fx=1.png" data-want="{{want /pic/q%3Fx=1.png}}"> <img src="/pic/q?x=1.png" data-want="{{want /pic/q?x=1.png}}">
<img src="/pic/100%25.png" data-want="{{want /pic/100%25.png}}"> <img src="/pic/%23.png" data-want="{{want /pic/%23.png}}"> <img src="/pic/dot./p.png" data-want="{{want /pic/dot./p.png}}">
<img src="/pic/two words.png" data-want="{{want /pic/two%20words.png}}"> <img src="/pic/käse.png" data-want="{{want /pic/k%C3%A4se.png}}"> <img src="/pic/k%C3%A4se.png" data-want="{{want /pic/k%C3%A4se.png}}">`)
}
