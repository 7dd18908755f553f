//go:build peers

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files writes a tree.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const dot = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="

const smallDrawing = `<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"></svg>`

// brokenTree has each kind of breakage once, and beside each what is whole.
func brokenTree(t *testing.T) string {
	return files(t, map[string]string{
		"index.html": `<body data-page="home"><a href="pages/dead.html#x" data-want-page="other">right</a><a href="images.html">images</a><a href="styles.html">styles</a>
			<a href="mailto:a@b.test">mail</a><a href="https://elsewhere.test/">elsewhere</a><a href="#here">here</a>`,
		"images.html": `<img src="good.svg" data-want="7x5"><img src="good.svg" data-want="8x5"><img src="text.svg"><img src="nothing.png"><img src="` + dot + `">
			<img src="http://elsewhere.test/off.png"><img src="http://elsewhere.test/known.png"><i style="background-image: url(good.svg)" data-css="background-image" data-want="1x1"></i>`,
		"styles.html":  `<link rel="stylesheet" href="good.css"><link rel="stylesheet" href="lost.css"><body data-styles="good lost"><p>text`,
		"scripts.html": `<script src="good.js"></script><script src="lost.js"></script><body data-scripts="good lost"><script type="application/ld+json">{broken</script><script>fetch("unknown.json").catch(() => 0)</script>`,
		"fonts.html":   `<style>@font-face { font-family: lost; src: url(lost.woff) }</style><body data-fonts="lost:50.0"><p style="font-family: lost">A`,
		"policy.html":  `<meta http-equiv="Content-Security-Policy" content="img-src http://origin.test/"><img src="good.svg">`,
		"pages/dead.html": `<body data-page="other"><a href="nowhere.html">dead</a><a href="../pages/">a folder without a page</a><iframe src="lost.html"></iframe>
			<a href="../index.html" data-want-page="other">another page</a><a href="http://origin.test/left.html" data-want-page="left">left</a><a href="../../outside.html">outside</a>
			<meta http-equiv="refresh" content="900; url=gone.html"><p data-want-text="caf&eacute;">caf?</p>`,
		"noext":    `<!doctype html><title>no extension</title><a href="nowhere">dead</a>`,
		"good.svg": smallDrawing, "copy.svg": smallDrawing, "text.svg": "no drawing", "empty.txt": "", "empty2.txt": "",
		"good.css": ":root { --style-good: 1 }", "good.js": `(window.ran = window.ran || []).push("good")`,
	})
}

// take removes what is wrong in a way.
func (b *browsed) take(way string) (taken []string) {
	b.Wrong = slices.DeleteFunc(b.Wrong, func(s string) bool {
		if strings.Contains(s, way) {
			taken = append(taken, strings.Replace(s, "noext", "nowhere", 1))
			return true
		}
		return false
	})
	return taken
}

// The checker can fail: each kind of breakage is counted, and what is whole is not.
func TestPeers_BrowserFindsBreakage(t *testing.T) {
	amongOthers(t)
	if testing.Short() {
		t.Skip("a browser")
	}
	dir := brokenTree(t)
	s := treeOf(t, dir)
	known := func(u string) bool { return u == "http://elsewhere.test/known.png" }
	for mode, shelf := range map[string]shelf{"file": s, "server": serveTree(t, s)} {
		b := browse(t, shelf, known)
		if b.Pages != 8 {
			t.Errorf("%s: %d pages", mode, b.Pages)
		}
		if mode == "file" { // a page without an extension is text there
			b.Dead = append(b.Dead, b.take("it is shown as text/plain")...)
		}
		// pages/ is a folder over file://, and one without a page on the server.
		for _, tc := range []struct {
			what string
			got  []string
			want []string // what each line has in it
		}{
			{"failed", b.Failed, []string{"lost.woff", "nothing.png", "off.png", "lost.html", "good.svg", "lost.js", "lost.css"}},
			{"asked for by scripts", b.Fetched, []string{"unknown.json"}},
			{"off host", b.OffHost, []string{"off.png", "known.png"}},
			{"dead", b.Dead, []string{"nowhere", "nowhere.html", "/pages/", "lost.html", "outside.html", "gone.html"}},
			{"left", b.Left, []string{"origin.test/left.html"}},
			{"images", b.Images, []string{"text.svg", "nothing.png", "off.png", "good.svg"}},
			{"wrong", b.Wrong, []string{"want 8x5", "want 1x1", "café", `leads to page "home"`}},
			{"styles", b.Styles, []string{"lost.css", "the style lost"}},
			{"scripts", b.Scripts, []string{"lost", "JSON-LD"}},
			{"fonts", b.Fonts, []string{"lost", "want 50.0"}},
			{"refused", b.Refused, nil},
		} {
			for _, part := range tc.want {
				if !slices.ContainsFunc(tc.got, func(s string) bool { return strings.Contains(s, part) }) {
					t.Errorf("%s, %s: nothing about %s in %q", mode, tc.what, part, tc.got)
				}
			}
			if len(tc.got) != len(tc.want) {
				t.Errorf("%s, %s: %d findings, want %d: %q", mode, tc.what, len(tc.got), len(tc.want), tc.got)
			}
		}
	}
	if d := duplicates(t, dir); len(d) != 1 || d[0] != `["copy.svg" "good.svg"]` {
		t.Errorf("duplicates: %q", d)
	}
}

func TestPeers_UnportableNamesAreFound(t *testing.T) {
	t.Parallel()
	names := map[string]string{"fine.html": "", "CON": "", "aux.tar.gz": "", "com1.html": "", "a?b": "", "end.": "", "end ": "", "A/x": "", "a/y": "", "caf\u00e9": "", "cafe\u0301": "",
		strings.Repeat("x", 241): "", "compact.html": "", "line\nfeed": "", "fine%2f": ""}
	found := unportable(t, files(t, names))
	if len(found) != 10 {
		t.Errorf("%d: %q", len(found), found)
	}
}
