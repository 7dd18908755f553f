package markup

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHostile_MemoryIsInProportion(t *testing.T) {
	const size = 2 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	var names strings.Builder
	for i := range size / 7 {
		fmt.Fprintf(&names, " a%05x", i)
	}
	for name, page := range map[string]string{
		"attributes, each another":  "<a" + names.String() + ">",
		"attributes, the same":      "<a " + fill("href ") + ">",
		"integrity again and again": "<script src=x " + fill("integrity ") + ">",
		"candidates":                "<img crossorigin srcset='" + fill("a, ") + "'>",
		"quotes without quotes":     "<p style=a:url(x)" + fill(`"`) + ">",
		"entities":                  "<iframe srcdoc='" + fill("&lt;") + "'>",
		"entities in a style":       "<p style='" + fill("&lt;") + "a:url(x)'>",
		"tags":                      fill("<p>"),
		"svg":                       fill("<svg>"),
		"svg in templates":          fill("<template><svg><title>"),
		"names in svg":              "<svg " + fill(" a:href") + ">",
		"parentheses":               "<style>" + fill("url(\"a\" ("),
		"comment":                   "<!--" + fill("--"),
		"script":                    "<script>" + fill("<!--<script>"),
	} {
		t.Run(name, func(t *testing.T) {
			in := []byte(page)
			o := options(t)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.NoError(t, Find(HTML, in, o, func(Ref) {}))
			runtime.ReadMemStats(&after)
			n := after.TotalAlloc - before.TotalAlloc
			assert.Truef(t, n <= 4*uint64(len(in)), "%d octets took %.1f times as many", len(in), float64(n)/float64(len(in)))
			_, err := HTML(in, o, func(Ref) (string, bool) { return "x", true })
			require.NoError(t, err)
		})
	}
}

func TestHostile_PagesWithinPages(t *testing.T) {
	text := `<a href=x>`
	for range 6 {
		text = `<iframe srcdoc="` + strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(text) + `"></iframe>`
	}
	var removed, seen int
	o := options(t)
	o.Removed = func(Removal) { removed++ }
	_, err := HTML([]byte(text), o, func(Ref) (string, bool) { seen++; return "", false })
	assert.Truef(t, err == nil && seen == 0 && removed == 1, "%d references, %d unread, %v", seen, removed, err)
}
