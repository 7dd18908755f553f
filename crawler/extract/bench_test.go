package extract

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/net/html"
)

func usual() []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html><head><meta charset=utf-8><title>A page</title><link rel=stylesheet href=/site.css></head><body><nav><ul>`)
	for i := range 20 {
		fmt.Fprintf(&b, `<li class="item"><a class="nav" href="/section/%d/">Section %d</a></li>`, i, i)
	}
	b.WriteString("</ul></nav><main>")
	for i := range 19 {
		fmt.Fprintf(&b, `<p class="text" id="p%d">%s <a href="article-%d.html#top">read <b>more</b></a> %s</p>`, i,
			strings.Repeat("Lorem ipsum dolor sit amet, ", 17), i, strings.Repeat("consectetur <i>elit</i> ", 16))
	}
	b.WriteString(`<img src="a.png"></main></body></html>`)
	return []byte(b.String())
}

func input(t testing.TB, body []byte) Input {
	return Input{URL: parse(t, pageURL), ContentType: "text/html; charset=utf-8", Body: bytes.NewReader(body), Size: int64(len(body)), Token: "mybot"}
}

func TestHTML_Allocations(t *testing.T) {
	x := New()
	allocs := func(body []byte, links int) float64 {
		return testing.AllocsPerRun(20, func() {
			page, err := x.HTML(context.Background(), input(t, body))
			if err != nil || len(page.Links) != links {
				t.Fatal(err, len(page.Links))
			}
		})
	}
	body := usual()
	if len(body) < 18<<10 || len(body) > 22<<10 {
		t.Fatalf("the page has %d octets", len(body))
	}
	const links, fixed = 41, 100
	n := allocs(body, links)
	assert.LessOrEqual(t, n, float64(14*links+fixed))
	twice := bytes.Replace(body, []byte("</main>"), []byte("</main>"+strings.Repeat("<p class=x>more <b>text</b> and <!-- a comment -->", 300)), 1)
	if m := allocs(twice, links); m > n+40 { // buffers grow, and with the race detector some are lost
		t.Errorf("%v allocations with 300 paragraphs more, %v without", m, n)
	}
	t.Logf("%v allocations", n)
}

func BenchmarkHTML(b *testing.B) {
	body := usual()
	for name, mention := range map[string]func(Mention){"whole": nil, "mentions": func(Mention) {}} {
		b.Run(name, func(b *testing.B) {
			x := New()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				in := input(b, body)
				in.Mention = mention
				if _, err := x.HTML(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("tree alone", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := html.Parse(bytes.NewReader(body)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
