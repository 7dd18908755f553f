//go:build peers

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
)

func brokenTree(t *testing.T) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", "broken.txtar"))
	if err == nil {
		dir := t.TempDir()
		if err = txtar.Write(a, dir); err == nil {
			return dir
		}
	}
	t.Fatal(err)
	return ""
}

// take removes findings.
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

// The checker counts each kind of breakage, and only that.
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
		assert.Equalf(t, 8, b.Pages, "%s: %d pages", mode, b.Pages)
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
			assert.Equalf(t, len(tc.want), len(tc.got), "%s, %s: %d findings, want %d: %q", mode, tc.what, len(tc.got), len(tc.want), tc.got)
		}
	}
}
