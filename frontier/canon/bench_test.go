package canon

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// costs are inputs with the allocations of Parse: the URL, its authority, and a key that differs. Only hosts outside
// plain ASCII take more.
var costs = []struct {
	name, in string
	allocs   float64
}{
	{"plain", "https://www.example.com/section/2024/05/article-name.html?id=12345&lang=en", 2},
	{"root", "http://example.com", 2},
	{"port", "http://example.com:8080/a", 2},
	{"fragment", "https://www.example.com/docs/api/index.html#section-4", 2},
	{"dots", "https://www.example.com/a/b/../../c/./d.html", 2},
	{"escapes", "https://de.example.org/wiki/%C3%9Cbersicht_%28Begriffskl%C3%A4rung%29", 2},
	{"key differs", "https://www.example.com/%7ejoe/index.html", 3},
	{"encoded", "https://ja.example.org/wiki/メインページ?q=日本 語", 2},
	{"ipv4", "http://127.0.0.1:8080/a", 2},
	{"ipv6", "http://[2001:db8::1]/a", 2},
	{"idna", "https://bücher.example/a", 11},
	{"a-label", "https://xn--bcher-kva.example/a", 8},
}

func TestParse_Allocations(t *testing.T) {
	for _, tt := range costs {
		got := testing.AllocsPerRun(100, func() {
			_, err := Parse(tt.in)
			require.NoError(t, err)
		})
		assert.LessOrEqualf(t, got, tt.allocs, "%s: %v allocations; want at most %v", tt.name, got, tt.allocs)
	}
}

// refs are references of a page at benchBase, with the allocations of Resolve.
var refs = []struct {
	name, ref string
	allocs    float64
}{
	{"fragment", "#top", 0},
	{"query", "?page=2", 1},
	{"root-relative", "/static/css/main.css?v=3", 1},
	{"path-relative", "other-article.html", 1},
	{"parent-relative", "../../img/photo.jpg", 1},
	{"same site", "https://www.example.com/section/about.html", 1},
	{"scheme-relative", "//www.example.com/section/about.html", 1},
	{"other site", "https://cdn.example.net/lib/jquery.min.js", 2},
	{"encoded", "メインページ", 1},
}

const benchBase = "https://www.example.com/section/2024/05/article-name.html?id=12345"

func TestResolve_Allocations(t *testing.T) {
	base := mustParse(t, benchBase)
	for _, tt := range refs {
		got := testing.AllocsPerRun(100, func() {
			_, err := base.Resolve(tt.ref)
			require.NoError(t, err)
		})
		assert.LessOrEqualf(t, got, tt.allocs, "%s: %v allocations; want at most %v", tt.name, got, tt.allocs)
	}
	for _, ref := range []string{"mailto:a@example.com", "javascript:void(0)"} {
		got := testing.AllocsPerRun(100, func() { _, _ = base.Resolve(ref) })
		assert.Truef(t, got <= 1, "refusing %q: %v allocations; want the error alone", ref, got)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, tt := range costs {
		b.Run("canon/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Parse(tt.in)
			}
		})
		b.Run("whatwg-url/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = oracleParser.Parse(tt.in)
			}
		})
		b.Run("net-url/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = url.Parse(tt.in)
			}
		})
	}
}

func BenchmarkResolve(b *testing.B) {
	base, err := Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	oracleBase, err := oracleParser.Parse(benchBase)
	if err != nil {
		b.Fatal(err)
	}
	for _, tt := range refs {
		b.Run("canon/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = base.Resolve(tt.ref)
			}
		})
		b.Run("whatwg-url/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = oracleBase.Parse(tt.ref)
			}
		})
	}
}
