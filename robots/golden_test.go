package robots

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/robots/naive"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The real files (see testdata), by all three standards: the binding group, and the verdicts on some targets, also some
// made from the file's own rules.
func TestRealFiles(t *testing.T) {
	files, err := filepath.Glob("../testdata/robots/real/*.txt")
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(files), 20, "found %d real files, %v; want 20", len(files), err)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			body, err := os.ReadFile(name)
			require.NoError(t, err)
			golden := filepath.Join("../testdata/robots/golden", strings.TrimSuffix(filepath.Base(name), ".txt")+".golden")
			got := describe(t, body)
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Truef(t, got == strings.ReplaceAll(string(want), "\r\n", "\n"), "%s differs; the difference begins with\n%s", golden, difference(got, string(want)))
		})
	}
}

// describe writes the content of a file, by each standard, for the crawler's name and for some others in it.
func describe(t *testing.T, body []byte) string {
	var b strings.Builder
	for _, s := range Standards() {
		for _, token := range []string{"curtsy", "Googlebot", "Googlebot-Image", "Mediapartners-Google", "Slurp", "duggmirror", "psbot"} {
			p := Parse(body, Options{Token: token, Standard: s})
			if !p.named && token != "curtsy" {
				continue
			}
			fmt.Fprintf(&b, "# %s, %s\n%s#\n", s, token, p)
			for _, target := range targetsOf(body) {
				v := p.Match(target)
				if allowed, line := naive.Read(s.String(), body, token).Allowed(target); allowed != v.Allowed || line != v.Line {
					t.Errorf("%s, %s %s: allowed %v by line %d; naive: %v by %d", s, token, target, v.Allowed, v.Line, allowed, line)
				}
				fmt.Fprintf(&b, "%s %s: %s\n", answerOf(v), target, reasonOf(v))
			}
		}
	}
	return b.String()
}

func answerOf(v Verdict) string {
	if v.Allowed {
		return "allow"
	}
	return "deny "
}

func reasonOf(v Verdict) string {
	why := string(v.Reason)
	if v.Line > 0 {
		why += fmt.Sprintf(", line %d (%s)", v.Line, v.Rule)
	}
	if v.RunnerUp != "" {
		why += fmt.Sprintf(", before (%s)", v.RunnerUp)
	}
	return why
}

// targetsOf makes two targets from each rule of a file: one that the rule should just match, and one behind it.
func targetsOf(body []byte) []string {
	all := []string{"/", "/robots.txt", "/index.html?q=1", "/search/about", "/%7Ejoe/a%2Fb", "/feed/x.rss?format=rss"}
	for _, line := range linesOf(string(body)) {
		r, ok := read(line, span{0, uint32(len(line))}.withoutComment(line))
		if path := r.value.in(line); ok && (r.field == allow || r.field == disallow) && path != "" {
			t := strings.ReplaceAll(strings.TrimSuffix(path, "$"), "*", "x")
			t = "/" + strings.TrimPrefix(t, "/")
			all = append(all, t, t+"y/z")
		}
	}
	return each(all)
}

func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %s\n   want: %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
