package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainRooms are the folders whose comments have no sentence with a nominal opening any more. The list only grows. The pages
// of docs have none but for those of oddPages.
var plainRooms = strings.Fields(`storage storage/answer storage/cdxj storage/charset storage/coding storage/graph storage/graph/archived storage/graph/format storage/graph/measure
	storage/graph/picture storage/ledger storage/markup
	storage/mediatype storage/mirror storage/plainly storage/redact storage/report storage/sorted storage/spool
	storage/wacz storage/warc storage/witness storage/witness/timestamp storage/witness/timestamp/tsatest
	crawler/extract crawler/extract/prune crawler/extract/bare crawler/fetch crawler/optout crawler/scope crawler/sitemap
	crawler/trap crawler/crawltest crawler/crawltest/benchweb crawler/crawltest/hostile crawler/crawltest/scoreboard
	crawler/crawltest/torture crawler/crawltest/traps robots robots/naive robots/naive/quick
	frontier/bolt frontier/bolt/heap frontier/bolt/queue frontier/bolt/schedule frontier/bolt/seen frontier/frontiertest
	frontier/frontiertest/stage frontier/frontiertest/turns frontier/frontiertest/stops frontier/frontiertest/operator`)

// oddPages are written from tables of the tests, or tell what has been.
var oddPages = []string{"CHANGELOG.md", "conformance.md", "foreign-tests.md"}

var (
	sentenceEnd = regexp.MustCompile(`[.!?][)"]?\s+`)
	nominal     = regexp.MustCompile(`^(What|Who|Whoever|Whatever|Whom|Whose|Of)\s[a-z]`)
)

// nominalOpenings are the sentences of a text that begin with a clause in the place of a subject: "What is absolute stays."
func nominalOpenings(text string) (found []string) {
	for len(text) > 0 {
		sentence, rest := text, ""
		if at := sentenceEnd.FindStringIndex(text); at != nil {
			sentence, rest = text[:at[1]], text[at[1]:]
		}
		sentence, text = strings.TrimSpace(sentence), rest
		if nominal.MatchString(sentence) && !strings.HasSuffix(sentence, "?") {
			found = append(found, sentence)
		}
	}
	return found
}

// Comments begin with their subject (docs/CONTRIBUTING.md).
func TestProse_CommentsBeginWithTheirSubject(t *testing.T) {
	for _, room := range plainRooms {
		names, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(room), "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", room, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			named := map[*ast.CommentGroup]string{} // a function may be called Of
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Doc != nil {
					named[d.Doc] = d.Name.Name
				}
			}
			for _, group := range f.Comments {
				for _, s := range nominalOpenings(group.Text()) {
					if first, _, _ := strings.Cut(s, " "); first != named[group] {
						t.Errorf("%s: %q: begin with the subject", fset.Position(group.Pos()), s)
					}
				}
			}
		}
	}
}

// Pages begin their sentences with the subject, too.
func TestProse_PagesBeginWithTheirSubject(t *testing.T) {
	pages := []string{filepath.Join("..", "README.md")}
	for _, folder := range []string{".", "dev", "adr"} {
		more, err := filepath.Glob(filepath.Join(folder, "*.md"))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, more...)
	}
	for _, page := range pages {
		if slices.Contains(oddPages, filepath.Base(page)) {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, paragraph := range paragraphs(string(text)) {
			for _, s := range nominalOpenings(paragraph) {
				t.Errorf("%s: %q: begin with the subject", page, s)
			}
		}
	}
}

// paragraphs are those of a page, and the items of its lists: neither headings nor tables nor code.
func paragraphs(page string) (all []string) {
	var now []string
	end := func() { all, now = append(all, strings.Join(now, " ")), nil }
	isCode := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			isCode = !isCode
			end()
		case isCode:
		case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "<"):
			end()
		case strings.HasPrefix(line, "- "):
			end()
			now = append(now, strings.TrimPrefix(line, "- "))
		default:
			now = append(now, line)
		}
	}
	end()
	return all
}

func TestNominalOpenings(t *testing.T) {
	const text = "What is absolute stays. It ends (so). Of several the longest\ncounts. What may it do? Whatever happens, the tree stays."
	want := []string{"What is absolute stays.", "Of several the longest\ncounts.", "Whatever happens, the tree stays."}
	if got := nominalOpenings(text); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
