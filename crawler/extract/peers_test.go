//go:build peers

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

	"curtsy/crawler/foreigntest"
	"curtsy/storage/markup"
)

type stated struct{ tag, attr, value, text string }

func corpus(t *testing.T) (paths []string) {
	t.Helper()
	if foreigntest.HasCorpora() {
		err := filepath.WalkDir(foreigntest.Corpus(t, "doc/python3/html", "python3-doc"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".html") {
				paths = append(paths, path)
			}
			return err
		})
		require.NoError(t, err)
		require.NotEmptyf(t, paths, "%d pages: %v", len(paths), err)
	}
	return append(paths, savedPages(t)...)
}

func ours(t *testing.T, body string) (all []stated) {
	t.Helper()
	_, ms, _ := mentionsOf(t, "text/html; charset=utf-8", body)
	for _, m := range ms {
		if slices.Contains(sought[m.Element], m.Attr) {
			all = append(all, stated{m.Element, m.Attr, markup.Strip(m.Raw), inkOf(m.Text)})
		}
	}
	return all
}

var sought = map[string][]string{
	"a": {"href"}, "area": {"href"}, "link": {"href"}, "img": {"src"}, "script": {"src"}, "iframe": {"src"}, "source": {"src"},
	"video": {"src", "poster"}, "audio": {"src"}, "embed": {"src"}, "object": {"data"}, "track": {"src"},
}

func inkOf(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
	return s[:min(len(s), MaxAnchor/4)]
}

func oneOf(n int, paths []string) []string {
	if os.Getenv("CURTSY_LONG") != "" {
		return paths
	}
	i := -1
	return slices.DeleteFunc(paths, func(string) bool { i++; return i%n > 0 })
}

func TestPeers_MentionsAsPythonHasThem(t *testing.T) {
	skipShort(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%v, and CURTSY_MUST_RUN is set", err)
		t.Skip("no python3")
	}
	var paths []string
	for _, path := range corpus(t) {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		// Python's parser has no templates and reads noframes as elements.
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
		got := ours(t, string(body))
		var want []stated
		for i, f := range found {
			s := stated{f[0], f[1], strings.Trim(f[2], markup.Space), inkOf(f[3])}
			if i < len(got) && s.text == "" && got[i].text != "" { // the alt of a picture, or of an area
				pictures++
				s.text = got[i].text
			}
			want = append(want, s)
		}
		assert.Equal(t, want, got, path)
		n += len(got)
	}
	t.Logf("%d pages: %d mentions alike, with their texts; %d texts are those of pictures", len(paths), n, pictures)
}
