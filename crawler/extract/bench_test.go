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

// TestHTML_AllocationsBesideTheTree bounds what is allocated in addition to the parser's own.
func TestHTML_AllocationsBesideTheTree(t *testing.T) {
	body := usual()
	if len(body) < 18<<10 || len(body) > 22<<10 {
		t.Fatalf("the page has %d octets", len(body))
	}
	x := New()
	whole := testing.AllocsPerRun(20, func() {
		page, err := x.HTML(context.Background(), input(t, body))
		if err != nil || len(page.Links) != 41 {
			t.Fatal(err, len(page.Links))
		}
	})
	tree := testing.AllocsPerRun(20, func() {
		if _, err := html.Parse(bytes.NewReader(body)); err != nil {
			t.Fatal(err)
		}
	})
	const links, fixed = 41, 45
	formatting := len(formattingTag.FindAll(body, -1)) // each is a comment with a text, and joins two texts
	if most := links + 2*formatting + fixed; whole-tree > float64(most) {
		t.Errorf("%v allocations beside the tree's %v; want at most %d: one per link, two per formatting tag and %d", whole-tree, tree, most, fixed)
	}
	t.Logf("%v allocations beside the tree's %v", whole-tree, tree)
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
