package markup

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

func TestAttrLimitCountsAsTheTokenizerDoes(t *testing.T) {
	const most = 1 << 10
	r := rand.New(rand.NewPCG(3, 5))
	pieces := []string{"<", ">", "a", "p", "=", "\"", "'", " ", "/", "<p ", "<a b=c", "<svg>", "<script>", "</script>", "<script ", "\n", "x=y", "<!--", "-->", "</", "<math/>", "\t", "b"}
	for range 100_000 {
		var b strings.Builder
		for range 1 + r.IntN(20) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		page := b.String()
		l := New(iotest.OneByteReader(strings.NewReader(page)), most)
		_, err := io.Copy(io.Discard, l)
		require.NoError(t, err)
		got, want := most-l.Left(), 0
		root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
		if err != nil {
			continue
		}
		for n := range root.Descendants() {
			if n.Parent != nil && n.DataAtom != atom.Html && n.DataAtom != atom.Body {
				want = max(want, len(n.Attr))
			}
		}
		require.GreaterOrEqualf(t, got, want, "%q: %d attributes counted, an element has %d", page, got, want)
	}
	for _, c := range []struct {
		page string
		want int
	}{
		{`<a href=/ title="a b c">`, 2}, {"<p a b/c d = e f='g'>x y z", 5}, {"<script src=a>if (a<b c d e) { }</script><p a>", 8},
		{"<svg><script>a<b c d</script>", 3}, {"a < b c d", 0}, {"</p a b>", 2}, {"<p =a =>", 1}, {"<_a b><:a b><é b>", 3},
	} {
		l := New(strings.NewReader(c.page), most)
		_, err := io.Copy(io.Discard, l)
		assert.Truef(t, err == nil && most-l.Left() == c.want, "%s: %d attributes, want %d", c.page, most-l.Left(), c.want)
	}
}

func TestAPageEndsWhereItHasTooManyAttributes(t *testing.T) {
	const page = "<a b=1 c=2><p d e><i>text</i>"
	for most, want := range map[int]string{0: "<a ", 2: "<a b=1 c=2><p ", 3: "<a b=1 c=2><p d ", 4: page} {
		l := New(iotest.OneByteReader(strings.NewReader(page)), most)
		got, err := io.ReadAll(l)
		assert.Truef(t, err == nil && string(got) == want && l.Over() == (want != page), "%d allowed: %q, over %v, %v; want %q", most, got, l.Over(), err, want)
	}
}
