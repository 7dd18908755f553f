//go:build peers

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/foreigntest"
	"curtsy/frontier"
)

var updateRecipes = flag.Bool("update-recipes", false, "write the output into docs/guides/recipes.md")

var guides = filepath.Join("..", "..", "docs", "guides")

// recipe is a block of code, and the block of text below it.
var recipe = regexp.MustCompile("(?s)```(sql|ccindex|python|r)\n(.*?)```\n\n```text\n(.*?)```\n")

func TestPeers_RecipesPrintTheirOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("it tries the documentation")
	}
	out := filepath.Join(t.TempDir(), "out")
	tabled(t, study(t), out)
	page := filepath.Join(guides, "recipes.md")
	b := fileOf(t, page)
	text := string(b)
	found := recipe.FindAllStringSubmatchIndex(text, -1)
	if blocks := strings.Count(text, "\n```text\n"); blocks != len(found) || blocks < 20 {
		t.Errorf("%d blocks of text, %d behind a block of code", blocks, len(found))
	}
	for i := len(found) - 1; i >= 0; i-- { // from the end: indexes stay valid
		at := found[i]
		kind, code, want := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		heading := text[strings.LastIndex(text[:at[0]], "\n### ")+5:]
		heading, _, _ = strings.Cut(heading, "\n")
		t.Run(kind+"/"+heading, func(t *testing.T) {
			got := cooked(t, kind, code, out)
			assert.GreaterOrEqualf(t, strings.Count(got, "\n"), 1, "nothing came out: %q", got)
			if *updateRecipes {
				text = text[:at[6]] + got + text[at[7]:]
			} else if got != want {
				t.Errorf("it prints\n%s\nnot\n%s", got, want)
			}
		})
	}
	if *updateRecipes && text != string(b) {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o666))
	}
}

// tabled exports the tables and graphs of the recipes.
func tabled(t *testing.T, dir, out string) {
	t.Helper()
	for _, args := range [][]string{
		{"--headers"}, {"--format", "csv"}, {"--format", "sqlite"}, {"--format", "graphml", "--graph", "hosts"},
	} {
		inside(t, append(append([]string{"export", "-o", out}, args...), dir)...).want(t, cli.ExitDone)
	}
	require.NoError(t, os.Symlink(dir, filepath.Join(filepath.Dir(out), filepath.Base(dir))))
}

func cooked(t *testing.T, kind, code, out string) string {
	t.Helper()
	var cmd *exec.Cmd
	switch kind {
	case "sql":
		return inDuckDB(t, out, code)
	case "ccindex":
		return inDuckDB(t, out, asCommonCrawl(t)+code)
	case "python":
		skipWithoutModules(t, code)
		cmd = exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", code)
	case "r":
		skipWithout(t, "Rscript")
		cmd = exec.CommandContext(t.Context(), "Rscript", "--vanilla", "-e", code)
	}
	cmd.Dir = out
	b, err := cmd.CombinedOutput()
	require.NoError(t, err, string(b))
	return string(b)
}

func inDuckDB(t *testing.T, out, sql string) string {
	t.Helper()
	return foreignScript(t, foreigntest.Clients(t, "@duckdb/node-api"), "duckdb.mjs", sql, out)
}

// asCommonCrawl has the statements that turn the tables into Common Crawl's.
func asCommonCrawl(t *testing.T) string {
	t.Helper()
	return string(fileOf(t, filepath.Join(guides, "ccindex.sql"))) + "\n"
}

// skipWithoutModules skips a recipe without its Python modules, unless CURTSY_MUST_RUN is set.
func skipWithoutModules(t *testing.T, code string) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil { // Debian's, which has Debian's modules
		skipWithout(t, "/usr/bin/python3")
	}
	for _, module := range []string{"pandas", "networkx"} {
		if !strings.Contains(code, "import "+module) {
			continue
		}
		if err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import "+module).Run(); err != nil {
			require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "Python has no %s, and CURTSY_MUST_RUN is set", module)
			t.Skipf("Python has no %s", module)
		}
	}
}

// athenas are queries of Common Crawl with words that only Athena has.
var athenas = map[string]string{
	"average-warc-record-length-by-mime-type": "map_filter",
	"count-hostname-elements":                 "reverse of a list, WITH ORDINALITY",
	"count-idna":                              `\P{ASCII}`,
	"count-url-path-elements":                 "transform",
	"discovery-of-non-english-sites":          "array(row(…))",
	"get-language-translations-url-path":      "(?<=…)",
	"random-sample-extract":                   "BERNOULLI of a number without %",
	"random-sample-urls":                      "BERNOULLI of a number without %",
	"site-discovery-by-language":              "array(row(…))",
}

// Common Crawl's queries for its index run unchanged. CURTSY_CC_INDEX_TABLE names a checkout of
// github.com/commoncrawl/cc-index-table.
func TestPeers_CommonCrawlQueriesRun(t *testing.T) {
	checkout := os.Getenv("CURTSY_CC_INDEX_TABLE")
	if checkout == "" {
		t.Skip("CURTSY_CC_INDEX_TABLE does not name a checkout of cc-index-table")
	}
	queries, err := filepath.Glob(filepath.Join(checkout, "src", "sql", "examples", "cc-index", "*.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, queries)
	out := filepath.Join(t.TempDir(), "out")
	tabled(t, study(t), out)
	for _, path := range queries {
		t.Run(filepath.Base(path), func(t *testing.T) {
			if word, ok := athenas[strings.TrimSuffix(filepath.Base(path), ".sql")]; ok {
				t.Skip("DuckDB lacks a function of Athena: " + word)
			}
			b := fileOf(t, path)
			t.Log(inDuckDB(t, out, asCommonCrawl(t)+string(b)))
		})
	}
}

func TestPeers_TutorialsWithSQL(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the tutorials, which crawl at the pace of the demo")
	}
	t.Parallel()
	tutorials(t, func(t *testing.T, tables, code, want string) { prints(t, code, inDuckDB(t, tables, code), want) })
}

// study is a crawl of testdata/study.txtar and its update a year later, in virtual time, for docs/guides/recipes.md. Names and dates
// are always the same; keys are not.
func study(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "study")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	data, err := txtar.ParseFile(filepath.Join("testdata", "study.txtar"))
	require.NoError(t, err)
	var sites, later []*crawltest.Site
	for _, f := range data.Files {
		site, err := siteOf(string(f.Data))
		require.NoError(t, err, f.Name)
		if strings.HasPrefix(f.Name, "later/") {
			later = append(later, site)
		} else {
			sites = append(sites, site)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.New(sites...)
		web.StartPipe()
		defer web.Close()
		settings := crawldir.Defaults()
		settings.Agent, settings.Contact = "studybot", "lab@example.edu"
		settings.Scope, settings.MaxPages = "any", 200
		settings.AllowNet = append(settings.AllowNet, web.Net().String())
		var seeds []frontier.Candidate
		for _, s := range [][2]string{
			{"http://news.example.org/", "press"}, {"http://daily.example.org/", "press"},
			{"http://shop.example.com/", "trade"}, {"http://blog.example.net/", "people"},
		} {
			c, err := crawldir.Seed(s[0], s[1])
			require.NoError(t, err)
			seeds = append(seeds, c)
		}
		require.NoError(t, crawldir.CreateUnchecked(t.Context(), dir, &settings, crawldir.Given(seeds)))
		o := crawldir.Options{Unheard: true, Resolve: web.Resolve, Dial: web.Dial}
		_, err := crawldir.Run(t.Context(), dir, o)
		require.NoError(t, err)
		time.Sleep(365 * 24 * time.Hour)
		for _, site := range later {
			changeSite(web, site)
		}
		_, err = crawldir.Update(t.Context(), dir, nil, &settings)
		require.NoError(t, err)
		_, err = crawldir.Run(t.Context(), dir, o)
		require.NoError(t, err)
	})
	return dir
}
