package crawler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// The page of the ledger's words is held to the code: it has every word that a line can say, and no other.

func decisionsDoc(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "reference", "ledger.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// constants returns the values of the string constants in a folder whose name or type matches.
func constants(t *testing.T, dir, pattern string) (values []string) {
	t.Helper()
	match := regexp.MustCompile("^(" + pattern + ")$")
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			kind, _ := spec.Type.(*ast.Ident)
			for i, id := range spec.Names {
				if i >= len(spec.Values) || !match.MatchString(id.Name) && (kind == nil || !match.MatchString(kind.Name)) {
					continue
				}
				if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					s, _ := strconv.Unquote(lit.Value)
					values = append(values, s)
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("no constant in %s matches %s", dir, pattern)
	}
	return values
}

// literals returns what the first group of a pattern finds in the source of a folder.
func literals(t *testing.T, dir, pattern string) (values []string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
			values = append(values, m[1])
		}
	}
	if len(values) == 0 {
		t.Fatalf("nothing in %s matches %s", dir, pattern)
	}
	return values
}

// lineWords are the words of the code by the headings of the page; elsewhere are words that stand within a pattern.
func lineWords(t *testing.T) (words map[string][]string, within []string) {
	// Of hosts, or counted only: no line has them.
	noLine := map[string]bool{
		reasonDryRun: true, reasonMaxPerHost: true, reasonPerDay: true, reasonHours: true, reasonMaxPerDomain: true, reasonMaxPerTag: true, reasonMoved: true, reasonOtherHost: true, reasonIndexDepth: true,
		reasonSitemaps: true, reasonScriptRefused: true, reasonHops: true, reasonOwnerRobots: true, // these and that of a tag stand elsewhere on the page
	}
	var reasons []string
	for _, s := range constants(t, ".", "reason[A-Z].*") {
		if !noLine[s] {
			reasons = append(reasons, s)
		}
	}
	reasons = append(reasons, host.Aborted, host.TooSlow, host.OverTime)
	reasons = append(reasons, literals(t, ".", `"(redirect [a-z ]+|too slow)"`)...)
	reasons = append(reasons, constants(t, "../storage", "Reason[A-Z].*")...)
	reasons = append(reasons, constants(t, "fetch", "TooLarge")...)
	reasons = append(reasons, reasonHops, "trap:copy",
		"status N", "named by script: status N", "to URL", "redirect: WORD", "truncated: WORD", "robots.txt: WORD", "sitemap:WORD: …")
	rules := literals(t, "scope", `\{?"((?:scope|trap):[a-z-]+)"`)
	for _, mode := range constants(t, "scope", "Mode") {
		rules = append(rules, "scope:"+mode)
	}
	for _, shape := range literals(t, "scope", `s\.shape\("([a-z]+)"`) {
		rules = append(rules, "trap:"+shape)
	}
	rules = append(rules, constants(t, "trap", "Rule(Queries|Template)")...)
	within = append(within, constants(t, "../frontier/canon", "Reason")...)
	within = append(within, constants(t, "fetch", "Cut.*")...)
	within = append(within, constants(t, "sitemap", "Found.*")...)
	for _, format := range constants(t, "sitemap", "Format") {
		if format != "" {
			within = append(within, format)
		}
	}
	return map[string][]string{
		"## `decision`": constants(t, "../storage", "Decision[A-Z].*"),
		"## `outcome`":  constants(t, "../storage", "Outcome[A-Z].*"),
		"## `change`: since the previous generation":              constants(t, "../storage", "Change[A-Z].*"),
		"## `kind`: how a URL was found":                          constants(t, "../storage", "Kind[A-Z].*"),
		"## `pace_by`: the reason for the delay before a request": constants(t, "../storage", "By[A-Z].*"),
		"## `reason` of a verdict":                                constants(t, "../robots", "Reason"),
		"## `reason` of a request":                                reasons,
		"## `reason` of a rejected or held URL":                   append(rules, reasonSitemaps, reasonScriptRefused, reasonMaxPerTag, frontier.ReasonOperator, frontier.ReasonQuarantined),
	}, within
}

func TestDecisionsDocHasTheWordsOfTheCode(t *testing.T) {
	text := decisionsDoc(t)
	words, within := lineWords(t)
	for heading, want := range words {
		_, section, ok := strings.Cut(text, heading+"\n")
		if !ok {
			t.Fatalf("no heading %q", heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		known := map[string]bool{}
		for _, w := range want {
			known[w] = true
		}
		said := map[string]bool{}
		for _, row := range tableOf(t, section, "| word |") {
			w := strings.Trim(row[0], "`")
			if said[w] = true; !known[w] {
				t.Errorf("%s: no line says %q", heading, w)
			}
		}
		for w := range known {
			if !said[w] {
				t.Errorf("%s: %q is missing", heading, w)
			}
		}
	}
	for _, w := range within {
		if !strings.Contains(text, "`"+w+"`") {
			t.Errorf("%q is missing", w)
		}
	}
}

// wantWords checks that the page has what the lines of the ledger say.
func (w *world) wantWords() {
	w.t.Helper()
	words, within := lineWords(w.t)
	known := func(heading, word string) bool { return slices.Contains(words[heading], word) }
	list := make([]string, len(within))
	for i, word := range within {
		list[i] = regexp.QuoteMeta(word)
	}
	any := strings.Join(list, "|")
	pattern := regexp.MustCompile(`^(status \d+|to \S+|(redirect|truncated): (` + any + `)|robots\.txt: .+|sitemap:(` + any + `|content coding): \d+ of \d+ entries in scope.*)$`)
	for _, l := range w.ledger.all {
		if !known("## `decision`", string(l.Decision)) || l.Outcome != "" && !known("## `outcome`", string(l.Outcome)) ||
			l.Kind != "" && !known("## `kind`: how a URL was found", string(l.Kind)) {
			w.t.Errorf("decision %q, outcome %q, kind %q", l.Decision, l.Outcome, l.Kind)
		}
		if r := l.Reason; r != "" && !known("## `reason` of a verdict", r) && !known("## `reason` of a request", r) &&
			!known("## `reason` of a rejected or held URL", r) && !pattern.MatchString(r) {
			w.t.Errorf("the page does not have the reason %q of %s", r, l.URL)
		}
	}
}

// Every reason that explain, linkcheck and missing.jsonl give has words for people, and shares them with no other.
func TestReasons_EachHasItsOwnWords(t *testing.T) {
	words, _ := lineWords(t)
	codes := append(constants(t, "../storage/mirror", "Reason"), constants(t, "crawldir", "StillQueued|NotFollowed")...)
	codes = append(codes, literals(t, "check", `(?:untested|broken|unclear), "([^"]+)"\n`)...)
	for heading, reasons := range words {
		if strings.HasPrefix(heading, "## `reason`") {
			codes = append(codes, reasons...)
		}
	}
	said := map[string]string{}
	for _, code := range codes {
		plain := plainly.Reason(code)
		if other, ok := said[plain]; ok && other != code {
			t.Errorf("%s and %s are both shown as %q", code, other, plain)
		}
		said[plain] = code
	}
}
