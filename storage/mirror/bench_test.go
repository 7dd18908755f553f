package mirror

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBuild makes the mirror of 1,000 pages of 20 KiB with 40 links and their 200 pictures, afresh and again.
func BenchmarkBuild(b *testing.B) {
	dir := b.TempDir()
	var all []got
	for i := range 1000 {
		var body strings.Builder
		for j := range 40 {
			fmt.Fprintf(&body, `<p>%s<a href="/section-%d/page-%d.html">x</a>`, strings.Repeat("words and words ", 30), (i*7+j)%10, (i*7+j)%1000)
		}
		fmt.Fprintf(&body, `<img src="/i%d.png">`, i%200)
		all = append(all, got{url: fmt.Sprintf("http://a.test/section-%d/page-%d.html", i%10, i), body: body.String()})
	}
	for i := range 200 {
		all = append(all, got{url: fmt.Sprintf("http://a.test/i%d.png", i), body: strings.Repeat(fmt.Sprint(i), 10000)})
	}
	crawled(b, dir, all...)
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("fresh=%t", fresh), func(b *testing.B) {
			o := options(b, dir)
			o.Fresh = fresh
			built(b, o)
			b.ReportAllocs()
			for b.Loop() {
				built(b, o)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/1.2, "ms/1000files")
		})
	}
}
