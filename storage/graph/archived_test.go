package graph_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/graph"
	"curtsy/storage/warc"
)

type page struct {
	url      string
	decision storage.Decision
	links    []storage.Outlink
}

func record(t testing.TB, w *warc.Writer, p page) {
	t.Helper()
	answer := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>" + strings.Repeat("x", 5000)
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	_, err := w.Record(t.Context(), storage.Record{
		URL: p.url, Time: began, Addr: netip.MustParseAddrPort("192.0.2.1:80"), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(strings.Index(answer, "<")),
		Line: &storage.Line{URL: p.url, Decision: p.decision, Attempt: 1, Began: began, Status: 200, Outcome: storage.OutcomeFetched}, Outlinks: p.links,
	})
	require.NoError(t, err)
}

func links(urls ...string) (list []storage.Outlink) {
	for _, u := range urls {
		list = append(list, storage.Outlink{URL: u, Kind: "link"})
	}
	return list
}

type taken struct {
	list []string
	err  error
}

func (s *taken) Vertex(url string) error {
	s.list = append(s.list, url)
	return s.err
}

func (s *taken) Link(source, target string) error {
	s.list = append(s.list, source+" "+target)
	return s.err
}

func archive(t testing.TB, pages ...page) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "warc")
	w, err := warc.Open(warc.Options{Dir: dir, Name: "curtsy", SegmentSize: 4000})
	require.NoError(t, err)
	for _, p := range pages {
		record(t, w, p)
	}
	require.NoError(t, w.Close())
	return dir
}

func TestLinksAreThoseOfMetadataRecords(t *testing.T) {
	var pages []page
	var want []string
	for i := range 20 {
		p := page{fmt.Sprintf("http://a.example/%d", i), storage.DecisionAllow, []storage.Outlink{
			{URL: fmt.Sprintf("http://b.example/%d", i), Kind: "link"}, {URL: "http://c.example/x.png", Kind: "embed"}, {URL: "http://d.example/", Kind: "redirect"},
		}}
		pages = append(pages, p)
		want = append(want, p.url)
		for _, l := range p.links {
			want = append(want, p.url+" "+l.URL)
		}
	}
	pages = append(pages, page{"http://a.example/robots.txt", storage.DecisionRobots, nil}, page{"http://z.example/", storage.DecisionAllow, nil})
	want = append(want, "http://z.example/")
	dir := archive(t, pages...)
	segments, err := os.ReadDir(dir)
	require.Truef(t, err == nil && len(segments) >= 3, "%d segments: %v", len(segments), err)
	var got taken
	n, err := graph.Links(t.Context(), dir, &got)
	assert.Truef(t, err == nil && n == 21 && slices.Equal(got.list, want), "%d pages, %v\n%q\nwant\n%q", n, err, got.list, want)
}

func TestArchived_MissingArchiveHasNoLinks(t *testing.T) {
	n, err := graph.Links(t.Context(), filepath.Join(t.TempDir(), "none"), &taken{})
	assert.Truef(t, n == 0 && err == nil, "%d pages: %v", n, err)
}

func TestArchived_SkipsDamage(t *testing.T) {
	dir := archive(t, page{"http://a.example/", storage.DecisionAllow, links("http://b.example/")}, page{"http://b.example/", storage.DecisionAllow, links("http://a.example/")})
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	whole, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	require.NoError(t, err)
	for name, b := range map[string][]byte{"torn": whole[:len(whole)-10], "garbage": []byte(strings.Repeat("garbage", 1000)), "empty": nil, "behind garbage": append([]byte("garbage\n"), whole...)} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x-00000.warc.gz.open"), b, 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x-00001.warc.gz"), whole, 0o644))
		var got taken
		_, err := graph.Links(t.Context(), dir, &got)
		assert.Truef(t, err == nil && slices.Contains(got.list, "http://a.example/ http://b.example/"), "%s: %q: %v", name, got.list, err)
	}
}

func TestArchived_StopsOnCallerError(t *testing.T) {
	dir := archive(t, page{"http://a.example/", storage.DecisionAllow, links("http://b.example/")})
	full := taken{err: errors.New("the disk is full")}
	_, err := graph.Links(t.Context(), dir, &full)
	assert.Truef(t, errors.Is(err, full.err) && len(full.list) == 1, "%q: %v", full.list, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = graph.Links(ctx, dir, &taken{})
	assert.ErrorIsf(t, err, context.Canceled, "broken off: %v", err)
}

func TestTheGraphIsOfAllArchives(t *testing.T) {
	one := archive(t, page{"http://a.example/", storage.DecisionAllow, links("http://b.example/", "http://b.example/x", "mailto:c@d.example")})
	two := archive(t, page{"http://b.example/", storage.DecisionAllow, links("http://c.example/")})
	g, err := graph.ArchivedGraph(t.Context(), graph.Options{}, one, two)
	require.NoError(t, err)
	defer g.Close()
	assert.Truef(t, g.Order() == 3 && g.Size() == 2 && g.Counts == (graph.Counts{Links: 4, NoURL: 1}), "%d vertices, %d edges, %+v", g.Order(), g.Size(), g.Counts)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = graph.ArchivedGraph(ctx, graph.Options{}, one)
	assert.ErrorIsf(t, err, context.Canceled, "broken off: %v", err)
}

type completing struct {
	taken
	dir string
	err error
}

func (c *completing) Vertex(url string) error {
	if open, _ := filepath.Glob(filepath.Join(c.dir, "*.open")); len(open) == 1 {
		c.err = os.Rename(open[0], strings.TrimSuffix(open[0], ".open"))
	}
	return c.taken.Vertex(url)
}

func TestLinks_ASegmentMayBeCompletedMeanwhile(t *testing.T) {
	var pages []page
	for i := range 9 {
		pages = append(pages, page{fmt.Sprintf("http://a.example/%d", i), storage.DecisionAllow, links("http://b.example/")})
	}
	dir := archive(t, pages...)
	all, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	require.NoError(t, err)
	require.GreaterOrEqualf(t, len(all), 2, "%d segments: %v", len(all), err)
	last := all[len(all)-1]
	require.NoError(t, os.Rename(last, last+".open"))
	got := completing{dir: dir}
	n, err := graph.Links(t.Context(), dir, &got)
	assert.Truef(t, err == nil && got.err == nil && n == 9, "%d pages of 9: %v, %v", n, err, got.err)
}
