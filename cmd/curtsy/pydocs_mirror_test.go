package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// sampledPages is every n-th page of a tree, and its first.
func sampledPages(s tree, n int) tree {
	var some []string
	for i, name := range s.names {
		if i%n == 0 || name == "index.html" {
			some = append(some, name)
		}
	}
	s.names = some
	return s
}

// docsMirrored is what came of a mirror of Python's documentation.
type docsMirrored struct {
	by           string
	took         time.Duration
	asked, again int // requests, and those for what had been asked before
	pages        int // of the tree
	file, server browsed
}

// docsMirroredBy lets a program make a mirror of Python's documentation under nginx, and opens each n-th page of it.
func docsMirroredBy(t *testing.T, by mirrorer, n int) docsMirrored {
	t.Helper()
	s := serveFiles(t, pythonDocs(t))
	dir, took := mirrorOf(t, by, "http://"+s.addr+"/")
	m := docsMirrored{by: by.name, took: took}
	for _, targets := range s.asked() {
		for target, n := range targets {
			if m.asked += n; target != "/robots.txt" {
				m.again += n - 1
			}
		}
	}
	s.stop() // what a page still asks of the site comes to nothing
	all := treeOf(t, dir)
	m.pages = len(all.names)
	some := sampledPages(all, n)
	nothing := func(string) bool { return false }
	m.file, m.server = browse(t, some, nothing), browse(t, serveTree(t, some), nothing)
	return m
}

// Real input: mirrors of Python's documentation, opened in a browser. Ours has nothing broken, and takes no longer than
// those of others.
func TestMirrorsOfPythonDocs(t *testing.T) {
	amongOthers(t)
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(tw, "| program | seconds | requests | asked again | pages | opened | failed requests | dead links | missing images | other |")
	fmt.Fprintln(tw, "|---|---|---|---|---|---|---|---|---|---|")
	for _, by := range mirrorers() {
		t.Run(by.name, func(t *testing.T) {
			if testing.Short() || !by.ours && !full() {
				t.Skip("a whole site, and a browser: CURTSY_LONG=1")
			}
			n := 25
			switch {
			case full() && by.ours:
				n = 1
			case full():
				n = 10
			}
			m := docsMirroredBy(t, by, n)
			for way, b := range map[string]browsed{"file": m.file, "server": m.server} {
				// The module index has its script put one picture in the place of another: no page and no style sheet names it.
				broken := slices.DeleteFunc(b.broken(), func(what string) bool { return strings.Contains(what, "/_static/plus.png") })
				t.Logf("%s: %v\n%s", way, b, strings.Join(first(broken, 40), "\n"))
				if by.ours && len(broken) > 0 {
					t.Errorf("%s: %d things are broken", way, len(broken))
				}
				other := len(b.broken()) - len(b.Failed) - len(b.Dead) - len(b.Images)
				fmt.Fprintf(tw, "| %s, %s | %.1f | %d | %d | %d | %d | %d | %d | %d | %d |\n", m.by, way, m.took.Seconds(), m.asked, m.again, m.pages, b.Pages,
					len(b.Failed), len(b.Dead), len(b.Images), other)
			}
			if m.pages < 500 {
				t.Errorf("%d pages are no mirror", m.pages)
			}
		})
	}
	tw.Flush() //nolint:errcheck // a strings.Builder takes everything
	t.Logf("\n%s", b.String())
}

// first returns the first n lines.
func first(list []string, n int) []string { return list[:min(n, len(list))] }
