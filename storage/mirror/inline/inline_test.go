package inline

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"curtsy/storage/markup"
)

// Whatever bytes and types there are, a data: URL has them, in characters that every place of a URL takes.
func FuzzURLHoldsTheBytes(f *testing.F) {
	for _, s := range []string{"", "a{b:c}", "</script>", "</style><!--]]>", "\x00\xff\"'<>&%#\\ \n", strings.Repeat("%", 50), "data:text/css,a"} {
		f.Add("text/css; charset=utf-8", []byte(s))
		f.Add("image/png\"><script>", []byte(s))
	}
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		for _, role := range []markup.Role{markup.Embed, markup.Style, markup.Script} {
			s := URL(Type(contentType, role), body)
			for i := range len(s) {
				if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte("\"'<>\\`()&#", c) >= 0 {
					t.Fatalf("%q has %q", s, c)
				}
			}
			head, data, _ := strings.Cut(strings.TrimPrefix(s, "data:"), ",")
			var got string
			var err error
			if media, is := strings.CutSuffix(head, ";base64"); is {
				var b []byte
				b, err = base64.StdEncoding.DecodeString(data)
				got, head = string(b), media
			} else {
				got, err = url.PathUnescape(data)
			}
			if want := string(body); err != nil || got != want && (want != "" || got != " ") {
				t.Fatalf("%q holds %q, want %q: %v", s, got, want, err)
			}
			if role == markup.Style && !strings.HasPrefix(head, "text/css") || role == markup.Script && !strings.HasPrefix(head, "text/javascript") {
				t.Fatalf("%q is no %d", s, role)
			}
		}
	})
}

func TestWhatBecomesOfAReference(t *testing.T) {
	for _, c := range []struct {
		ref        markup.Ref
		media, ext string
		want       Way
	}{
		{markup.Ref{Role: markup.Link, Element: "a", Attr: "href"}, "image/png", ".png", Beside},
		{markup.Ref{Role: markup.Embed, Element: "img", Attr: "src"}, "image/png", ".png", Inside},
		{markup.Ref{Role: markup.Embed, Element: "img", Attr: "src"}, "text/html", ".html", Beside},
		{markup.Ref{Role: markup.Embed, Element: "source", Attr: "srcset"}, "image/png", ".png", Inside},
		{markup.Ref{Role: markup.Embed, Element: "source", Attr: "src"}, "video/mp4", ".mp4", Beside},
		{markup.Ref{Role: markup.Embed, Element: "object", Attr: "data"}, "image/svg+xml", ".svg", Beside},
		{markup.Ref{Role: markup.Embed, Element: "use", Attr: "href"}, "image/svg+xml", ".svg", Beside},
		{markup.Ref{Role: markup.Embed, Element: "image", Attr: "xlink:href"}, "image/svg+xml", ".svg", Inside},
		{markup.Ref{Role: markup.Embed, Element: "rect", Attr: "fill"}, "image/svg+xml", ".svg", Beside},
		{markup.Ref{Role: markup.Embed, Attr: "url"}, "application/octet-stream", ".woff2", Inside},
		{markup.Ref{Role: markup.Embed, Attr: "url"}, "application/vnd.ms-fontobject", ".eot", Nothing},
		{markup.Ref{Role: markup.Embed, Attr: "url"}, "text/html", ".html", Beside},
		{markup.Ref{Role: markup.Embed, Element: "div", Attr: "style"}, "image/png", ".png", Inside},
		{markup.Ref{Role: markup.Embed, Element: "link", Attr: "href", Rel: "ICON"}, "image/png", ".png", Inside},
		{markup.Ref{Role: markup.Embed, Element: "link", Attr: "href", Rel: "preload"}, "font/woff2", ".woff2", Nothing},
		{markup.Ref{Role: markup.Embed, Element: "link", Attr: "href", Rel: "preload"}, "text/javascript", ".js", Beside},
		{markup.Ref{Role: markup.Embed, Element: "link", Attr: "href", Rel: "modulepreload"}, "text/javascript", ".js", Beside},
		{markup.Ref{Role: markup.Style, Element: "link", Attr: "href"}, "text/css", ".css", Inside},
		{markup.Ref{Role: markup.Style, Element: "link", Attr: "href"}, "text/plain", ".css", Beside},
		{markup.Ref{Role: markup.Style, Attr: "import"}, "", ".css", Inside},
		{markup.Ref{Role: markup.Script, Element: "script", Attr: "src"}, "application/javascript", ".js", Inside},
		{markup.Ref{Role: markup.Script, Element: "script", Attr: "src"}, "text/html", ".html", Beside},
		{markup.Ref{Role: markup.Frame, Element: "iframe", Attr: "src"}, "text/html", ".html", Beside},
		{markup.Ref{Role: markup.ManifestLink, Element: "link", Attr: "href"}, "application/manifest+json", ".webmanifest", Beside},
		{markup.Ref{Role: markup.Lazy, Element: "img", Attr: "data-src"}, "image/png", ".png", Inside},
		{markup.Ref{Role: markup.Lazy, Element: "iframe", Attr: "data-src"}, "text/html", ".html", Beside},
	} {
		if got := Of(c.ref, c.media, "a.test/x"+c.ext); got != c.want {
			t.Errorf("%+v to %s: %d, want %d", c.ref, c.media, got, c.want)
		}
	}
}

func TestModulesAreTold(t *testing.T) {
	for script, want := range map[string]bool{
		"import './a.js'": true, "export default 1": true, "a();import{b}from'./b.js'": true, "  import x from 'y'": true,
		"import('./a.js')": true, "x=import.meta.url": true, "important()": false, "// plain\nvar a = 'import';": false, "reimport(1)": false,
	} {
		if got := IsModule([]byte(script)); got != want {
			t.Errorf("%q: %t", script, got)
		}
	}
}
