package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
)

func pagesOf(t *testing.T) (pages []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(pages), 5, pages)
	return append(pages, filepath.Join("..", "README.md"))
}

var link = regexp.MustCompile(`\]\(([^)#:\s]*)(#[^)]*)?\)`)

// Every link within the repository leads to an existing file and heading.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	links, headings := 0, map[string]map[string]bool{}
	for _, page := range pagesOf(t) {
		b, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			links++
			to := page
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(page), filepath.FromSlash(m[1]))
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if m[2] == "" || filepath.Ext(to) != ".md" {
				continue
			}
			if headings[to] == nil {
				headings[to] = headingsOf(t, to)
			}
			if !headings[to][m[2][1:]] {
				t.Errorf("%s: %s has no heading %s", page, to, m[2])
			}
		}
	}
	assert.GreaterOrEqualf(t, links, 100, "only %d links", links)
}

func headingsOf(t *testing.T, page string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	ids, inCode := map[string]bool{}, false
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "```") {
			inCode = !inCode
		}
		if inCode || !strings.HasPrefix(line, "#") {
			continue
		}
		id := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(strings.TrimLeft(line, "#")))
		ids[id] = true
	}
	return ids
}

func TestEveryTrapIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("guides", "research-crawl.md"))
	require.NoError(t, err)
	defaults := scope.TrapDefaults()
	for name, n := range map[string]int{"queries": 1000, "template": 10_000, "copy": 1} {
		defaults[name] = n
	}
	for _, name := range crawldir.TrapNames() {
		assert.Contains(t, string(b), "| `"+name+"="+strconv.Itoa(defaults[name])+"` |", "research-crawl.md lacks a row")
	}
}

func TestComingFrom_HasTheTableOfOptions(t *testing.T) {
	const head = "| option | program | in curtsy | notes |"
	var b strings.Builder
	b.WriteString(head + "\n|---|---|---|---|\n")
	for _, p := range cli.All() {
		note := strings.ReplaceAll(p.Note, "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", strings.Join(p.Theirs, "` `"), p.Of, p.Ours, note)
	}
	holds(t, "guides/coming-from.md", head, b.String())
}
