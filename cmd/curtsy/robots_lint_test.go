package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/robots"
)

func TestRobotsLint(t *testing.T) {
	t.Parallel()
	clean := "User-agent: *\nDisallow: /private/\n\nSitemap: https://bakery.test/sitemap.xml\n"
	r := fed(t, clean, "robots", "lint", "-")
	r.want(t, cli.ExitDone)
	r.prints(t, "")

	file := robotsFile(t, "disallow: /a\nUser-agent: *\nDissallow: /b\nDisallow: c\n")
	r = inside(t, "robots", "lint", file)
	r.want(t, cli.ExitFound)
	form := regexp.MustCompile(`^` + regexp.QuoteMeta(file) + `:(\d+:\d+): .+ \(([a-z0-9-]+)\)$`)
	var got []string
	for line := range strings.Lines(r.out) {
		m := form.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("%q is not FILE:LINE:COLUMN: TEXT (CODE)", line)
		}
		got = append(got, m[1]+" "+m[2])
	}
	want := "1:1 rule-before-agent, 3:1 typo-key, 4:11 no-slash"
	if strings.Join(got, ", ") != want {
		t.Errorf("found %v, want %s", got, want)
	}
}

// What lint prints is what ParseAll found, for the real files too.
func TestRobotsLintOfRealFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/robots/real/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		warnings := robots.ParseAll(body).Warnings
		code := cli.ExitDone
		if len(warnings) > 0 {
			code = cli.ExitFound
		}
		r := inside(t, "robots", "lint", f)
		r.want(t, code)
		if n := strings.Count(r.out, "\n"); n != len(warnings) {
			t.Errorf("%s: %d lines, want %d", f, n, len(warnings))
		}
	}
}
