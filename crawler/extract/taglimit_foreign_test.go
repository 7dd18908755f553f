package extract

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/crawler/foreigntest"
)

const oneLink = `<a href="/last"><img src="/picture">`

// linksOf lists the links of a tree without template contents.
func linksOf(n *html.Node, all map[string]bool) {
	if n.Type == html.ElementNode && n.Data == "template" && n.Namespace == "" {
		return
	}
	for _, a := range n.Attr {
		if (a.Key == "href" || a.Key == "src") && !formattingTag.MatchString("<"+restore(wasTag(n))+" ") {
			in := n.Namespace
			if in == "svg" && n.Data == "a" {
				in = "" // a link as good as HTML's; an open <b> in a <desc> decides which
			}
			all[in+" "+restore(wasTag(n))+" "+a.Key+" "+restore(a.Val)] = true
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		linksOf(c, all)
	}
}

func sameLinks(t *testing.T, page string) {
	t.Helper()
	if strings.Contains(page, mark) {
		return
	}
	whole, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return
	}
	left := newBudget()
	doc, over, err := parsed(strings.NewReader(page), &left)
	require.NoError(t, err)
	require.Empty(t, over, page)
	got, want := map[string]bool{}, map[string]bool{}
	linksOf(doc.Nodes[0], got)
	linksOf(whole, want)
	for l := range want {
		assert.Truef(t, got[l], "%q: lost %q", page, l)
	}
	for l := range got {
		assert.Truef(t, want[l], "%q: made up %q", page, l)
	}
}

func TestTame_LeavesForeignContentAndScriptsAsTheyEnd(t *testing.T) {
	for _, page := range []string{
		`<math><b>v</b><a href="1">`, `<svg><em>x</em><template><a href=1>`, `<script><!--<s <script></script><img src=1>`,
		`<svg><font><a href=1>`, `<svg><font size=1><a href=1>`, `<svg><font size=1><template><a href=1>`, `<math><mi><b><a href=1>`,
		`<svg><desc><b></desc><a href=1></svg><a href=2>`, `<a href=1><i<i src=2>`, `<script><!--<b <script></script><img src=1>--></script><img src=2>`,
	} {
		sameLinks(t, page)
	}
}

func FuzzTame_LinksEqualThoseOfTheWholeTree(f *testing.F) {
	for _, page := range foreignPages(f) {
		f.Add(page + oneLink)
	}
	f.Fuzz(func(t *testing.T, page string) {
		if len(page) < 1<<12 {
			sameLinks(t, page)
		}
	})
}

func TestTame_HasTheLinksOfForeignPagesInARow(t *testing.T) {
	pages := foreignPages(t)
	random := rand.New(rand.NewPCG(1, 4))
	for range 5_000 {
		var page strings.Builder
		for range 2 + random.IntN(3) {
			page.WriteString(pages[random.IntN(len(pages))] + oneLink)
		}
		if sameLinks(t, page.String()); t.Failed() {
			return
		}
	}
}

func foreignPages(t testing.TB) (pages []string) {
	_, cases, err := foreigntest.Read("html5lib-inputs")
	require.NoError(t, err)
	for _, c := range cases {
		pages = append(pages, c.Asked[0])
	}
	return slices.Clip(pages)
}
