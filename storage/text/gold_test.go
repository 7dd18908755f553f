package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/crawler/foreigntest"
)

// tree is the documentation of a Debian package, with selectors of its main text. testdata/gold.json has all trees.
type tree struct {
	Package, Folder string
	Main, Out       []string // elements, as name.class or name#id: the main text, and the navigation inside of it
	Pages           []string // without .html

	Precision, Recall float64 // of words, a little less than today
}

func selects(n *html.Node, all []string) bool {
	if n.Type != html.ElementNode {
		return false
	}
	return slices.ContainsFunc(all, func(s string) bool {
		name, key, value := s, "", ""
		if i := strings.IndexAny(s, ".#"); i > 0 {
			name, key, value = s[:i], map[byte]string{'.': "class", '#': "id"}[s[i]], s[i+1:]
		}
		return n.Data == name && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == key && slices.Contains(strings.Fields(a.Val), value)
		})
	})
}

func (g *tree) gold(page []byte) (string, error) {
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", err
	}
	var out, main []*html.Node
	for n := range root.Descendants() {
		switch {
		case selects(n, g.Out):
			out = append(out, n)
		case selects(n, g.Main) && !slices.ContainsFunc(main, func(m *html.Node) bool { return slices.Contains(slices.Collect(n.Ancestors()), m) }):
			main = append(main, n)
		}
	}
	for _, n := range out {
		n.Parent.RemoveChild(n)
	}
	l := lines{most: MaxText}
	for _, n := range main {
		l.end()
		write(&l, n)
	}
	return l.String(), nil
}

func words(s string) map[string]int {
	all, from := map[string]int{}, -1
	end := func(at int) {
		if from >= 0 {
			all[s[from:at]]++
		}
		from = -1
	}
	for i, r := range s {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end(i)
			all[string(r)]++
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
		case from < 0:
			from = i
		}
	}
	end(len(s))
	return all
}

func TestMain_GoldStandard(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "gold.json"))
	var trees []tree
	err = errors.Join(err, json.Unmarshal(b, &trees))
	require.NoError(t, err)
	for _, g := range trees {
		t.Run(g.Package, func(t *testing.T) {
			t.Parallel()
			root := foreigntest.Corpus(t, g.Folder, g.Package)
			var precision, recall float64 // mean of the pages
			for _, name := range g.Pages {
				page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)+".html"))
				require.NoError(t, err)
				gold, err := g.gold(page)
				require.NoError(t, err)
				require.NotEmptyf(t, gold, "%s: no main text", name)
				got := read(t, "text/html; charset=utf-8", string(page))
				common, found, all := 0, 0, 0
				want := words(gold)
				for w, n := range words(got.Main) {
					common, found = common+min(n, want[w]), found+n
				}
				for _, n := range want {
					all += n
				}
				p, r := float64(common)/float64(max(found, 1)), float64(common)/float64(all)
				if p < 0.9 || r < 0.9 {
					t.Logf("%s: %d words, precision %.3f, recall %.3f, %s", name, all, p, r, got.MainMissing())
				}
				precision, recall = precision+p/float64(len(g.Pages)), recall+r/float64(len(g.Pages))
			}
			t.Logf("%d pages: precision %.3f, recall %.3f", len(g.Pages), precision, recall)
			assert.Truef(t, precision >= g.Precision && recall >= g.Recall, "less than %.2f or %.2f", g.Precision, g.Recall)
		})
	}
}
