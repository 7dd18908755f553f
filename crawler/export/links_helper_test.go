package export

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/storage/answer"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/tables"
	"curtsy/storage/warc"
)

// newSite serves pages by their request targets: fields, an empty line, the body, all of which may be missing.
func newSite(t testing.TB, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		head, body, ok := strings.Cut(page, "\n\n")
		if !ok {
			head, body = "", page
		}
		status := 200
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for line := range strings.SplitSeq(head, "\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				w.Header().Set(name, value)
			} else if line != "" {
				fmt.Sscan(line, &status)
			}
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

// linksCrawled crawls from a URL.
func linksCrawled(t testing.TB, url string, with func(*crawldir.Settings)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "crawl")
	settings := crawldir.Defaults()
	settings.Delay, settings.MaxWait = 0, 0
	if with != nil {
		with(&settings)
	}
	seeds, err := crawldir.SeedURLs(url)
	if err == nil {
		err = crawldir.Create(t.Context(), dir, &settings, seeds)
	}
	if err == nil {
		_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// judging is how the crawl in dir judges.
func judging(t testing.TB, dir string) crawl {
	t.Helper()
	settings, err := crawldir.ReadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.ScopeConfig()
	if err != nil {
		t.Fatal(err)
	}
	rels, err := extract.ParseRels(settings.FollowRel)
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJudge(s, rels)
	if err != nil {
		t.Fatal(err)
	}
	return crawl{Name: filepath.Base(dir), Scope: j}
}

// table makes all rows of a crawl directory.
func table(t testing.TB, dir string, to func(tables.Row) error) {
	t.Helper()
	r := newLinksReader(t.TempDir(), []crawl{judging(t, dir)}, extract.New())
	all := newTable(r)
	defer all.Close()
	for l, err := range ledger.Read(filepath.Join(dir, crawldir.LedgerName)) {
		if err == nil {
			err = all.Line(0, &l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	docs := documents(t, r, dir)
	slices.SortStableFunc(docs, func(a, b *linksDocument) int {
		return cmp.Or(strings.Compare(a.head.Key, b.head.Key), a.head.Time.Compare(b.head.Time))
	})
	for _, d := range docs {
		if err := all.Add(d); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Rows(t.Context(), to); err != nil {
		t.Fatal(err)
	}
}

// documents reads all answers of an archive.
func documents(t testing.TB, r *linksReader, dir string) (docs []*linksDocument) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal("no archive", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rd := warc.NewReader(f)
		var last *linksDocument
		for {
			rec, err := rd.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch rec.Type {
			case "response":
				if last = document(t, r, rec); last != nil {
					docs = append(docs, last)
				}
			case "metadata":
				if l, err := rec.Decision(); err == nil && last != nil {
					last.Decided(&l)
				}
			}
		}
	}
	return docs
}

func document(t testing.TB, r *linksReader, rec *warc.Record) *linksDocument {
	t.Helper()
	a, err := answer.Read(rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	body, err := a.Body(extract.MaxParse + 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := r.Read(t.Context(), source{Key: cdxj.Key(a.URL), URL: a.URL, Time: a.Date, Status: a.Status, Header: a.Header, Body: body, Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// named are the values of a row by their columns, without nulls.
func named(r tables.Row) map[string]string {
	m := map[string]string{}
	for i, v := range r {
		switch c := tables.Links.Columns[i]; {
		case v.IsNull():
		case c.Kind == tables.String:
			m[c.Name] = v.Text()
		case c.Kind == tables.List:
			m[c.Name] = strings.Join(v.List(), " ")
		case c.Kind == tables.Bool:
			m[c.Name] = fmt.Sprint(v.Number() == 1)
		case c.Kind == tables.Time:
			m[c.Name] = v.Time().Format("2006-01-02T15:04:05Z")
		default:
			m[c.Name] = fmt.Sprint(v.Number())
		}
	}
	return m
}
