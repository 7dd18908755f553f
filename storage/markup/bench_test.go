package markup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkHTML rewrites a page of many kinds of references in UTF-8. It reports bytes of input per second.
func BenchmarkHTML(b *testing.B) {
	in, err := os.ReadFile(filepath.Join("testdata", "torture.html"))
	if err != nil {
		b.Fatal(err)
	}
	page := append(bytes.ReplaceAll(in, []byte("iso-8859-1"), []byte("utf-8")), strings.Repeat(`<li class="item"><a class="nav" href="/section/">Section &amp; more</a> Lorem ipsum dolor sit amet, <i>elit</i></li>`, 500)...)
	bench(b, HTML, page)
}

func BenchmarkHTML_Latin1(b *testing.B) {
	page := []byte("<meta charset=iso-8859-1>" + strings.Repeat("<p>\xE9t\xE9 <a href=\"/section/\">Section</a> Lorem ipsum dolor sit amet, consectetur elit</p>", 500))
	bench(b, HTML, page)
}

func BenchmarkCSS(b *testing.B) {
	bench(b, CSS, []byte(strings.Repeat(".nav > li:hover { color: #336699; background: url(\"../img/nav.png\") no-repeat 0 -24px; margin: 0 auto }\n", 500)))
}

func bench(b *testing.B, rewrite rewriter, in []byte) {
	o := options(b)
	o.ContentType = ""
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rewrite(in, o, func(Ref) (string, bool) { return "../x.html", true }); err != nil {
			b.Fatal(err)
		}
	}
}
