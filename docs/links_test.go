package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// unidiomatic lists unidiomatic expressions, with better ones.
var unidiomatic = []struct {
	name, write string
	pattern     *regexp.Regexp
}{
	{"alone", "only", regexp.MustCompile(`\balone\b`)},
	{"anew", "again", regexp.MustCompile(`\banew\b|\bonce more\b|\bafresh\b|\bover again\b`)},
	{"too", "also, before the verb", regexp.MustCompile(`, too\b|\blikewise\b`)},
	{"octet", "byte", regexp.MustCompile(`\boctets?\b`)},
	{"but for", "except", regexp.MustCompile(`\bbut for\b|\bthose but\b|\bsave for\b`)},
	{"to be had", "available", regexp.MustCompile(`\bbe had\b`)},
	{"is no", "is not a", regexp.MustCompile(`\b(is|are|was|were) none\b|\b(it|that|this|which|who|what|[a-z]+[^eE ]) (is|are|was|were) no [a-km-z]`)},
	{"stand", "be, be listed", regexp.MustCompile(`\b(stands?|stood|standing) (in|behind|there|twice|among|beside|before|apart|above|below)\b`)},
	{"hold against", "compare, check", regexp.MustCompile(`\b(hold|holds|held|holding) (\S+ ){0,5}(against|to what)\b`)},
	{"mend", "fix, repair", regexp.MustCompile(`\b(mend|mends|mended)\b`)},
	{"whoever", "who, anyone who", regexp.MustCompile(`(?i)\bwho(so)?ever\b|\blest\b|\bthereby\b|\bforswears?\b|\bamiss\b`)},
	{"of ours", "our, third-party", regexp.MustCompile(`\bof (ours|yours|theirs|others|strangers)\b|\bstrangers?\b`)},
	{"go on", "continue, resume", regexp.MustCompile(`\b(go|goes|went|gone|going) on (with|after|when|from|until|,)|\b(is|was|been|be) begun\b|\bbegun\b`)},
	{"ask", "request", regexp.MustCompile(`\b(ask|asks|asked|asking) (nobody|no one|of|it|them|a host|the host)\b|\b(is|are|was|were|be|been|not|never) asked\b|\basked for\b`)},
	{"tell", "report, record, show", regexp.MustCompile(`\b(tell|tells|told) (of|apart|anew|about|people)\b|\b(is|are|was|were) told\b|\bheard\b`)},
	{"referee", "checker", regexp.MustCompile(`\breferees?\b|\bmanners\b|\bfor good\b|\bby turns\b|\bas ever\b|\bin good order\b|\bbe it\b|\bbears? with\b`)},
	{"of its own", "its own …", regexp.MustCompile(`\bof (its|their) own\b`)},
	{"how it is", "state", regexp.MustCompile(`\bhow (a|the) [a-z]+ (is|are)\b`)},
	{"in vain", "without success", regexp.MustCompile(`\bin vain\b|\bhardly any\b|\bsay for\b|\bneed be\b|\bmay be of\b`)},
}

// TestProse_PlainEnglish searches pages, help, messages and templates for unidiomatic. testdata/prose.txt allows those
// of earlier texts; -update lowers the numbers.
func TestProse_PlainEnglish(t *testing.T) {
	t.Parallel()
	const list = "testdata/prose.txt"
	text, err := os.ReadFile(list)
	require.NoError(t, err)
	allowed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		n, entry, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if allowed[entry], err = strconv.Atoi(n); err != nil || !ok {
			t.Fatalf("%s: %q: %v", list, line, err)
		}
	}
	places, words := map[string][]string{}, 0
	for file, texts := range prose(t) {
		for _, text := range texts {
			text = strings.Join(strings.Fields(text), " ")
			words += strings.Count(text, " ")
			for _, u := range unidiomatic {
				for _, at := range u.pattern.FindAllStringIndex(text, -1) {
					entry := u.name + "\t" + file
					places[entry] = append(places[entry], fmt.Sprintf("…%s… (%s)", text[max(0, at[0]-40):min(len(text), at[1]+40)], u.write))
				}
			}
		}
	}
	total := map[string]int{} // by expression: how many more there are than allowed
	for entry, n := range allowed {
		total[word(entry)] -= n
	}
	for entry, found := range places {
		total[word(entry)] += len(found)
	}
	var left strings.Builder
	for _, entry := range slices.Sorted(maps.Keys(places)) {
		found := places[entry]
		if total[word(entry)] > 0 && len(found) > allowed[entry] {
			t.Errorf("%q: found %d, allowed %d:\n%s", entry, len(found), allowed[entry], strings.Join(found, "\n"))
		}
		fmt.Fprintf(&left, "%d\t%s\n", len(found), entry)
	}
	for name, more := range total {
		if more < 0 && !*update {
			t.Errorf("%s allows %q %d times more than needed; go test ./docs -update lowers it", list, name, -more)
		}
	}
	assert.GreaterOrEqualf(t, words, 100_000, "only %d words were checked", words)
	if *update && !t.Failed() {
		require.NoError(t, os.WriteFile(list, []byte(left.String()), 0o644))
	}
}

func word(entry string) string {
	name, _, _ := strings.Cut(entry, "\t")
	return name
}

// prose returns the texts of each file: pages, templates, and the string literals of Go files.
func prose(t *testing.T) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch ext := filepath.Ext(path); {
		case d.IsDir() && path != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir():
		case ext == ".md", ext == ".html", ext == ".tmpl":
			text, err := os.ReadFile(path)
			texts[name] = []string{string(text)}
			return err
		case ext == ".go" && !strings.HasSuffix(path, "_test.go"):
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil {
						texts[name] = append(texts[name], text)
					}
				}
				return true
			})
		}
		return nil
	})
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(texts), 200, "%d files with texts: %v", len(texts), err)
	return texts
}
