package export

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/crawler/crawldir"
	"curtsy/storage/tables"
)

// linking is a site of many pages that link to each other, in all the ways that the table tells apart.
func linking(t *testing.T) *web {
	pages := map[string]string{
		"/robots.txt": "Content-Type: text/plain\n\nUser-agent: *\nDisallow: /ovens/\n",
		"/style.css":  "Content-Type: text/css\n\n@import 'more.css'; p { background: url(i.png) }",
		"/xml":        `Content-Type: application/xhtml+xml` + "\n\n" + `<html xmlns="http://www.w3.org/1999/xhtml"><a href="/p1">x<b>y</b></a></html>`,
		"/latin":      "Content-Type: text/html; charset=ISO-8859-1\nRefresh: 9; url=/p2\n\nx<a href='?q=\xe4'>gr\xfc\xdfe</a>",
		"/rules":      "X-Robots-Tag: nofollow\n\nx<a href=/p3>no</a>",
		"/noarchive":  "X-Robots-Tag: noarchive\n\nx<a href=/p3>kept by nobody</a>",
		"/again":      "x<a href=relative>same bytes</a>",
		"/again/too":  "x<a href=relative>same bytes</a>",
		"/to":         "302\nLocation: /p1\n\n",
		"/none":       "nothing here",
		"/deep":       "x" + strings.Repeat("<table><td>", 600) + "<a href=/p1>",
	}
	names := slices.Sorted(maps.Keys(pages))
	for i := range 60 {
		var b strings.Builder
		fmt.Fprintf(&b, "<!DOCTYPE html><title>%d</title><base href=/><link rel='stylesheet' href=style.css><style>p{background:url(%d.png)}</style><body>text", i, i)
		for k := range 12 {
			fmt.Fprintf(&b, "<p>%s<a href=p%d rel='me %d'>to <b>page</b><br>%d<p>behind</a> <a href=%s>n</a><a href=mailto:m%d>m</a><a href=#top>top</a>", strings.Repeat("word ", 40), (i*7+k*k)%60, k, k, names[k%len(names)], k)
			fmt.Fprintf(&b, "<img src=i%d.png srcset='a%d 1x, b 2x' alt='a picture'><a href=ovens/%d><img src=x alt='in place of text'></a>", k, k, k)
		}
		pages[fmt.Sprintf("/p%d", i)] = b.String()
	}
	pages["/"] = pages["/p0"]
	return newWeb(t, pages)
}

// told are the rows of the table of links, and how they were made.
func told(t *testing.T, dir string) (rows []string, notes map[string]int64) {
	t.Helper()
	m := makeTable(t, tables.Links.Name, dir)
	for _, r := range m.rows {
		var all []string
		for _, v := range r {
			all = append(all, text(v))
		}
		rows = append(rows, strings.Join(all, " | "))
	}
	return rows, m.Notes
}

// TestLinks_WithAndWithoutExcerpts: the table is the same row for row, whatever was kept while crawling, and whatever
// became of that: the archive has the rest.
func TestLinks_WithAndWithoutExcerpts(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads much, for long under the race detector")
	}
	w := linking(t)
	dir := crawled(t, w, "site", func(s *crawldir.Settings) { s.Links = true })
	w.change("/p3", "x<a href=/p4>another page</a>")
	updated(t, dir)
	kept := filepath.Join(dir, crawldir.LinksName)
	with, notes := told(t, dir)
	if notes[NoteExcerpts] < 100 || notes[NoteBodies] == 0 || notes[NoteDamaged] != 0 {
		t.Errorf("%v", notes)
	}
	files := map[string][]byte{}
	entries, err := os.ReadDir(kept)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%v, %v: want a file of each generation", entries, err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(kept, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = b
		if strings.Contains(string(b), "kept by nobody") {
			t.Error("a page that asks not to be archived is there")
		}
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	without, none := told(t, dir)
	if len(none) != 0 || len(without) < 4000 {
		t.Errorf("%d rows, %v", len(without), none)
	}
	alike := func(what string, got []string) {
		t.Helper()
		if slices.Equal(got, without) {
			return
		}
		for i := range min(len(got), len(without)) {
			if got[i] != without[i] {
				t.Fatalf("%s: row %d is\n%s\nwant\n%s", what, i, got[i], without[i])
			}
		}
		t.Fatalf("%s: %d rows, want %d", what, len(got), len(without))
	}
	alike("as it was kept", with)

	// What a kill leaves of them, and what a disk may do to them.
	first := files["000000.s2"]
	for _, damage := range []struct {
		what    string
		content []byte
		said    bool
	}{
		{"nothing was written", nil, false},
		{"torn in its head", first[:30], true},
		{"torn in its body", first[:len(first)-9], true},
		{"another byte within", append(append(slices.Clone(first[:len(first)/2]), ^first[len(first)/2]), first[len(first)/2+1:]...), true},
		{"zeros at its end", append(slices.Clone(first), make([]byte, 4096)...), true},
		{"no such file at all", []byte("<html>"), true},
	} {
		if err := os.MkdirAll(kept, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(kept, "000000.s2"), damage.content, 0o666); err != nil {
			t.Fatal(err)
		}
		rows, notes := told(t, dir)
		alike(damage.what, rows)
		if said := notes[NoteDamaged] > 0; said != damage.said {
			t.Errorf("%s: %v", damage.what, notes)
		}
	}
}
