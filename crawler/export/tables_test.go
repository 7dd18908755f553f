package export

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger"
	"curtsy/storage/tables"
)

func linesOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	for _, err := range ledger.Texts(filepath.Join(dir, crawldir.LedgerName)) {
		require.NoError(t, err)
		n++
	}
	return n
}

func TestDecisions(t *testing.T) {
	w := bakery(t)
	dir := crawled(t, w, "bakery")
	updated(t, dir)
	m := makeTable(t, "decisions", dir)
	lines := linesOf(t, dir)
	assert.Truef(t, m.Rows == lines && len(m.Lefts) == 0, "%d rows of %d lines, %v", m.Rows, lines, m.Lefts)
	kinds := map[string]int{}
	for i, r := range m.rows {
		assert.Equalf(t, valueText(tables.Long(int64(i))), m.show(r, "entry"), "the entry of row %d", i)
		kinds[m.show(r, "line_kind")+" "+m.show(r, "generation")]++
	}
	assert.Truef(t, kinds["decision 1"] != 0 && kinds["decision 2"] != 0 && kinds["decision -"] == 0 && kinds["mark 1"] != 0 && len(kinds) <= 5, "%v", kinds)
	r := m.find(t, "url", w.URL+"/ovens/1")
	assert.Equal(t, "link | 1 | disallow | disallow rule | 2 | Disallow: /ovens/ | "+w.URL+"/ | "+w.URL+"/ | - | -",
		m.show(r, "kind", "depth", "decision", "reason", "line", "rule", "via", "seed", "attempt", "pace_ms"))
	r = m.find(t, "mark", string(textOf(t, dir, 0)))
	assert.Equal(t, "mark | - | 0", m.show(r, "line_kind", "url", "entry"))
}

func textOf(t *testing.T, dir string, index int64) []byte {
	t.Helper()
	for l, err := range ledger.Texts(filepath.Join(dir, crawldir.LedgerName)) {
		require.NoError(t, err)
		if l.Index == index {
			return slices.Clone(l.Line)
		}
	}
	return nil
}

func TestDecisionsOfADamagedLedger(t *testing.T) {
	dir := crawled(t, bakery(t), "bakery")
	lines := linesOf(t, dir)
	path := filepath.Join(dir, crawldir.LedgerName, "000000.jsonl")
	all := strings.SplitAfter(string(read(t, path)), "\n")
	all[3] = "{no line}\n"
	all[5] = `{"redacted":"` + strings.Repeat("0a", 32) + "\"}\n"
	write(t, path, []byte(strings.Join(all, "")+`{"time":"20`))
	m := makeTable(t, "decisions", dir)
	assert.Truef(t, m.Rows == lines && m.Lefts[tornLine] == 1 && len(m.Lefts) == 1, "%d rows of %d lines, %v", m.Rows, lines, m.Lefts)
	for i, want := range map[int]string{3: "unreadable", 5: "redacted"} {
		assert.Equal(t, want+" | - | -", m.show(m.rows[i], "line_kind", "url", "time"), i)
	}
	h := makeTable(t, "hosts", dir)
	assert.Truef(t, h.Lefts[unread] == 1 && h.Lefts[redacted] == 1 && h.Lefts[mark] != 0 && h.Lefts[tornLine] == 1, "%v", h.Lefts)
	// The checkpoint has the number of lines before the end was cut off.
	for _, keep := range []int{len(all) / 2, 0} {
		cut := strings.Join(all[:keep], "")
		if keep > 0 {
			cut += all[keep][:20]
		}
		write(t, path, []byte(cut))
		m = makeTable(t, "decisions", dir)
		whole := m.Rows + m.Lefts[LostLines] + m.Lefts[tornLine]
		assert.Truef(t, m.Rows == int64(keep) && whole == lines, "%d rows of %d lines, %v", m.Rows, lines, m.Lefts)
	}
}

func TestHosts(t *testing.T) {
	w := bakery(t)
	w.change("/none", "503\nRetry-After: 0\n\n")
	dir := crawled(t, w, "bakery")
	m := makeTable(t, "hosts", dir)
	require.EqualValues(t, 1, m.Rows, "rows")
	d := makeTable(t, "decisions", dir)
	decisions, octets := int64(0), int64(0)
	for _, r := range d.rows {
		if d.show(r, "line_kind") == "decision" {
			decisions++
			octets += r[d.table.Index("octets")].Number()
		}
	}
	r := m.rows[0]
	assert.Equal(t, decisions, r[m.table.Index("decisions")].Number(), "lines")
	assert.Equal(t, octets, r[m.table.Index("octets")].Number(), "octets")
	got := m.show(r, "host_surtkey", "authority", "host", "scheme", "own", "fetched", "redirected", "disallowed", "robots_exchanges",
		"status_3xx", "no_answer", "registered_domain", "crawl")
	port := strings.TrimPrefix(w.URL, "http://127.0.0.1")
	want := "1,0,0,127" + port + ")/ | http://127.0.0.1" + port + " | 127.0.0.1 | http | true | 4 | 1 | 1 | 1 | 1 | 0 | - | bakery"
	assert.Equal(t, want, got)

	e := makeTable(t, "errors", dir)
	f := e.find(t, "class", "status 503")
	assert.Equal(t, "http://127.0.0.1"+port+" | false | "+w.URL+"/none | bakery | the server was broken or busy, and the crawl backed off",
		e.show(f, "authority", "robots", "example_url", "crawl", "meaning"))
	n := f[e.table.Index("count")].Number()
	assert.Truef(t, n >= 1 && f[e.table.Index("deferred")].Number() <= n, "%s", e.show(f, "count", "deferred"))
}

func TestSumsSpill(t *testing.T) {
	in := &Inputs{temp: t.TempDir()}
	s := newSums(in, func(to, more *int) { *to += *more })
	const keys = mostSums + 100
	for round := range 3 {
		for i := range keys {
			n, err := s.of(keyOf("a"+strings.Repeat("b", i%7), valueText(tables.Long(int64(i)))))
			require.NoError(t, err)
			*n += round + 1
		}
	}
	seen, last := 0, []string{}
	err := s.all(func(key []string, sum *int) error {
		require.Truef(t, *sum == 6 && slices.Compare(last, key) < 0, "%q behind %q: %d", key, last, *sum)
		seen, last = seen+1, key
		return nil
	})
	require.NoError(t, s.close(err))
	assert.Equal(t, keys, seen)
}

func TestRobots(t *testing.T) {
	w := bakery(t)
	w.change("/robots.txt", "Content-Type: text/plain\n\nUser-agent: Curtsy\nUser-agent: other\nDisallow: /ovens/\nCrawl-delay: 0\nContent-Signal: search=yes\n"+
		"\nUser-agent: *\nDisallow: /\nAllow: /$\nSitemap: "+w.URL+"/map.xml\nLicense: https://l.example/\nnonsense\n")
	dir := crawled(t, w, "bakery")
	m := makeTable(t, "robots", dir)
	require.Truef(t, m.Rows == 1 && len(m.Problems) == 0, "%d rows, %v", m.Rows, m.Problems)
	r := m.rows[0]
	got := m.show(r, "valid_to", "exchanges", "url", "status", "groups", "agents", "rules", "delays", "sitemaps", "preferences", "warc_filename")
	want := "- | 1 | " + w.URL + "/robots.txt | 200 | 2 | curtsy; other; * | curtsy,other disallow: /ovens/; * disallow: /; * allow: /$ | " +
		"curtsy,other crawl-delay: 0 | " + w.URL + "/map.xml | curtsy,other content-signal: search=yes; * license: https://l.example/ | bakery/warc/curtsy-00000.warc.gz"
	assert.Equal(t, want, got)
	p := makeTable(t, "pages", dir)
	assert.Equal(t, m.show(r, "sha256"), p.show(p.find(t, "url", w.URL+"/"), "robots_sha256"))
	assert.NotZero(t, r[m.table.Index("warnings")].Number(), "warnings")
}

// A 304 continues a version.
func TestRobotsVersions(t *testing.T) {
	sights := []sight{
		{Status: 404}, {Status: 404}, {Status: 200, SHA256: "aa", Body: []byte("User-agent: *\nDisallow: /\n")}, {Status: 304},
		{Status: 200, SHA256: "aa", Body: []byte("User-agent: *\nDisallow: /\n")}, {Status: 200, SHA256: "bb"}, {Status: 200, SHA256: "aa"},
	}
	got := versionsOf(t, sights)
	want := []string{
		"404 | 2 | 0s | 1s | 2s | -", "200 | 3 | 2s | 4s | 5s | aa", "200 | 1 | 5s | 5s | 6s | bb", "200 | 1 | 6s | 6s | - | aa",
	}
	assert.Equal(t, want, got)
}

func TestHeaders(t *testing.T) {
	w := bakery(t)
	w.change("/to", "302\nLocation: /a?x=1&y=\nX-Odd: a, \"b\"\n\n")
	dir := crawled(t, w, "bakery")
	m := makeTable(t, "headers", dir)
	assert.Empty(t, m.Lefts)
	var got []string
	for _, r := range m.rows {
		if u := m.show(r, "url", "side"); u == w.URL+"/to | response" || u == w.URL+"/to | request" {
			if name := m.show(r, "name"); name == "-" || name == "Host" || name == "X-Odd" {
				got = append(got, m.show(r, "side", "name", "value"))
			}
		}
	}
	want := []string{"request | - | GET /to HTTP/1.1", "request | Host | " + strings.TrimPrefix(w.URL, "http://"), "response | - | HTTP/1.1 302 Found", `response | X-Odd | a, "b"`}
	assert.Equal(t, want, got)
}

// RFC 9112: folded lines, names with trailing blanks, invalid fields.
func TestFieldsOfAHead(t *testing.T) {
	var got []string
	f := newFiller(&tables.Headers)
	m := &made{table: &tables.Headers}
	out := NewOut(&tables.Headers, func(r tables.Row) error {
		got = append(got, m.show(r, "position", "name", "value"))
		return nil
	})
	for _, head := range []string{"HTTP/1.1 200 OK\r\nA : b \r\n\tc\r\nno field\r\n: x\r\nE:\r\n\r\n", "", "\r\n"} {
		require.NoError(t, f.row().fields(head, out))
	}
	want := []string{"0 | - | HTTP/1.1 200 OK", "1 | A | b c", "2 | - | no field", "3 | - | x", "4 | E | "}
	assert.Equal(t, want, got)
}
