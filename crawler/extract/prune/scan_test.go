package prune

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"curtsy/storage/markup"
)

func prunable(t testing.TB) (pages []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/pages.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		page, err := strconv.Unquote(strings.TrimSpace(line))
		require.NoError(t, err, line)
		pages = append(pages, page)
	}
	return pages
}

// Without text-only elements, tags, comments and text are those of golang.org/x/net/html.
func FuzzPrune_TagsEndWhereTheTokenizerSays(f *testing.F) {
	for _, seed := range prunable(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		z := html.NewTokenizer(strings.NewReader(s))
		for at := 0; ; {
			kind := z.Next()
			raw := string(z.Raw())
			if kind == html.ErrorToken {
				if at+len(raw) != len(s) && z.Err() == io.EOF {
					t.Fatalf("%q: ends at %d", s, at)
				}
				return
			}
			z.NextIsNotRawText()
			end := 0
			switch lt := markupAt(s, at); {
			case lt > at:
				end = lt
				if strings.HasSuffix(s[at:], "</") && lt == len(s) && at < len(s)-2 {
					end -= 2 // two texts there, one here
				}
			case s[at+1] == '/' && markup.IsLetter(s[at+2]), markup.IsLetter(s[at+1]):
				var name Name
				from := at + 1
				if s[from] == '/' {
					from++
				}
				if end = tagEnd(s, name.Read(s, from)); end < 0 {
					t.Fatalf("%q: the tag at %d does not end; want %q", s, at, raw)
				}
			default:
				end = commentEnd(s, at)
			}
			require.Equal(t, raw, s[at:end])
			at = end
		}
	})
}

// HTML Standard 13.2.5.72 to 13.2.5.80: a reference may lack its semicolon.
func TestTextHasTheCharactersOfTheTree(t *testing.T) {
	for _, text := range []string{"&#3", "&#9;", "&#35", "&#x3", "&#x41", "&amp", "&ampx", "&notit;", "&#", "&#x", "&", "&#0;", "&#128;"} {
		doc, err := html.Parse(strings.NewReader("<p>" + text))
		require.NoError(t, err)
		want := ""
		for n := range doc.Descendants() {
			if n.Type == html.TextNode {
				want += n.Data
			}
		}
		got := ""
		var p Pruner
		require.Truef(t, p.Prune("<p>"+text), "%q is not pruned", text)
		if p.Text(func(s string) { got += s }); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
