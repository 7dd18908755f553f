package markup

import "strings"

// LazyForm says what an attribute for lazy loading holds. Zero is that of any other attribute.
type LazyForm uint8

// The forms.
const (
	LazyURL   LazyForm = iota + 1 // as src
	LazySet                       // as srcset
	LazyStyle                     // a URL, or declarations with url(…)
)

// lazyAttrs are the attributes that scripts make requisites of when they come into view. No standard has them: the
// names are those of the scripts' own documentation. The element does not matter to them.
var lazyAttrs = map[string]LazyForm{
	"data-background":       LazyStyle,
	"data-background-image": LazyStyle,
	"data-bg":               LazyStyle,
	"data-bgset":            LazySet,
	"data-hi-res-src":       LazyURL,
	"data-lazy":             LazyURL,
	"data-lazy-src":         LazyURL,
	"data-lazy-srcset":      LazySet,
	"data-lazyload":         LazyURL,
	"data-original":         LazyURL,
	"data-original-set":     LazySet,
	"data-poster":           LazyURL,
	"data-retina":           LazyURL,
	"data-src":              LazyURL,
	"data-srcset":           LazySet,
}

// LazyAttr returns the form of an attribute, whose name is in small letters.
func LazyAttr(name string) LazyForm { return lazyAttrs[name] }

// IsPreview reports whether a meta element of that name or property names a picture for others to show: by the Open
// Graph protocol, as Twitter, Windows and schema.org have it.
func IsPreview(name string) bool {
	switch strings.ToLower(strip(name)) {
	case "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
		"msapplication-tileimage",
		"msapplication-square70x70logo", "msapplication-square150x150logo", "msapplication-wide310x150logo",
		"msapplication-square310x310logo", "image", "thumbnail", "thumbnailurl":
		return true
	}
	return false
}
