package markup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

// surveyed formats a survey: ELEMENT.ATTRIBUTE LINE:COLUMN REFERENCE "TEXT", and #NAME LINE:COLUMN.
func surveyed(t *testing.T, read Rewriter, contentType, in string) string {
	t.Helper()
	u, err := canon.Parse("http://site.test/page")
	require.NoError(t, err)
	var b strings.Builder
	err = Survey{
		Ref: func(r Ref, at *Place) {
			line, column := at.Line()
			fmt.Fprintf(&b, "%s.%s %d:%d %s", r.Element, r.Attr, line, column, r.Raw)
			if text := at.Text(); text != "" {
				fmt.Fprintf(&b, " %q", text)
			}
			b.WriteByte('\n')
		},
		Anchor: func(name string, byID bool, at *Place) {
			line, column := at.Line()
			fmt.Fprintf(&b, "#%s %d:%d %v\n", name, line, column, byID)
		},
	}.Of(read, []byte(in), Options{URL: u, ContentType: contentType})
	assert.NoError(t, err)
	return b.String()
}

// HTML Standard 7.4.6.4: a fragment refers to the element with that id, else to the a element with that name.
func TestSurvey_ReportsReferencesAndAnchors(t *testing.T) {
	tests := []struct {
		name     string
		read     Rewriter
		kind, in string
		want     string
	}{
		{"a page", HTML, "text/html", "<p id=top>é <a href=\"x\">to <b>x</b>\n now</a>\n\t<a name=old href='#top'><img src=p.png alt='a &amp; b'></a>",
			"#top 1:7 true\na.href 1:22 x \"to x now\"\n#old 3:10 false\na.href 3:20 #top \"a & b\"\nimg.src 3:35 p.png\n"},
		{"empty ids and names, in templates, of other elements", HTML, "text/html", "<i id=''><template><i id=no></template><form name=no><svg><g id=yes></svg>", "#yes 1:65 true\n"},
		{"a page within a page", HTML, "text/html", "<p>\n<iframe srcdoc='<i id=no></i>\n<a href=in>'></iframe><a href=out>", "a.href 2:17 in\na.href 3:31 out\n"},
		{"a style element and an attribute", HTML, "text/html", "<style>\n a{b:url(x);\n c:url(y)}</style><p style='d:url(z)'>", "style.url 2:6 x\nstyle.url 3:4 y\np.style 3:29 z\n"},
		{"a style sheet", CSS, "text/css", "@import 'a';\n\nb{c:url( x )}", ".import 1:9 a\n.url 3:5 x\n"},
		{"a page in XML", XHTML, "application/xhtml+xml", "<html xmlns='http://www.w3.org/1999/xhtml'>\n<a id='i' href='x'>t</a></html>", "#i 2:8 true\na.href 2:17 x \"t\"\n"},
		{"SVG", SVG, "image/svg+xml", "<svg>\n<a href='x'/><use href='#g'/></svg>", "a.href 2:10 x\n"},
		{"another charset", HTML, "text/html; charset=utf-16le", "<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00", "a.href 1:9 x\n"},
		{"links that are not closed", HTML, "text/html", "<a href=x>one<a href=y>two", "a.href 1:9 x \"one\"\na.href 1:22 y \"two\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equalf(t, tt.want, surveyed(t, tt.read, tt.kind, tt.in), "%q", tt.in)
		})
	}
}

func TestSurvey_BoundsTheTextOfALink(t *testing.T) {
	for _, inner := range []string{strings.Repeat("é", 10000), strings.Repeat("<i>", 10000), strings.Repeat("< ", 10000), strings.Repeat("<img alt='xyz'>", 10000)} {
		got := surveyed(t, HTML, "text/html", "<a href=x>"+inner+"</a>")
		assert.LessOrEqualf(t, len(got), 900, "%.20q: %d bytes are reported", inner, len(got))
	}
}
