package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/markup"
)

func byMarkup(t testing.TB, body string) []string {
	t.Helper()
	return marked(t, markup.HTML, "text/html; charset=utf-8", body)
}

func marked(t testing.TB, in func([]byte, markup.Options, markup.Visit) ([]byte, error), contentType, body string) (out []string) {
	t.Helper()
	o := markup.Options{URL: parse(t, pageURL), ContentType: contentType, Previews: true}
	_, err := in([]byte(body), o, func(r markup.Ref) (string, bool) {
		u, err := r.URL()
		switch {
		case err != nil, r.Role == markup.Cite, r.Role == markup.Service, r.Role == markup.Query, r.Role == markup.Base:
		case r.Role == markup.Link, r.Role == markup.Refresh:
			out = append(out, u.Key())
		default:
			out = append(out, "+"+u.Key())
		}
		return "", false
	})
	require.NoError(t, err)
	slices.Sort(out)
	return slices.Compact(out)
}

func byExtract(t testing.TB, body string) []string {
	t.Helper()
	in := input(t, []byte(body))
	in.Previews = true
	page, err := New().HTML(t.Context(), in)
	require.NoError(t, err)
	return keysOf(page)
}

var tableElements = []string{"a", "amp-iframe", "amp-img", "applet", "area", "audio", "b", "bgsound", "blockquote", "button", "del", "div", "embed", "font", "form", "iframe",
	"image", "img", "input", "input type=image", "ins", "link", "link rel=stylesheet", "link rel=next", "link rel=manifest", "link rel=preconnect",
	"link rel=preload", "meta", "meta property=og:image", "meta http-equiv=refresh", "object", "p", "q", "script", "source", "span", "track", "video",
	"svg", "svg><a", "svg><image", "svg><use", "svg><feImage", "svg><linearGradient", "svg><rect", "svg><script", "math", "math><a", "math><mi", "noframes><a",
	"table", "table><tbody", "table><tr", "table><tr><td", "table><tr><th", "table><thead", "table><tfoot"}

// Otherwise a mirror would keep files without links to them, or lack files that it shows.
func TestTables_EqualThoseOfMarkup(t *testing.T) {
	skipShort(t)
	attrs := []string{"action", "archive", "background", "cite", "clip-path", "code", "content", "cursor", "data", "dynsrc", "fill", "filter", "formaction", "href",
		"imagesrcset", "longdesc", "lowsrc", "manifest", "marker", "marker-mid", "mask", "ping", "poster", "profile", "src", "srcdoc", "srcset", "stroke", "style",
		"usemap", "xlink:href"}
	for name := range strings.FieldsSeq(`data-background data-background-image data-bg data-bgset data-hi-res-src data-lazy data-lazy-src data-lazy-srcset
		data-lazyload data-original data-original-set data-poster data-retina data-src data-srcset`) {
		attrs = append(attrs, name)
	}
	values := []string{"x", "x 1x, y 2x", "background:url(x);mask:url('y')", "0;url=x", "<img src=x><a href=y>", "#x", "data:,x"}
	n := 0
	for _, element := range tableElements {
		for _, attr := range attrs {
			if element == "image" && (attr == "lowsrc" || attr == "dynsrc") {
				continue // the tree has an img there, and markup the tag that was written, which never had them
			}
			for _, value := range values {
				body := fmt.Sprintf(`<body><%s %s="%s">`, element, attr, strings.ReplaceAll(value, "<", "&lt;"))
				ours, theirs := byExtract(t, body), byMarkup(t, body)
				assert.Equal(t, theirs, ours)
				n += len(ours)
			}
		}
	}
	assert.GreaterOrEqualf(t, n, 1000, "only %d references in all", n)
}
