package export

import (
	"strings"
	"testing"
)

// TestLinks: each mention of each page of each generation is a row, where another record has the body, too.
func TestLinks(t *testing.T) {
	w := bakery(t)
	dir := crawled(t, w, "bakery")
	updated(t, dir)
	m := makeTable(t, "links", dir)
	n := map[string]int{}
	for _, r := range m.rows {
		n[m.show(r, "generation", "kind", "why_not")]++
	}
	// Of the first page six, of /a one; /to leads on in both generations; the update repeats what was archived before.
	for what, want := range map[string]int{"1 | link | -": 6, "1 | link | disallow rule": 1, "1 | redirect | -": 1, "2 | redirect | -": 1, "2 | link | -": 6, "2 | link | disallow rule": 1, "2 | unread | revisit": 0} {
		if n[what] != want {
			t.Errorf("%s: %d, want %d of %v", what, n[what], want, n)
		}
	}
	r := m.find(t, "target_written", "/a?x=1&y=")
	if got, want := m.show(r, "source_url", "target_url", "anchor_text", "in_scope", "followed", "target_status"), w.URL+"/ | "+w.URL+"/a?x=1&y= | a | true | true | 200"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestDuplicates: pages with the same text are a cluster, and the table of pages has the same simhash for both.
func TestDuplicates(t *testing.T) {
	text := "<p>Ten words that stand on more than one page here, and nothing else: " + strings.Repeat("bread and butter ", 5)
	w := newWeb(t, map[string]string{"/": "<a href=/one>1</a><a href=/two/x>2</a>", "/one": text, "/two/x": text + "."})
	dir := crawled(t, w, "bakery")
	m := makeTable(t, "duplicates", dir)
	if m.Rows != 2 || m.Lefts[leftShort] != 1 {
		t.Fatalf("%d rows, %v", m.Rows, m.Lefts)
	}
	if got := m.show(m.find(t, "url", w.URL+"/two/x"), "cluster_size", "representative"); got != "2 | "+w.URL+"/one" {
		t.Error(got)
	}
	p := makeTable(t, "pages", dir)
	if p.show(p.find(t, "url", w.URL+"/one"), "simhash", "language") == "- | -" || p.show(p.find(t, "url", w.URL+"/"), "simhash") != "-" {
		t.Errorf("%s, %s", p.show(p.find(t, "url", w.URL+"/one"), "simhash"), p.show(p.find(t, "url", w.URL+"/"), "simhash"))
	}
}
