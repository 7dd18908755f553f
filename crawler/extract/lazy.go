package extract

import (
	"strings"

	"golang.org/x/net/html"
)

// lazyAttrs lists the attributes that scripts make requisites of when they come into view. No standard has them: the
// names are those that the scripts' own documentation has. Package markup has the same; see its differential test.
var lazyAttrs = map[string]isLazy{
	"data-background":       lazyStyle,
	"data-background-image": lazyStyle,
	"data-bg":               lazyStyle,
	"data-bgset":            lazySet,
	"data-hi-res-src":       lazyURL,
	"data-lazy":             lazyURL,
	"data-lazy-src":         lazyURL,
	"data-lazy-srcset":      lazySet,
	"data-lazyload":         lazyURL,
	"data-original":         lazyURL,
	"data-original-set":     lazySet,
	"data-poster":           lazyURL,
	"data-retina":           lazyURL,
	"data-src":              lazyURL,
	"data-srcset":           lazySet,
}

// isLazy says what such an attribute holds.
type isLazy uint8

const (
	lazyURL   isLazy = iota + 1 // what src does
	lazySet                     // what srcset does
	lazyStyle                   // a URL, or declarations with url(…)
)

// lazy reads such attributes of any element.
func (w *walker) lazy(n *html.Node) {
	for _, a := range n.Attr {
		if a.Namespace != "" || !strings.HasPrefix(a.Key, "data-") {
			continue
		}
		l := Link{Embed: true, Element: wasTag(n), Attr: a.Key}
		switch form := lazyAttrs[a.Key]; {
		case form == 0:
		case form == lazySet:
			w.srcset(a.Val, l)
		case form == lazyStyle && strings.Contains(strings.ToLower(a.Val), "url("):
			w.sheet(l.Element, a.Key, a.Val)
		default:
			w.links.add(a.Val, l)
		}
	}
}

// isPreview reports whether a meta element of that name or property names a picture for others to show: by the Open
// Graph protocol, as Twitter, Windows and schema.org have it.
func isPreview(name string) bool {
	switch strings.ToLower(strip(name)) {
	case "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src", "msapplication-tileimage",
		"msapplication-square70x70logo", "msapplication-square150x150logo", "msapplication-wide310x150logo",
		"msapplication-square310x310logo", "image", "thumbnail", "thumbnailurl":
		return true
	}
	return false
}
