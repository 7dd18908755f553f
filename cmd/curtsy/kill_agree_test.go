package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// heavy adds large files, so that a kill can hit an append, and a refused link on each page.
func heavy(site *crawltest.Site, files, octets int) (pages int) {
	for target, p := range site.Pages {
		p.Links = append(p.Links, "http://elsewhere.test"+target)
		site.Pages[target] = p
	}
	for i := range files {
		body := make([]byte, octets) // nothing that gzip makes smaller
		if _, err := rand.Read(body); err != nil {
			panic(err)
		}
		target, from := fmt.Sprintf("/heavy%d.bin", i), fmt.Sprintf("/p%d.html", i*3+1)
		site.Pages[target] = crawltest.Page{Type: "application/octet-stream", Body: string(body)}
		p := site.Pages[from]
		p.Links = append(p.Links, target)
		site.Pages[from] = p
	}
	return files
}

// inAppend waits at most d until the open segment of a crawl grows, and reports whether it did.
func inAppend(dir string, d time.Duration) bool {
	size := func() (n int64) {
		open, _ := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.open"))
		for _, path := range open {
			if fi, err := os.Stat(path); err == nil {
				n += fi.Size()
			}
		}
		return n
	}
	before := int64(-1)
	return within(d, 50*time.Microsecond, nil, func() bool {
		now := size()
		grew := before >= 0 && now > before+64<<10 // more than a page has
		before = now
		return grew
	})
}

func recordsIn(t *testing.T, dir string, visit func(*warc.Record)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*"))
	require.NoError(t, err)
	for _, path := range files {
		require.Truef(t, strings.HasSuffix(path, ".warc.gz"), "%s is left in the archive", path)
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		for rd := warc.NewReader(f); ; {
			rec, err := rd.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, path)
			visit(rec)
		}
	}
}

// agree checks that each URL that the frontier has as done has a line in the ledger, and each request in the ledger a record in
// the archive. A kill may leave the reverse.
func agree(t *testing.T, dir string) {
	t.Helper()
	ids := map[string]string{} // URLs of records
	recordsIn(t, dir, func(r *warc.Record) { ids[r.ID()] = r.TargetURI() })
	lines := map[string]map[string]bool{} // outcomes by URL
	for _, l := range ledgerLinesIn(t, dir) {
		if lines[l.URL] == nil {
			lines[l.URL] = map[string]bool{}
		}
		lines[l.URL][string(l.Outcome)] = true
		switch url, known := ids[l.Record]; {
		case l.Record == "" && (l.Octets > 0 || l.Outcome == storage.OutcomeFetched):
			t.Errorf("%s was answered, and its line names no record", l.URL)
		case l.Record != "" && !known:
			t.Errorf("the line of %s names the record %s, which is not in the archive", l.URL, l.Record)
		case l.Record != "" && url != l.URL:
			t.Errorf("the line of %s names a record of %s", l.URL, url)
		}
	}
	f, err := engine.OpenReadOnly(inDir(dir, crawldir.FrontierName))
	require.NoError(t, err)
	done := 0
	err = f.Export(context.Background(), func(i frontier.Item) error {
		e := i.URL
		if e == nil || e.Outcome == 0 {
			return nil
		}
		done++
		if !lines[e.URL.String()][e.Outcome.String()] {
			t.Errorf("the frontier holds %s for %s, and the ledger has %v", e.URL, e.Outcome, lines[e.URL.String()])
		}
		return nil
	})
	require.NoError(t, errors.Join(err, f.Close()))
	assert.LessOrEqualf(t, done, len(lines), "%d URLs are done, and %d have a line", done, len(lines))
}
