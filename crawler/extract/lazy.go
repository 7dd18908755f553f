package extract

import (
	"strings"

	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

// lazy reads the attributes that scripts make requisites of when they come into view.
func (w *walker) lazy(n *html.Node) {
	for _, a := range n.Attr {
		if a.Namespace != "" || !strings.HasPrefix(a.Key, "data-") {
			continue
		}
		l := Link{Embed: true, Element: wasTag(n), Attr: a.Key}
		switch form := markup.LazyAttr(a.Key); {
		case form == 0:
		case form == markup.LazySet:
			w.srcset(a.Val, l)
		case form == markup.LazyStyle && strings.Contains(strings.ToLower(a.Val), "url("):
			w.sheet(l.Element, a.Key, a.Val)
		default:
			w.links.add(a.Val, l)
		}
	}
}
