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

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// mirrorer is a program that makes mirrors: the command line that has it make one of a site in a folder. {seed} is the
// URL to begin at, {dir} the folder, which is there.
type mirrorer struct {
	name string
	args []string
	tree string // the part of the folder that is the mirror; "" for all of it
	ours bool   // this program, as a process of its own
}

// mirrorers are the programs that docs/guides/mirror.md compares, with the options that their manuals have for this: no
// delays, and few retries.
func mirrorers() []mirrorer {
	return []mirrorer{
		{name: "curtsy", args: []string{"mirror", "--quiet", "--contact", "crawl@library.org", "--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "100ms", "--dir", "{dir}", "{seed}"}, tree: "mirror", ours: true},
		{name: "wget", args: []string{"-q", "-mkEp", "-e", "use_proxy=off", "--tries=2", "-T", "15", "-P", "{dir}", "{seed}"}},
		{name: "httrack", args: []string{"{seed}", "-O", "{dir}", "+127.0.0.1:*", "-file://*", "-n", "-c8", "-%c0", "-A0", "-%!", "-s2", "-R0", "-T15", "-q"}},
	}
}

// mirrorOf makes a mirror of a site with a program, and says how long that took.
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
	begun := time.Now()
	r := ended(t, cmd)
	took = time.Since(begun)
	t.Logf("%s: exit code %d after %v", m.name, r.code, took.Round(time.Millisecond))
	if m.ours {
		r.want(t, cli.ExitDone)
	}
	return filepath.Join(dir, m.tree), took
}

// mirrored is what came of a mirror.
type mirrored struct {
	name         string
	took         time.Duration
	file, server browsed
	unportable   []string
	lacks        int // pages that a mirror should hold, and no file is
	report       crawltest.Report
	web          int // requests that the site was asked
	repeats      int // of them for what had been answered before
}

// examined looks at a mirror both ways: at all pages as files, and at every fifth from a server.
func examined(t *testing.T, dir string, absent func(string) bool) (m mirrored) {
	t.Helper()
	s := treeOf(t, dir)
	m.file, m.server = browse(t, s, absent), browse(t, serveTree(t, sampledPages(s, map[bool]int{true: 1, false: 5}[full()])), absent)
	m.unportable = unportable(t, dir)
	return m
}

// torturedBy lets a program make a mirror of the torture site, and examines it.
func torturedBy(t *testing.T, by mirrorer) mirrored {
	t.Helper()
	o := ordeal(t)
	dir, took := mirrorOf(t, by, o.Seed())
	if err := o.Close(); err != nil { // what a page still asks for comes to nothing
		t.Fatal(err)
	}
	m := examined(t, dir, absentOf(o))
	m.name, m.took = by.name, took
	m.report = o.Judge(by.name)
	m.web = m.report.Requests
	for _, rule := range []crawltest.Rule{crawltest.RobotsFirst, crawltest.RobotsObeyed, crawltest.Once, crawltest.Manners} {
		row := m.report.Row(rule)
		if by.ours && (row.Verdict == crawltest.Unshown || m.web < 300) {
			t.Errorf("%s: %s, %d requests", rule, row.Verdict, m.web)
		}
		for _, f := range row.Findings {
			if by.ours && !strings.HasPrefix(f.Target, "/charset/q?") { // their query depends on the charset of the page
				t.Errorf("%s: %s", rule, f)
			}
		}
	}
	asked := map[string]int{}
	for _, r := range o.Referee().Requests() {
		if asked[r.Host+r.Target]++; asked[r.Host+r.Target] > 1 && r.Target != "/robots.txt" {
			m.repeats++
		}
	}
	m.lacks = len(o.IDs()) - pagesIn(t, dir, o)
	return m
}

// tables of mirrors, a line for each program, as docs/guides/mirror.md has it.
func tableOf(list []mirrored) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| program | opened from | failed requests | dead links | pages left out | missing images | wrong | styles, scripts, fonts | requests made | asked again | names not portable | robots.txt first |")
	fmt.Fprintln(tw, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, m := range list {
		first := "no"
		if m.report.Row(crawltest.RobotsFirst).Verdict == crawltest.Kept {
			first = "yes"
		}
		for _, way := range []struct {
			name string
			b    browsed
		}{{"files", m.file}, {"a server", m.server}} {
			fmt.Fprintf(tw, "| %s | %s | %d | %d | %d | %d | %d | %d, %d, %d | %d | %d | %d | %s |\n", m.name, way.name,
				len(way.b.Failed), len(way.b.Dead), m.lacks, len(way.b.Images), len(way.b.Wrong), len(way.b.Styles), len(way.b.Scripts), len(way.b.Fonts),
				m.web, m.repeats, len(m.unportable), first)
		}
	}
	tw.Flush() //nolint:errcheck // a strings.Builder takes everything
	return b.String()
}

// pagesIn counts the pages that a mirror should hold and does, by their ids.
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

// What docs/guides/mirror.md says can be seen again: of ours nothing is broken, of others' mirrors something is.
func TestPeers_MirrorsOfTortureSite(t *testing.T) {
	amongOthers(t)
	var list []mirrored
	for _, by := range mirrorers() {
		t.Run(by.name, func(t *testing.T) {
			if testing.Short() || !by.ours && !full() {
				t.Skip("some hundred pages in a browser, twice: CURTSY_LONG=1")
			}
			m := torturedBy(t, by)
			list = append(list, m)
			for way, b := range map[string]browsed{"file": m.file, "server": m.server} {
				t.Logf("%s: %v\n%s", way, b, strings.Join(b.broken(), "\n"))
				switch {
				case b.Pages < 100 && (way == "file" || full()), b.Pages < 20:
					t.Errorf("%s: %d pages are no mirror", way, b.Pages)
				case !by.ours && len(b.broken()) == 0:
					t.Errorf("%s: nothing is broken: docs/guides/mirror.md is out of date", way)
				case by.ours && len(b.broken()) > 0:
					t.Errorf("%s: %d things are broken", way, len(b.broken()))
				}
			}
			t.Logf("not portable:\n%s", strings.Join(m.unportable, "\n"))
		})
	}
	t.Logf("\n%s", tableOf(list))
}

// absentOf says of a URL whether it is one that no mirror of an ordeal holds.
func absentOf(o *scoreboard.Web) func(string) bool {
	set := map[string]bool{}
	for _, a := range o.Absent {
		set[o.Local(a.URL)] = true
	}
	return func(u string) bool { return set[u] }
}

var pageID = regexp.MustCompile(`data-page="?(\w+)`)

// ordeal serves the torture site.
func ordeal(t *testing.T) *scoreboard.Web {
	t.Helper()
	o := scoreboard.NewTorture()
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}
