package robots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sentence is one of testdata/robots/sentences.txt, and the Go tests for it.
type sentence struct {
	section, text string
	tests         []string // package.Test
}

func sentences(t *testing.T) (all []sentence) {
	t.Helper()
	text, err := os.ReadFile("../testdata/robots/sentences.txt")
	require.NoError(t, err)
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(line, "== "); ok {
			section = name
		} else if test, ok := strings.CutPrefix(line, "\t"); ok {
			all[len(all)-1].tests = append(all[len(all)-1].tests, test)
		} else if line != "" && line[0] != '#' {
			all = append(all, sentence{section: section, text: line})
		}
	}
	require.GreaterOrEqualf(t, len(all), 80, "only %d sentences", len(all))
	return all
}

// A case cites existing sentences, and every sentence has a case, or a Go test.
func TestConformance_EverySentenceIsTested(t *testing.T) {
	all := sentences(t)
	shown := make([]bool, len(all))
	for _, c := range corpus(t) {
		for _, cite := range c.cites {
			found := 0
			for i, s := range all {
				if s.section == cite.section && strings.Contains(s.text, cite.quote) {
					shown[i] = true
					found++
				}
			}
			assert.Equalf(t, 1, found, "%s cites %s %q: found in %d sentences, want 1", c.name, cite.section, cite.quote, found)
		}
	}
	known := goTests(t)
	for i, s := range all {
		for _, test := range s.tests {
			assert.Truef(t, known[test], "%s %q: no test %s", s.section, s.text, test)
		}
		assert.Truef(t, shown[i] || len(s.tests) != 0, "%s %q: neither case nor test", s.section, s.text)
	}
}

var goTestName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func goTests(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for pkg, dir := range map[string]string{"robots": ".", "crawler": "../crawler", "fetch": "../crawler/fetch"} {
		files, err := filepath.Glob(dir + "/*_test.go")
		require.NoError(t, err)
		require.NotEmptyf(t, files, "%s: no tests", dir)
		for _, f := range files {
			source, err := os.ReadFile(f)
			require.NoError(t, err)
			for _, m := range goTestName.FindAllStringSubmatch(string(source), -1) {
				known[pkg+"."+m[1]] = true
			}
		}
	}
	return known
}

// go test ./robots -run Conformance -update writes docs/trust/robots-conformance.md.
func TestConformance_TheDocumentIsUpToDate(t *testing.T) {
	const path = "../docs/trust/robots-conformance.md"
	got := conformanceDocument(t, sentences(t), corpus(t))
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	assert.Truef(t, bytes.Equal(got, want), "%s is stale; write it with: go test ./robots -run Conformance -update\n%s", path, difference(string(got), string(want)))
}

// A case names temoto if, and only if, temoto answers differently.
func TestConformance_TemotoDiffersAsStated(t *testing.T) {
	for _, c := range corpus(t) {
		differ, of := c.temoto()
		if c.row == "" {
			continue
		}
		stated := c.readers["temoto"] != ""
		assert.Truef(t, stated == (differ > 0), "%s: temoto differs in %d of %d verdicts; the case states %q", c.name, differ, of, c.readers["temoto"])
	}
}

func TestConformance_2_2_1_ProductToken(t *testing.T) {
	for token, valid := range map[string]bool{
		"ExampleBot": true, "a": true, "Google-bot_x": true,
		"": false, "Bot2": false, "Bot/1.0": false, "my bot": false, "*": false, "bött": false, "Bot\n": false,
	} {
		assert.Equalf(t, valid, (ValidToken(token) == nil), "ValidToken(%q", token)
	}
}

func TestConformance_2_2_1_Figure2_TheMergedGroup(t *testing.T) {
	two := "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n"
	one := "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\ndisallow: /baz\n"
	got := Parse([]byte(two), Options{Token: "ExampleBot"}).String()
	assert.Truef(t, got == one, "merged:\n%swant:\n%s", got, one)
}

// Bytes that a URI must not have (RFC 3986 2) have one spelling, the escaped one.
func TestConformance_2_2_2_IllegalOctetsEqualTheirEscapes(t *testing.T) {
	for _, c := range []byte("\"<>\\^`{|}\x7F ") {
		raw, escaped := fmt.Sprintf("/a%cb", c), fmt.Sprintf("/a%%%02Xb", c)
		for _, rule := range []string{raw, escaped} {
			p := Parse([]byte("user-agent: *\ndisallow: "+rule+"\n"), Options{Token: "curtsy"})
			for _, target := range []string{raw, escaped} {
				v := p.Match(target)
				assert.Truef(t, !v.Allowed && v.Line == 2, "rule %q, target %q: %+v", rule, target, v)
			}
		}
	}
}
