package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDuplicatesOfACrawl(t *testing.T) {
	long := func(more string) string {
		var b strings.Builder
		for i := range 120 {
			fmt.Fprintf(&b, "word%d ", i)
		}
		return "<title>T</title><p>" + b.String() + more
	}
	other := strings.ReplaceAll(long(""), "word", "else")
	w := newWeb(t, map[string]string{
		"/":      "<a href=/a>1</a><a href=/copy>2</a><a href=/near>3</a><a href=/other>4</a><a href=/short>5</a><a href=/text>6</a><a href=/gone>7</a><a href=/pic>8</a>",
		"/a":     long(""),
		"/copy":  long(""),
		"/near":  long("and one more"),
		"/pic":   long("<img src=/p.png>"),
		"/other": other,
		"/short": "<p>too few words",
		"/text":  "Content-Type: text/plain\n\n" + long(""),
		"/gone":  "404\n\n" + long(""),
	})
	m := makeTable(t, "duplicates", crawled(t, w, "news"))
	var got []string
	for _, r := range m.rows {
		at := func(name string) int { return m.table.Index(name) }
		got = append(got, fmt.Sprintf("%s %s of %d like %s %.2f", strings.TrimPrefix(r[at("url")].Text(), w.URL), r[at("kind")].Text(),
			r[at("cluster_size")].Number(), strings.TrimPrefix(r[at("representative")].Text(), w.URL), r[at("similarity")].Float()))
	}
	assert.Equal(t, "/a representative of 4 like /a 1.00\n/copy exact of 4 like /a 1.00\n/near near of 4 like /a 0.98\n/pic near of 4 like /a 1.00", strings.Join(got, "\n"))
	assert.Truef(t, m.Lefts[leftShort] == 1 && m.Lefts[leftAlone] == 2, "left: %v", m.Lefts)
	in, err := Open(t.Context(), t.TempDir(), crawled(t, w, "third"))
	require.NoError(t, err)
	defer in.Close()
	f, _, err := in.Duplicates(t.Context(), nil)
	require.NoError(t, err)
	defer f.Close()
	largest, clusters, pages, err := f.Largest(t.Context(), 1, 2)
	if err != nil || clusters != 1 || pages != 4 || len(largest) != 1 || largest[0].Size != 4 || largest[0].Copies != 1 || len(largest[0].Others) != 2 || largest[0].Least > 0.99 {
		t.Errorf("%+v, %d clusters, %d pages, %v", largest, clusters, pages, err)
	}
	hashes := map[string]int64{}
	p := makeTable(t, "pages", crawled(t, w, "again"))
	for _, r := range p.rows {
		if h := r[p.table.Index("simhash")]; !h.IsNull() {
			hashes[strings.TrimPrefix(r[p.table.Index("url")].Text(), w.URL)] = h.Number()
		}
	}
	assert.Truef(t, hashes["/a"] != 0 && hashes["/a"] == hashes["/pic"] && hashes["/a"] != hashes["/other"], "%v", hashes)
}
