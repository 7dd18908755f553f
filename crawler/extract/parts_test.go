package extract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKindOf_TrustsTheDeclaredType(t *testing.T) {
	for _, tt := range []struct {
		contentType, path, head string
		want                    Kind
	}{
		{"text/html", "/a.css", "", KindPage}, {"TEXT/CSS; charset=x", "/a", "", KindStyle},
		{"image/svg+xml", "/a.png", "", KindSVG},
		{"application/manifest+json", "/a", "", KindManifest},
		{"application/json", "/manifest.json", "", KindManifest},
		{"application/octet-stream", "/d/Site.WebManifest", "", KindManifest},
		{"application/json", "/data.json", "", 0}, {"application/json", "/my-manifest.json", "", 0},
		{"text/html", "/manifest.json", "", KindPage},
		{"text/plain", "/a.css", "", 0}, // no browser applies it
		{"image/png", "/a.svg", "", 0}, {"text/javascript", "/a", "", KindScript},
		{"", "/a.mjs", "", KindScript}, {"text/plain", "/a.js", "", 0}, {"application/xml", "/a", "", KindXML},
		{"", "/a.css", "p{}", KindStyle}, {"", "/A.SVG", "x", KindSVG},
		{"", "/a.css", "<!DOCTYPE html>", KindPage}, {"", "/a.css/", "", 0}, {"", "", "", 0},
	} {
		assert.Equalf(t, tt.want, KindOf(tt.contentType, tt.path, []byte(tt.head)), "%q, %q, %q", tt.contentType, tt.path, tt.head)
	}
}

func parts(t testing.TB, kind Kind, contentType, body string) Page {
	t.Helper()
	in := Input{URL: parse(t, pageURL), ContentType: contentType, Header: http.Header{"X-Robots-Tag": {"nofollow"}}, Body: strings.NewReader(body), Size: int64(len(body)), Token: "mybot"}
	page, err := New().Parts(context.Background(), in, kind)
	require.NoError(t, err)
	assert.True(t, page.Robots.NoFollow, "the directive of the header is lost")
	return page
}

func TestParts_ByKind(t *testing.T) {
	for _, tt := range []struct {
		rule string
		kind Kind
		body string
		want string
	}{
		{"imports and pictures", KindStyle, `@charset "utf-8"; @import url(a.css) layer(x) screen; @import 'b.css'; p { background: url("/c.png") }`,
			"+import /dir/a.css; +import /dir/b.css; +url /c.png"},
		{"fonts", KindStyle, `@font-face { font-family: "f"; src: url(f.woff2) format("woff2"), url("f.woff?#x") format("woff") }`, "+url /dir/f.woff2; +url /dir/f.woff?"},
		{"the sheet itself and data are not listed", KindStyle, `a{fill:url(#x);background:url(data:image/png;base64,x)}`, ""},
		{"one by key", KindStyle, `a{background:url(x)}b{background:url(./x)}`, "+url /dir/x"},
		{"comments and namespaces", KindStyle, `/* url(a) */ @namespace "b"; @namespace x url(c);`, ""},
		{"nothing", KindStyle, "", ""},
		{"svg", KindSVG, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><image href="a.png"/><use xlink:href="s.svg#i"/><a href="p.html"/><style>@import "b.css";</style></svg>`,
			"+image href /dir/a.png; +use xlink:href /dir/s.svg; a href /dir/p.html; +style import /dir/b.css"},
		{"svg with a style sheet, and a link not to follow", KindSVG, `<?xml-stylesheet href="a.css"?><svg><a rel="nofollow" xlink:href="b"/></svg>`, "+xml-stylesheet href /dir/a.css; a xlink:href /dir/b nofollow"},
		{"module", KindScript, `import a from "./a.js"; import "react"; import("./c.js"); export {b} from "/b.js?v=1"`, "+import /dir/a.js; +import /b.js?v=1"},
		{"style sheets of XML", KindXML, `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="a.xsl"?><a href="no" xlink:href="no"><img src="no"/></a>`, "+xml-stylesheet href /dir/a.xsl"},
		{"style sheets of XSLT", KindXML, `<xsl:stylesheet><xsl:import href="b.xsl"/><xsl:include href="/c.xsl"/><xsl:template><a href="{@no}"/></xsl:template></xsl:stylesheet>`, "+xsl:import href /dir/b.xsl; +xsl:include href /c.xsl"},
		{"manifest", KindManifest, `{"start_url": "/?app", "scope": "/s", "shortcuts": [{"url": "a"}], "icons": [{"src": "i.png"}, {"src": "/j.png"}]}`, " /?app;  /dir/a; + /dir/i.png; + /j.png"},
	} {
		page := parts(t, tt.kind, "", tt.body)
		got := lines(page)
		if tt.kind == KindManifest {
			for i := range page.Links {
				page.Links[i].Element, page.Links[i].Attr = "", ""
			}
			got = lines(page)
		}
		assert.Equal(t, tt.want, got, tt.rule)
		assert.Empty(t, page.Unparsed, tt.rule)
	}
}

func TestParts_InvalidManifestIsCounted(t *testing.T) {
	if page := parts(t, KindManifest, "", "<!DOCTYPE html>"); page.Unparsed != UnparsedParts || len(page.Links) != 0 {
		t.Errorf("%q, %s", page.Unparsed, lines(page))
	}
}

func TestRule22_PartsAreBoundedLikePages(t *testing.T) {
	var b strings.Builder
	for i := range MaxLinks + 10 {
		fmt.Fprintf(&b, "a{background:url(/%d)}", i)
	}
	b.WriteString("a{background:url(/0)}")
	page := parts(t, KindStyle, "text/css", b.String())
	if len(page.Links) != MaxLinks || page.Dropped != 10 || page.Repeats != 1 {
		t.Errorf("%d links, %d dropped, %d repeats", len(page.Links), page.Dropped, page.Repeats)
	}
	first := "a{background:url(/first)}"
	page = parts(t, KindStyle, "text/css", first+strings.Repeat(" ", MaxParse-len(first))+"a{background:url(/last)}")
	assert.Equal(t, "+url /first", lines(page))
	assert.Equal(t, UnparsedLong, page.Unparsed)
}

func TestParts_OnlyBodyFailuresAreErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	in := Input{URL: parse(t, pageURL), Body: faulty{strings.NewReader("p{"), broken}}
	if page, err := New().Parts(context.Background(), in, KindStyle); !errors.Is(err, broken) || page.Links != nil {
		t.Errorf("%v, %+v", err, page)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in.Body = readFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, "p{}"), nil
	})
	if _, err := New().Parts(ctx, in, KindStyle); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPreviews_AreListedIfEnabled(t *testing.T) {
	body := `<meta property=og:image content=x.png><meta name=twitter:image content=y.png><meta name=description content=z>`
	in := Input{URL: parse(t, pageURL), Body: strings.NewReader(body), Previews: true}
	page, err := New().HTML(context.Background(), in)
	if want := "+meta content /dir/x.png; +meta content /dir/y.png"; err != nil || lines(page) != want {
		t.Errorf("%v: %s; want %s", err, lines(page), want)
	}
}

func TestSrcdoc_IsReadThreeDeep(t *testing.T) {
	doc := "<img src=/4>"
	for i := 3; i >= 0; i-- {
		doc = fmt.Sprintf(`<img src=/%d><iframe srcdoc="%s"></iframe>`, i, strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(doc))
	}
	page := extract(t, doc)
	if want := "+img src /0; +img src /1; +img src /2; +img src /3"; lines(page) != want || page.Unparsed != UnparsedNested {
		t.Errorf("%s, %q; want %s", lines(page), page.Unparsed, want)
	}
}

func FuzzStyle_ElementAndFile(f *testing.F) {
	f.Add(`@import "a"; p { background: url(b) } @font-face { src: url("c") }`)
	f.Add(`p{background:image-set("a" 1x,url(b) 2x)} /* url(c) */ url(`)
	f.Fuzz(func(t *testing.T, sheet string) {
		if strings.ContainsAny(sheet, "<\x00\r\x01") || !strings.ContainsAny(sheet, "(@") || strings.HasPrefix(sheet, "\ufeff") || strings.ToValidUTF8(sheet, "") != sheet || len(sheet) > 1<<16 {
			return
		}
		file := parts(t, KindStyle, "text/css; charset=utf-8", sheet)
		page := extract(t, "<style>"+sheet+"</style>")
		require.Len(t, file.Links, len(page.Links))
		require.Equal(t, mentions(page), mentions(file))
		for i, l := range file.Links {
			if o := page.Links[i]; o.URL != l.URL || !o.Embed || !l.Embed || o.Attr != l.Attr {
				t.Fatalf("file %s, page %s", lines(file), lines(page))
			}
		}
	})
}

func TestHostile_ManyStylesAndPagesInAttributes(t *testing.T) {
	skipShort(t)
	for rule, one := range map[string]string{
		"styles":          `<p style="x(">`,
		"formatting":      `<b style="url(a)">`,
		"pages":           `<iframe srcdoc="<p>"></iframe>`,
		"pages and bases": `<iframe srcdoc="<base href=/b/><img src=a>"></iframe>`,
		"style elements":  `<style>@import(</style>`,
		"lazy":            `<i data-srcset="a,b,c">`,
	} {
		page := extract(t, strings.Repeat(one, 20_000)+"<a href=last>")
		if n := len(page.Links); n == 0 || page.Links[n-1].URL.Path() != "/dir/last" || n > 4 || page.Unparsed != "" {
			t.Errorf("%s: %s, %q", rule, lines(page), page.Unparsed)
		}
	}
}
