package extract

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// usual is a page of 20 KiB with 40 links, as most are.
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

// TestHTML_Allocations bounds what a page costs: so much for each of its tags that stay, and nothing for the rest.
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
	if most := float64(14*links + fixed); n > most {
		t.Errorf("%v allocations; want at most %v: 14 per link and %v", n, most, fixed)
	}
	twice := bytes.Replace(body, []byte("</main>"), []byte("</main>"+strings.Repeat("<p class=x>more <b>text</b> and <!-- a comment -->", 300)), 1)
	if m := allocs(twice, links); m > n+40 { // buffers grow, and with the race detector some are lost
		t.Errorf("%v allocations with 300 paragraphs more, %v without", m, n)
	}
	t.Logf("%v allocations", n)
}

func BenchmarkHTML(b *testing.B) {
	body := usual()
	b.Run("whole", func(b *testing.B) {
		x := New()
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.HTML(context.Background(), input(b, body)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("mentions", func(b *testing.B) {
		x := New()
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			in := input(b, body)
			in.Mention = func(Mention) { n++ }
			if _, err := x.HTML(context.Background(), in); err != nil {
				b.Fatal(err)
			}
		}
		if n != b.N*41 {
			b.Fatal(n)
		}
	})
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
