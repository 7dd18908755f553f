package text_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/foreigntest"
	"curtsy/storage/text"
)

// languages are those of Debian's installation guide (package installation-guide-amd64, GPL), one text of 60 pages in 19
// languages whose untranslated parts are in English, and three that only the manual pages of the base system have, with
// the codes that Detect gives them. Catalan is not among those that it knows.
var languages = []struct{ folder, code string }{
	{"ca", "cat"}, {"cs", "ces"}, {"da", "dan"}, {"de", "deu"}, {"el", "ell"}, {"en", "eng"}, {"es", "spa"}, {"fr", "fra"},
	{"id", "ind"}, {"it", "ita"}, {"ja", "jpn"}, {"ko", "kor"}, {"nl", "nld"}, {"pt", "por"}, {"ro", "ron"}, {"ru", "rus"},
	{"sv", "swe"}, {"vi", "vie"}, {"zh_CN", "zho"}, {"pl", "pol"}, {"tr", "tur"}, {"uk", "ukr"},
}

// manual returns the text of a manual page: no requests, a paragraph a line.
func manual(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	var text strings.Builder
	for line := range strings.Lines(string(b)) {
		switch {
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'"):
			text.WriteString("\n")
		default:
			text.WriteString(strings.TrimSpace(escapes.ReplaceAllString(line, "")) + " ")
		}
	}
	return text.String()
}

// escapes are those of roff.
var escapes = regexp.MustCompile(`\\(f.|f\(..|\(..|\[[^]]*\]|.)`)

// score is how often Detect was right.
type score struct{ all, right, reliable, wrongly int }

func (s *score) count(got text.Result, want string) {
	s.all++
	if got.Code() == want {
		s.right++
	}
	if got.Reliable {
		s.reliable++
		if got.Code() != want {
			s.wrongly++
		}
	}
}

// pages returns the pages of one language, and the lines of them that are in no English page.
func pages(t *testing.T, guide, folder string, english map[string]bool) (whole, lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(guide, folder, "*.html"))
	require.NoError(t, err)
	if len(files) == 0 {
		if files, err = filepath.Glob(filepath.Join(guide, "..", "..", "man", folder, "man*", "*.gz")); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		if fi, err := os.Lstat(name); err != nil || !fi.Mode().IsRegular() {
			continue // a manual under another name
		}
		if original := strings.Replace(name, "/"+folder+"/", "/", 1); strings.HasSuffix(name, ".gz") {
			if _, err := os.Stat(original); err == nil {
				for line := range strings.Lines(textOf(t, original)) {
					english[line] = true
				}
			}
		}
		var own strings.Builder
		for line := range strings.Lines(textOf(t, name)) {
			if folder == "en" {
				english[line] = true
			} else if english[line] {
				continue
			}
			own.WriteString(line)
			if width(line) >= 50 {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
		if own.Len() > 500 {
			whole = append(whole, own.String())
		}
	}
	return whole, lines
}

// textOf is the text of a page of the guide, or of a manual.
func textOf(t *testing.T, name string) string {
	t.Helper()
	if strings.HasSuffix(name, ".gz") {
		return manual(t, name)
	}
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	p, err := text.Read(t.Context(), text.Input{ContentType: "text/html", Body: f, WholeOnly: true})
	require.NoError(t, err)
	return p.Whole
}

// width counts what a letter of Chinese, Japanese or Korean says as three of others.
func width(s string) int {
	n := 0
	for _, r := range s {
		if n++; r >= 0x2E80 {
			n += 2
		}
	}
	return n
}

// cut is the beginning of s that is so wide.
func cut(s string, most int) string {
	n := 0
	for i, r := range s {
		if n += width(string(r)); n > most {
			return s[:i]
		}
	}
	return s
}

// Prints a table with -v; docs/guides/export.md has its last row.
func TestOfAPageInALanguageThatIsKnownItIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes many seconds")
	}
	guide := foreigntest.Corpus(t, "doc/installation-guide-amd64", "installation-guide-amd64")
	english := map[string]bool{}
	pages(t, guide, "en", english)
	var table strings.Builder
	var sum [3]score // without Catalan
	for _, l := range languages {
		own := english
		if l.folder == "en" {
			own = map[string]bool{}
		}
		whole, lines := pages(t, guide, l.folder, own)
		var s [3]score
		for _, w := range whole {
			s[0].count(text.Detect(w), l.code)
		}
		for i := 0; i < len(lines); i += 16 {
			s[1].count(text.Detect(cut(lines[i], 200)), l.code)
			s[2].count(text.Detect(cut(lines[i], 50)), l.code)
		}
		if len(whole) == 0 {
			continue // manuals may be left out of a system
		}
		fmt.Fprintf(&table, "| %s |", l.code)
		for i := range s {
			fmt.Fprintf(&table, " %d | %.1f | %d |", s[i].all, percent(s[i].right, s[i].all), s[i].wrongly)
			if l.code != "cat" {
				sum[i].all, sum[i].right = sum[i].all+s[i].all, sum[i].right+s[i].right
				sum[i].reliable, sum[i].wrongly = sum[i].reliable+s[i].reliable, sum[i].wrongly+s[i].wrongly
			}
		}
		table.WriteString("\n")
	}
	if p := &sum[0]; percent(p.right, p.all) < 97 || percent(p.wrongly, p.reliable) > 2 {
		t.Errorf("of %d pages %d are right; of %d reliable ones %d are wrong", p.all, p.right, p.reliable, p.wrongly)
	}
	if p := &sum[1]; percent(p.right, p.all) < 90 || percent(p.wrongly, p.reliable) > 2 {
		t.Errorf("of %d lines %d are right; of %d reliable ones %d are wrong", p.all, p.right, p.reliable, p.wrongly)
	}
	table.WriteString("| all but cat |")
	for _, s := range sum {
		fmt.Fprintf(&table, " %d | %.1f | %d of %d |", s.all, percent(s.right, s.all), s.wrongly, s.reliable)
	}
	t.Logf("pages, 200 letters, 50 letters: number, %% right, reliable and wrong\n%s", table.String())
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
