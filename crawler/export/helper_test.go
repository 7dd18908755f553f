package export

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/storage/scratch"
	"curtsy/storage/tables"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

type web struct {
	*httptest.Server
	mu    sync.Mutex
	pages map[string]string // a status, header fields, an empty line, and the body; or only the body
}

func newWeb(t *testing.T, pages map[string]string) *web {
	t.Helper()
	w := &web{pages: pages}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *web) change(path, page string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[path] = page
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	page, ok := w.pages[r.URL.RequestURI()]
	w.mu.Unlock()
	if !ok {
		http.NotFound(rw, r)
		return
	}
	head, body, ok := strings.Cut(page, "\n\n")
	status := 200
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	if !ok {
		head, body = "", page
	}
	for line := range strings.SplitSeq(head, "\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			rw.Header().Set(name, value)
		} else if line != "" {
			fmt.Sscan(line, &status)
		}
	}
	rw.WriteHeader(status)
	fmt.Fprint(rw, body)
}

func crawled(t *testing.T, w *web, name string, with ...func(*crawldir.Settings)) (dir string) {
	t.Helper()
	return crawledFrom(t, w.URL+"/", name, with...)
}

func crawledFrom(t *testing.T, seed, name string, with ...func(*crawldir.Settings)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	settings := crawldir.Defaults()
	settings.Delay, settings.MaxWait = 0, 0
	for _, set := range with {
		set(&settings)
	}
	seeds, err := crawldir.SeedURLs(seed)
	if err == nil {
		err = crawldir.Create(t.Context(), dir, &settings, seeds)
	}
	if err == nil {
		_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
	}
	require.NoError(t, err)
	return dir
}

func updated(t *testing.T, dir string) {
	t.Helper()
	s, err := crawldir.ReadSettings(dir)
	if err == nil {
		_, err = crawldir.Update(t.Context(), dir, &s, &s)
	}
	if err == nil {
		_, err = crawldir.Run(t.Context(), dir, crawldir.Options{})
	}
	require.NoError(t, err)
}

type made struct {
	table *tables.Table
	rows  []tables.Row
	*Out
}

// makeTable makes a table of crawls, and checks kinds and order of its rows.
func makeTable(t *testing.T, name string, dirs ...string) *made {
	t.Helper()
	in, err := Open(t.Context(), t.TempDir(), dirs...)
	require.NoError(t, err)
	defer in.Close()
	for _, s := range Sources() {
		if s.Table.Name != name {
			continue
		}
		m := &made{table: s.Table}
		places := s.Table.Places()
		m.Out = NewOut(s.Table, func(r tables.Row) error {
			assert.NoError(t, s.Table.Check(r))
			n := len(m.rows)
			assert.Truef(t, n <= 0 || tables.Keyed(places, m.rows[n-1], r) <= 0, "row %d is out of order", n)
			m.rows = append(m.rows, append(tables.Row(nil), r...))
			return nil
		})
		require.NoError(t, s.Rows(t.Context(), in, m.Out))
		return m
	}
	t.Fatalf("no table %s", name)
	return nil
}

// show formats some columns of a row, null as "-".
func (m *made) show(r tables.Row, columns ...string) string {
	var all []string
	for _, name := range columns {
		i := m.table.Index(name)
		if i < 0 {
			return "no column " + name
		}
		all = append(all, valueText(r[i]))
	}
	return strings.Join(all, " | ")
}

func valueText(v tables.Value) string {
	switch {
	case v.IsNull():
		return "-"
	case v.Kind() == tables.String:
		return v.Text()
	case v.Kind() == tables.Float64:
		return fmt.Sprint(v.Float())
	case v.Kind() == tables.List:
		return strings.Join(v.List(), "; ")
	case v.Kind() == tables.Time:
		return v.Time().String()
	case v.Kind() == tables.Bool:
		return fmt.Sprint(v.Number() == 1)
	}
	return fmt.Sprint(v.Number())
}

func (m *made) find(t *testing.T, column, value string) tables.Row {
	t.Helper()
	for _, r := range m.rows {
		if valueText(r[m.table.Index(column)]) == value {
			return r
		}
	}
	t.Fatalf("%s: no row whose %s is %s", m.table.Name, column, value)
	return nil
}
