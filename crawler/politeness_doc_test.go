package crawler

import (
	"crypto/sha256"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/robots"
)

// The page for webmasters is held against the code: what it promises in tables and examples is what happens.

func politenessDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "trust", "politeness.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tableOf returns the cells of the table whose first line begins so.
func tableOf(t *testing.T, text, head string) (rows [][]string) {
	t.Helper()
	_, text, ok := strings.Cut("\n"+text, "\n"+head)
	if !ok {
		t.Fatalf("no table %q", head)
	}
	for i, line := range strings.Split(text, "\n") {
		if i < 2 { // the rest of the head, and the line below it
			continue
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		t.Fatalf("the table %q is empty", head)
	}
	return rows
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// testsOfModule returns the names of all test functions of the module.
func testsOfModule(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// numbered finds the numbers of rules in a test's name.
var numbered = regexp.MustCompile(`^TestRules?(\d\d)(?:And(\d\d))?_|_Rule(\d+)$`)

// Every rule has its row, every test that a row names exists, and at least one of them carries the rule's number. No
// test carries the number of a rule that there is not.
func TestEveryRuleOfPolitenessHasItsTests(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads pages and source, which the race detector makes slow")
	}
	const last, notYet = 28, "not yet offered"
	tests := testsOfModule(t)
	carries := map[int]int{}
	for name := range tests {
		for _, m := range numbered.FindAllStringSubmatch(name, -1) {
			for _, digits := range m[1:] {
				if n, err := strconv.Atoi(digits); err == nil {
					carries[n]++
				}
			}
		}
	}
	for n := range carries {
		if n < 1 || n > last {
			t.Errorf("%d tests carry the number of rule %d", carries[n], n)
		}
	}
	rows := tableOf(t, politenessDoc(t), "| rule | requirement |")
	for i, row := range rows {
		if len(row) != 5 || row[0] != strconv.Itoa(i+1) {
			t.Fatalf("row %d is %q", i+1, row)
		}
		switch row[2] {
		case "fixed", "stricter", "choice":
		default:
			t.Errorf("rule %s: no class %q", row[0], row[2])
		}
		if row[4] == notYet {
			if carries[i+1] > 0 {
				t.Errorf("rule %s is said to be %s, and %d tests carry its number", row[0], notYet, carries[i+1])
			}
			continue
		}
		names := codeSpan.FindAllStringSubmatch(row[4], -1)
		for _, m := range names {
			found := 0
			for name := range tests {
				if ok, err := path.Match(m[1], name); ok && err == nil {
					found++
				}
			}
			if found == 0 {
				t.Errorf("rule %s: no test %s", row[0], m[1])
			}
		}
		if len(names) == 0 || carries[i+1] == 0 {
			t.Errorf("rule %s: %d tests are named, %d carry its number", row[0], len(names), carries[i+1])
		}
	}
	if len(rows) != last {
		t.Errorf("%d rules, want %d", len(rows), last)
	}
}

// Each robots.txt of the page does what the table below it says.
func TestTheExamplesForWebmastersWork(t *testing.T) {
	examples := strings.Split(politenessDoc(t), "```robots\n")[1:]
	if len(examples) < 4 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		file, rest, _ := strings.Cut(example, "```")
		books := map[string]*robots.Rulebook{}
		for _, token := range []string{gate.OurToken, "libbot"} {
			g := gate.New(nil, token, robots.RFC9309)
			books[token] = g.Learn(sha256.Sum256([]byte(file)), []byte(file))
		}
		for _, row := range tableOf(t, rest, "| URL | allowed |") {
			if row[0] == "delay" {
				if want, err := time.ParseDuration(row[1]); err != nil || host.Asked(books[gate.OurToken]).Pause != want {
					t.Errorf("%q asks for a pause of %v, not %s", file, host.Asked(books[gate.OurToken]).Pause, row[1])
				}
				continue
			}
			target, by, named := strings.Cut(row[0], " by ")
			if !named {
				by = gate.OurToken
			}
			v := gate.Rules{Book: books[by]}.Judge(strings.Trim(target, "`"))
			if want := row[1] == "yes"; v.Allowed != want || row[1] != "yes" && row[1] != "no" {
				t.Errorf("%q: %s: %+v, the page says %s", file, row[0], v, row[1])
			}
		}
	}
}

// What the table of answers says of a URL is how the answer is classed, and how often it is asked for.
func TestTheTableOfAnswersIsTrue(t *testing.T) {
	fates := map[string][]host.Answer{
		"fetched":                  {host.Answered},
		"gone":                     {host.Gone},
		"failed":                   {host.Refused, host.Useless},
		"failed or dropped":        {host.Useless, host.Guarded},
		"again later":              {host.Throttled, host.Broken, host.Unreachable, host.Nowhere},
		"the target is a new URL,": {host.Redirected},
	}
	number := regexp.MustCompile(`\d{3}`)
	seen := 0
	for _, row := range tableOf(t, politenessDoc(t), "| response | the URL | requests |") {
		var answers []*fetch.Exchange
		for _, s := range number.FindAllString(row[0], -1) {
			code, _ := strconv.Atoi(s)
			ex := &fetch.Exchange{Status: code, Header: http.Header{}}
			if strings.HasPrefix(row[1], "the target") {
				ex.Header.Set("Location", "/")
			}
			answers = append(answers, ex)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(row[0], -1) {
			answers = append(answers, &fetch.Exchange{Failure: &fetch.Failure{Class: fetch.Class(m[1])}})
		}
		for _, ex := range answers {
			seen++
			got, why := host.Classify(ex)
			if n := strconv.Itoa(got.Attempts()); n != row[2] {
				t.Errorf("%s: asked for %s times, the page says %s", why, n, row[2])
			}
			ok := false
			for fate, want := range fates {
				for _, a := range want {
					ok = ok || a == got && strings.HasPrefix(row[1], fate)
				}
			}
			if !ok {
				t.Errorf("%s is answer %d: the page says %q", why, got, row[1])
			}
		}
	}
	if seen < 35 {
		t.Errorf("the table has %d answers", seen)
	}
}
