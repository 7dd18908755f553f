package export

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/extract"
	"curtsy/crawler/scope"
	"curtsy/storage"
	"curtsy/storage/tables"
)

// BenchmarkTable makes the rows of pages with 40 links each, half of which the ledger has: all three passes.
func BenchmarkTable(b *testing.B) {
	const each = 40
	var page strings.Builder
	page.WriteString("<!DOCTYPE html><title>A page</title><body>")
	for i := range each {
		fmt.Fprintf(&page, `<p class=text>%s <a href="/page/%%d/%d.html#top">read <b>more</b></a>`, strings.Repeat("Lorem ipsum dolor sit amet, ", 16), i)
	}
	j, err := newJudge(scope.Config{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	r := newLinksReader(b.TempDir(), []crawl{{Name: "bench", Scope: j}}, extract.New())
	t := newTable(r)
	defer t.Close()
	line := storage.Line{Kind: storage.KindSeed, URL: "http://h.test/", Decision: storage.DecisionAllow, Outcome: storage.OutcomeFetched, Attempt: 1, Status: 200}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		url := fmt.Sprintf("http://h.test/page/%d/0.html", n)
		line.Time, line.URL = time.Unix(int64(n), 0), url
		if err := t.Line(0, &line); err != nil {
			b.Fatal(err)
		}
		line.Kind = storage.KindLink
		d := linksRead(b, r, url, strings.ReplaceAll(page.String(), "%d", fmt.Sprint(n/2)))
		if err := errors.Join(t.Add(d), d.Close()); err != nil {
			b.Fatal(err)
		}
		n++
	}
	rows := 0
	if err := t.Rows(b.Context(), func(tables.Row) error { rows++; return nil }); err != nil {
		b.Fatal(err)
	}
	if rows != n*each {
		b.Fatal(rows)
	}
	b.ReportMetric(float64(t.documents.Size())/float64(rows), "B/row")
	b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(rows), "µs/row")
}
