package extract

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
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

// stated is a mention as another parser has it.
type stated struct{ tag, attr, value, text string }

// corpus is the pages of testdata, and where corpora are at hand those of a well-kept manual.
func corpus(t *testing.T) (paths []string) {
	t.Helper()
	if foreigntest.HasCorpora() {
		err := filepath.WalkDir(foreigntest.Corpus(t, "doc/python3/html", "python3-doc"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".html") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil || len(paths) == 0 {
			t.Fatalf("%d pages: %v", len(paths), err)
		}
	}
	return append(paths, savedPages(t)...)
}

// ours are the mentions that are told of a page, as far as the others look for them: of attributes with one URL each.
func ours(t *testing.T, body string) (all []stated, more map[string]int) {
	t.Helper()
	_, ms, _ := told(t, "text/html; charset=utf-8", body)
	more = map[string]int{}
	for _, m := range ms {
		if !slices.Contains(sought[m.Element], m.Attr) {
			more[m.Element+" "+m.Attr]++
			continue
		}
		all = append(all, stated{m.Element, m.Attr, strings.Trim(m.Raw, space), inkOf(m.Text)})
	}
	return all, more
}

var sought = map[string][]string{
	"a": {"href"}, "area": {"href"}, "link": {"href"}, "img": {"src"}, "script": {"src"}, "iframe": {"src"}, "source": {"src"},
	"video": {"src", "poster"}, "audio": {"src"}, "embed": {"src"}, "object": {"data"}, "track": {"src"},
}

// inkOf is a text without white space, as far as a Mention surely has it.
func inkOf(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), MaxAnchor/4)]
}

// byTokens lists the mentions of a page by its tags as they stand. Those in templates are none.
func byTokens(body string) (all []stated, inTemplates int) {
	z := html.NewTokenizer(strings.NewReader(body))
	inert := 0
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return all, inTemplates
		}
		tok := z.Token()
		if tok.Data == "noscript" {
			z.NextIsNotRawText() // scripts do not run here: its contents are elements
		}
		switch {
		case tok.Data == "template" && kind == html.StartTagToken:
			inert++
		case tok.Data == "template" && kind == html.EndTagToken && inert > 0:
			inert--
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		var met []string
		for _, a := range tok.Attr {
			if !slices.Contains(sought[tok.Data], a.Key) || slices.Contains(met, a.Key) {
				continue
			}
			met = append(met, a.Key)
			if inert > 0 {
				inTemplates++
				continue
			}
			all = append(all, stated{tok.Data, a.Key, strings.Trim(a.Val, space), ""})
		}
	}
}

// Every mention that the tags of a page make is told, once, in their order, and nothing is told that they do not make. What
// the tokenizer alone has stands in templates, whose contents are no part of a page.
func TestMention_AsTheTokenizerHasThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	n, inert, other := 0, 0, map[string]int{}
	paths := oneOf(5, corpus(t))
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		got, more := ours(t, string(body))
		want, templates := byTokens(string(body))
		for i := range got {
			got[i].text = ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d mentions, want %d: %v", path, len(got), len(want), firstDifference(got, want))
		}
		n, inert = n+len(got), inert+templates
		for name, k := range more {
			other[name] += k
		}
	}
	assert.NotEqual(t, 0, n, "nothing was compared")
	t.Logf("%d pages: %d mentions alike; the tokenizer alone: %d in templates; ours alone: %v", len(paths), n, inert, other)
}

// oneOf takes the first path of every n, and all of them in full size.
func oneOf(n int, paths []string) []string {
	if os.Getenv("CURTSY_LONG") != "" {
		return paths
	}
	i := -1
	return slices.DeleteFunc(paths, func(string) bool { i++; return i%n > 0 })
}

func firstDifference(a, b []stated) []stated {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return []stated{a[i], b[i]}
		}
	}
	return nil
}

// The same by a parser of others, with the texts of links.
func TestMention_AsPythonHasThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%v, and CURTSY_MUST_RUN is set", err)
		t.Skip("no python3")
	}
	var paths []string
	for _, path := range corpus(t) {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		// It has no idea of templates, and takes noframes, which is text for who knows frames, for elements.
		low := bytes.ToLower(body)
		if !bytes.Contains(low, []byte("<template")) && !bytes.Contains(low, []byte("<noframes")) {
			paths = append(paths, path)
		}
	}
	paths = oneOf(10, paths)
	cmd := exec.CommandContext(t.Context(), python, "testdata/mentions.py")
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	require.NoError(t, err, &failed)
	lines := bufio.NewReader(bytes.NewReader(out))
	n, pictures := 0, 0
	for _, path := range paths {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var found [][4]string
		require.NoError(t, json.Unmarshal(line, &found), path)
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		got, _ := ours(t, string(body))
		var want []stated
		for i, f := range found {
			s := stated{f[0], f[1], strings.Trim(f[2], space), inkOf(f[3])}
			if i < len(got) && s.text == "" && got[i].text != "" { // the alt of a picture, or of an area
				pictures++
				s.text = got[i].text
			}
			want = append(want, s)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d mentions, want %d: %q", path, len(got), len(want), firstDifference(got, want))
		}
		n += len(got)
	}
	t.Logf("%d pages: %d mentions alike, with their texts; %d texts are those of pictures", len(paths), n, pictures)
}
