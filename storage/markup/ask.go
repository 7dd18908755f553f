package markup

import (
	"fmt"
	"strings"

	"curtsy/frontier/canon"
)

// work is one call: what is asked, and what went wrong.
type work struct {
	o     Options
	visit Visit
	err   error

	// Where a Survey is: an attribute, or a style sheet, of which each reference has a place of its own.
	at      int
	inSheet bool

	sheet sheet // that is read, or was last
}

// doc is a document, or one within another.
type doc struct {
	*work
	base canon.URL // what references are relative to
	self bool      // that is the document's own URL: "#top" stays in it
}

// ask returns what replaces a reference. References into the document itself are not asked about, nor is what names
// nothing on the web by itself (data:, javascript:).
func (d *doc) ask(r Ref) (replacement string, replace bool) {
	ref := Strip(r.Raw)
	if d.err != nil || isInner(ref) || (ref == "" || ref[0] == '#') && (d.self && !d.o.withinToo || !r.follows()) {
		return "", false
	}
	if r.Base = d.base; r.Role == Base {
		r.Base = d.o.URL
	}
	replacement, replace = d.visit(r)
	if !replace {
		return "", false
	}
	if err := writable(replacement); err != nil {
		d.err = fmt.Errorf("markup: replace %q in %s: %w", excerpt(ref), d.o.URL, err)
		return "", false
	}
	return replacement, true
}

// follows reports whether a reference without a URL means the page: a browser fetches nothing for an empty src.
func (r Ref) follows() bool { return !r.Role.Requisite() && r.Role != Lazy && r.Role != Preview }

// isInner reports whether a reference has a scheme that names no resource elsewhere.
func isInner(ref string) bool {
	scheme, _, ok := strings.Cut(ref[:min(len(ref), len("javascript:"))], ":")
	if !ok {
		return false
	}
	switch strings.ToLower(scheme) {
	case "data", "javascript", "about", "blob":
		return true
	}
	return false
}

// isLocal reports whether what a reference names lies beside the document, for it is relative to a path, or in it.
func isLocal(ref string) bool {
	if strings.HasPrefix(ref, "data:") {
		return true
	}
	end := strings.IndexAny(ref, ":/?#")
	return end < 0 || ref[end] != ':' && !strings.HasPrefix(ref, "//")
}

// writable reports why a replacement cannot be written.
func writable(s string) error {
	if s == "" {
		return fmt.Errorf("the replacement is empty; name the document itself by its file")
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return fmt.Errorf("the replacement %q has a byte outside 0x21 to 0x7E; percent-encode it", excerpt(s))
		}
	}
	return nil
}

// excerpt bounds what an error says of a text.
func excerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (d *doc) removed(r Removal) {
	if d.o.Removed != nil {
		d.o.Removed(r)
	}
}

// styles hands on the edits of a style sheet, or of the declarations in an attribute, whose references are otherwise as
// r.
func (d *doc) styles(text string, r Ref, to sink) {
	d.sheet.mentions(text, func(m mention) {
		r := r
		r.Raw, r.Charset = m.raw, "" // the queries of style are in UTF-8, wherever it stands
		if r.Attr == "" {
			r.Attr = m.attr
		}
		if m.attr == "import" {
			r.Role = Style
		}
		if d.inSheet {
			at := d.at
			d.at += m.start
			defer func() { d.at = at }()
		}
		switch new, replace := d.ask(r); {
		case !replace:
		case m.quote != 0:
			to(edit{m.start, m.end, cssString(new, m.quote)})
		default:
			to(edit{m.start, m.end, cssURL(new)})
		}
	})
}

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
	switch strings.ToLower(Strip(name)) {
	case "og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src",
		"msapplication-tileimage",
		"msapplication-square70x70logo", "msapplication-square150x150logo", "msapplication-wide310x150logo",
		"msapplication-square310x310logo", "image", "thumbnail", "thumbnailurl":
		return true
	}
	return false
}
