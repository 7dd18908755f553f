package mirror

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCost_LongHead(t *testing.T) {
	noise := make([]byte, 4*headOctets)
	rand.NewChaCha8([32]byte{1}).Read(noise)
	long := "200 OK\r\nX-Noise: " + hex.EncodeToString(noise) + "\r\n"
	dir := t.TempDir()
	crawled(t, dir,
		got{url: "http://a.test/page", head: long + "Content-Type: text/css", body: "a{}"},
		got{url: "http://a.test/secret", head: long + "Content-Type: text/html\r\nX-Robots-Tag: noarchive", body: "not for a copy"},
		got{url: "http://a.test/unnamed", head: long + "X-Last: 1", body: "<!doctype html><title>it is a page</title>" + strings.Repeat("x", 50_000)})
	built(t, options(t, dir))
	assert.Equal(t, []string{"a.test/page.css", "a.test/unnamed.html"}, filesOf(treeOf(t, Tree(dir))))
}

// site is 1,000 pages of 20 KiB with 40 links, and 200 images in them.
func site(t testing.TB, dir string) {
	t.Helper()
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
	crawled(t, dir, all...)
}

func TestAFileTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	dir := t.TempDir()
	site(t, dir)
	o := options(t, dir)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := built(t, o)
	runtime.ReadMemStats(&after)
	const most = 400                                                        // for 33 links in the mean
	if each := int64(after.Mallocs-before.Mallocs) / s.Files; each > most { //nolint:gosec // there are fewer
		t.Errorf("%d allocations for each of %d files, more than %d", each, s.Files, most)
	} else {
		t.Logf("%d allocations and %d octets for each of %d files", each, int64(after.TotalAlloc-before.TotalAlloc)/s.Files, s.Files) //nolint:gosec // as above
	}
}
