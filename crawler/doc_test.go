package crawler

import (
	"crypto/sha256"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/frontier"
	"curtsy/robots"
)

// page returns a page of the docs.
func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", name))
	require.NoError(t, err)
	return string(b)
}

// literals returns the first group of a pattern wherever it matches the source of a folder.
func literals(t *testing.T, dir, pattern string) (values []string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
			values = append(values, m[1])
		}
	}
	require.NotEmptyf(t, values, "nothing in %s matches %s", dir, pattern)
	return values
}

// constants returns the values of the string constants in a folder whose name or type matches.
func constants(t *testing.T, dir, pattern string) []string {
	t.Helper()
	return literals(t, dir, `(?m)^(?:const|\t) ?(?:(?:`+pattern+`)(?: +\w+)?|\w+ +(?:`+pattern+`)) += "(.*?)"`)
}

// lineWords returns the words of the code by the headings of docs/reference/ledger.md; within are those that are part of
// a longer text.
func lineWords(t *testing.T) (words map[string][]string, within []string) {
	// Of hosts, or counted only: no line has them.
	noLine := map[string]bool{
		reasonDryRun: true, reasonMaxPerHost: true, reasonPerDay: true, reasonHours: true, reasonMaxPerDomain: true, reasonMaxPerTag: true, reasonMoved: true, reasonOtherHost: true, reasonIndexDepth: true,
		reasonSitemaps: true, reasonScriptRefused: true, reasonHops: true, reasonOwnerRobots: true, // the page has these and that of a tag elsewhere
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
	rules = append(rules, constants(t, "trap", "Rule(?:Queries|Template)")...)
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
	text := page(t, "reference/ledger.md")
	words, within := lineWords(t)
	for heading, want := range words {
		_, section, ok := strings.Cut(text, heading+"\n")
		require.Truef(t, ok, "no heading %q", heading)
		section, _, _ = strings.Cut(section, "\n## ")
		known := map[string]bool{}
		for _, w := range want {
			known[w] = true
		}
		said := map[string]bool{}
		for _, row := range tableOf(t, section, "| word |") {
			w := strings.Trim(row[0], "`")
			if said[w] = true; !known[w] {
				t.Errorf("%s: no line has %q", heading, w)
			}
		}
		for w := range known {
			assert.Truef(t, said[w], "%s: %q is missing", heading, w)
		}
	}
	for _, w := range within {
		assert.Containsf(t, text, "`"+w+"`", "%q is missing", w)
	}
}

// wantWords checks that the page has the words of all lines.
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

// tableOf returns the cells of the table whose first line begins so.
func tableOf(t *testing.T, text, head string) (rows [][]string) {
	t.Helper()
	_, text, ok := strings.Cut("\n"+text, "\n"+head)
	require.Truef(t, ok, "no table %q", head)
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
	require.NotEmptyf(t, rows, "the table %q is empty", head)
	return rows
}

const politeness = "trust/politeness.md"

var codeSpan = regexp.MustCompile("`([^`]+)`")

// testsOfModule returns the names of all test functions of the module.
func testsOfModule(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
		return err
	})
	require.NoError(t, err)
	return names
}

// numbered finds the numbers of rules in the name of a test.
var numbered = regexp.MustCompile(`^TestRules?(\d\d)(?:And(\d\d))?_|_Rule(\d+)$`)

// Every rule has its row, every test that a row names exists, at least one has the number of the rule in its name, and no
// test has the number of a missing rule.
func TestEveryRuleOfPolitenessHasItsTests(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads pages and source, which the race detector makes slow")
	}
	const last = 28
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
	rows := tableOf(t, page(t, politeness), "| rule | requirement |")
	for i, row := range rows {
		if len(row) != 5 || row[0] != strconv.Itoa(i+1) {
			t.Fatalf("row %d is %q", i+1, row)
		}
		assert.Containsf(t, []string{"fixed", "stricter", "choice"}, row[2], "the class of rule %s", row[0])
		names := codeSpan.FindAllStringSubmatch(row[4], -1)
		for _, m := range names {
			assert.Truef(t, slices.ContainsFunc(slices.Collect(maps.Keys(tests)), func(name string) bool {
				ok, err := path.Match(m[1], name)
				return ok && err == nil
			}), "rule %s: no test %s", row[0], m[1])
		}
		if len(names) == 0 || carries[i+1] == 0 {
			t.Errorf("rule %s: %d tests are named, %d carry its number", row[0], len(names), carries[i+1])
		}
	}
	assert.Lenf(t, rows, last, "%d rules, want %d", len(rows), last)
}

// Each robots.txt of the page has the effect that the table below it gives.
func TestTheExamplesForWebmastersWork(t *testing.T) {
	examples := strings.Split(page(t, politeness), "```robots\n")[1:]
	require.GreaterOrEqual(t, len(examples), 4, "examples")
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
				t.Errorf("%q: %s: %+v, the page has %s", file, row[0], v, row[1])
			}
		}
	}
}

// For each response in the table of answers, the URL gets the outcome and the number of requests that the table gives.
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
	for _, row := range tableOf(t, page(t, politeness), "| response | the URL | requests |") {
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
				t.Errorf("%s: requested %s times, the page has %s", why, n, row[2])
			}
			ok := false
			for fate, want := range fates {
				ok = ok || slices.Contains(want, got) && strings.HasPrefix(row[1], fate)
			}
			if !ok {
				t.Errorf("%s is answer %d: the page has %q", why, got, row[1])
			}
		}
	}
	assert.GreaterOrEqualf(t, seen, 35, "the table has %d answers", seen)
}
