//go:build peers

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// mirrorer is a program that mirrors {seed} into the existing folder {dir}.
type mirrorer struct {
	name string
	args []string
	tree string // the part of the folder that is the mirror; "" for all of it
	ours bool   // this program, as a separate process
}

// mirrorers are the programs in docs/guides/mirror.md, without delays and with few retries.
func mirrorers() []mirrorer {
	return []mirrorer{
		{name: "curtsy", args: []string{"mirror", "--quiet", "--contact", "crawl@library.org", "--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "100ms", "--dir", "{dir}", "{seed}"}, tree: "mirror", ours: true},
		{name: "wget", args: []string{"-q", "-mkEp", "-e", "use_proxy=off", "--tries=2", "-T", "15", "-P", "{dir}", "{seed}"}},
		{name: "httrack", args: []string{"{seed}", "-O", "{dir}", "+127.0.0.1:*", "-file://*", "-n", "-c8", "-%c0", "-A0", "-%!", "-s2", "-R0", "-T15", "-q"}},
	}
}

// mirrorOf makes a mirror, and returns the time it took.
func mirrorOf(t *testing.T, m mirrorer, seed string) (dir string, took time.Duration) {
	t.Helper()
	dir = t.TempDir()
	fill := strings.NewReplacer("{seed}", seed, "{dir}", dir)
	args := make([]string, len(m.args))
	for i, arg := range m.args {
		args[i] = fill.Replace(arg)
	}
	var cmd *exec.Cmd
	if m.ours {
		cmd = curtsy(t, args...)
	} else {
		skipWithout(t, m.name)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd = exec.CommandContext(ctx, m.name, args...)
		cmd.Dir = t.TempDir()
	}
	start := time.Now()
	r := ended(t, cmd)
	took = time.Since(start)
	t.Logf("%s: exit code %d after %v", m.name, r.code, took.Round(time.Millisecond))
	if m.ours {
		r.want(t, cli.ExitDone)
	}
	return filepath.Join(dir, m.tree), took
}

// mirrored is the result of a mirror.
type mirrored struct {
	took         time.Duration
	pages        int // of the tree
	file, server browsed
	unportable   []string
	lacks        int // pages that a mirror should have, and does not
	web          int // requests to the site
	repeats      int // of these, for a target requested before
}

// examine opens each n-th page of a mirror as a file, and some of these from a server.
func (m *mirrored) examine(t *testing.T, dir string, n, served int, absent func(string) bool) {
	t.Helper()
	s := treeOf(t, dir)
	m.pages = len(s.names)
	some := sampledPages(s, n)
	m.file, m.server = browse(t, some, absent), browse(t, serveTree(t, sampledPages(some, served)), absent)
	m.unportable = unportable(t, dir)
}

func sampledPages(s fileTree, n int) fileTree {
	var some []string
	for i, name := range s.names {
		if i%n == 0 || name == "index.html" {
			some = append(some, name)
		}
	}
	s.names = some
	return s
}

// torturedBy mirrors the torture site, and opens all pages as files.
func torturedBy(t *testing.T, by mirrorer) (m mirrored) {
	t.Helper()
	o := scoreboard.NewTorture()
	require.NoError(t, o.Start())
	t.Cleanup(func() { o.Close() })
	absent := map[string]bool{} // URLs that no mirror has
	for _, a := range o.Absent {
		absent[o.Local(a.URL)] = true
	}
	dir, took := mirrorOf(t, by, o.Seed())
	if err := o.Close(); err != nil { // later requests of a page fail
		t.Fatal(err)
	}
	m.took = took
	m.examine(t, dir, 1, map[bool]int{true: 1, false: 5}[full()], func(u string) bool { return absent[u] })
	report := o.Judge(by.name)
	m.web = report.Requests
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.RobotsObeyed, crawltest.Once, crawltest.Manners} {
		row := report.Row(rule)
		if by.ours && (row.Verdict == crawltest.Unshown || m.web < 300) {
			t.Errorf("%s: %s, %d requests", rule, row.Verdict, m.web)
		}
		for _, f := range row.Findings {
			if by.ours && !strings.HasPrefix(f.Target, "/charset/q?") { // their query depends on the charset of the page
				t.Errorf("%s: %s", rule, f)
			}
		}
	}
	requests := map[string]int{}
	for _, r := range o.Referee().Requests() {
		if requests[r.Host+r.Target]++; requests[r.Host+r.Target] > 1 && r.Target != "/robots.txt" {
			m.repeats++
		}
	}
	m.lacks = len(o.IDs()) - pagesIn(t, dir, o)
	return m
}

// docsMirroredBy mirrors Python's documentation under nginx, and opens some of its pages.
func docsMirroredBy(t *testing.T, by mirrorer) (m mirrored) {
	t.Helper()
	n := 25
	switch {
	case full() && by.ours:
		n = 1
	case full():
		n = 10
	}
	s := serveFiles(t, pythonDocs(t))
	dir, took := mirrorOf(t, by, "http://"+s.addr+"/")
	m.took = took
	for _, targets := range s.counts() {
		for target, n := range targets {
			if m.web += n; target != "/robots.txt" {
				m.repeats += n - 1
			}
		}
	}
	s.stop()
	m.examine(t, dir, n, 1, func(string) bool { return false })
	// Only a script of the module index names this picture.
	for _, b := range []*browsed{&m.file, &m.server} {
		for _, list := range []*[]string{&b.Failed, &b.Images} {
			*list = slices.DeleteFunc(*list, func(what string) bool { return strings.Contains(what, "/_static/plus.png") })
		}
	}
	return m
}

// pagesIn counts the pages in a mirror that it should have.
func pagesIn(t *testing.T, dir string, o *scoreboard.Web) int {
	t.Helper()
	ids := map[string]bool{}
	s := treeOf(t, dir)
	for _, name := range s.names {
		text := fileOf(t, filepath.Join(s.dir, filepath.FromSlash(name)))
		if m := pageID.FindSubmatch(slices.DeleteFunc(text[:min(len(text), 1<<16)], func(c byte) bool { return c == 0 })); m != nil {
			ids[string(m[1])] = true
		}
	}
	n := 0
	for _, id := range o.IDs() {
		if ids[id] {
			n++
		}
	}
	return n
}

// Reproduces docs/guides/mirror.md: curtsy's mirrors have no defects; others' of the torture site do.
func TestPeers_MirrorsOfSites(t *testing.T) {
	amongOthers(t)
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| site | program | opened from | failed requests | dead links | pages left out | missing images | wrong | styles, scripts, fonts | requests made | asked again | names not portable | seconds |")
	fmt.Fprintln(tw, "|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, site := range []struct {
		name   string
		mirror func(*testing.T, mirrorer) mirrored
		pages  int // at least
	}{{"torture", torturedBy, 100}, {"Python docs", docsMirroredBy, 500}} {
		for _, by := range mirrorers() {
			t.Run(site.name+", "+by.name, func(t *testing.T) {
				if testing.Short() || !by.ours && !full() {
					t.Skip("some hundred pages in a browser, twice: CURTSY_LONG=1")
				}
				m := site.mirror(t, by)
				if m.pages < site.pages || m.server.Pages < 20 {
					t.Errorf("%d pages are too few for a mirror; %d were opened from a server", m.pages, m.server.Pages)
				}
				for way, b := range map[string]browsed{"files": m.file, "a server": m.server} {
					broken := slices.Concat(b.Failed, b.Dead, b.Left, b.Images, b.Wrong, b.Styles, b.Scripts, b.Fonts)
					t.Logf("%s: %v\n%s", way, b, strings.Join(broken[:min(len(broken), 40)], "\n"))
					switch {
					case by.ours && len(broken) > 0:
						t.Errorf("%s: %d things are broken", way, len(broken))
					case !by.ours && len(broken) == 0 && site.name == "torture":
						t.Errorf("%s: nothing is broken: docs/guides/mirror.md is out of date", way)
					}
					fmt.Fprintf(tw, "| %s | %s | %s | %d | %d | %d | %d | %d | %d, %d, %d | %d | %d | %d | %.1f |\n", site.name, by.name, way,
						len(b.Failed), len(b.Dead), m.lacks, len(b.Images), len(b.Wrong), len(b.Styles), len(b.Scripts), len(b.Fonts),
						m.web, m.repeats, len(m.unportable), m.took.Seconds())
				}
				t.Logf("not portable:\n%s", strings.Join(m.unportable, "\n"))
			})
		}
	}
	tw.Flush() //nolint:errcheck // a strings.Builder takes everything
	t.Logf("\n%s", b.String())
}

var pageID = regexp.MustCompile(`data-page="?(\w+)`)
