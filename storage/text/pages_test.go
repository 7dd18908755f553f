package text

import (
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	readability "codeberg.org/readeck/go-readability/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// testPages are Mozilla's test pages in the module of package readability, with the expected text; with -short every sixth.
func testPages(tb testing.TB) (pages map[string][2]string) {
	tb.Helper()
	dir, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "codeberg.org/readeck/go-readability/v2").Output()
	if err != nil {
		tb.Skipf("where the module is, go does not say: %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "test-pages", "*", "source.html"))
	if err != nil || len(names) == 0 {
		tb.Skip("the module has no test pages here")
	}
	pages = map[string][2]string{}
	for i, name := range names {
		if testing.Short() && i%6 > 0 {
			continue
		}
		source, err := os.ReadFile(name)
		require.NoError(tb, err)
		expected, err := os.ReadFile(filepath.Join(filepath.Dir(name), "expected.html"))
		if err != nil {
			continue
		}
		pages[filepath.Base(filepath.Dir(name))] = [2]string{string(source), string(expected)}
	}
	return pages
}

func bag(s string) map[string]int {
	b := map[string]int{}
	for w := range strings.FieldsSeq(s) {
		b[w]++
	}
	return b
}

func f1(got, want map[string]int) float64 {
	common, all := 0, 0
	for w, n := range got {
		common += min(n, want[w])
		all += n
	}
	for n := range maps.Values(want) {
		all += n
	}
	return 2 * float64(common) / float64(max(all, 1))
}

func treeText(tb testing.TB, page string) string {
	tb.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(page), html.ParseOptionEnableScripting(false))
	require.NoError(tb, err)
	var inert []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "template" {
			inert = append(inert, n)
		}
	}
	for _, n := range inert {
		n.Parent.RemoveChild(n)
	}
	l := lines{most: MaxText}
	write(&l, root)
	return l.String()
}

func TestTheWholeTextIsThatOfTheTree(t *testing.T) {
	t.Parallel()
	for name, page := range testPages(t) {
		got := read(t, "text/html; charset=utf-8", page[0])
		want := bag(treeText(t, strings.TrimPrefix(page[0], "\ufeff")))
		assert.Truef(t, maps.Equal(bag(got.Whole), want), "%s: F1 %.5f", name, f1(bag(got.Whole), want))
	}
}

func TestTheMainTextIsAsGoodAsThatOfTheWholePage(t *testing.T) {
	if testing.Short() {
		t.Skip("it compares a mean of all pages")
	}
	t.Parallel()
	var ours, theirs float64
	n := 0
	for name, page := range testPages(t) {
		want := bag(treeText(t, page[1]))
		got := read(t, "text/html; charset=utf-8", page[0])
		root, err := html.Parse(strings.NewReader(page[0]))
		require.NoError(t, err)
		p := readability.NewParser()
		a, err := p.ParseAndMutate(root, &url.URL{Scheme: "http", Host: "a.invalid", Path: "/"})
		require.NoError(t, err)
		var l = lines{most: MaxText}
		if a.Node != nil {
			write(&l, a.Node)
		}
		o, th := f1(bag(got.Main), want), f1(bag(l.String()), want)
		if ours, theirs = ours+o, theirs+th; o < th-0.1 {
			t.Logf("%s: %.3f, of the whole page %.3f, %s", name, o, th, got.NoMain)
		}
		n++
	}
	t.Logf("F1 of words, mean of %d pages: %.4f; of whole pages %.4f", n, ours/float64(n), theirs/float64(n))
	assert.True(t, ours >= theirs-0.02*float64(n) && ours >= 0.9*float64(n), "it is worse")
}
