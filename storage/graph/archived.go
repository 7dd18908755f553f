// Links of an archive come from its metadata records. Links, redirects and page requisites are links alike, as they are
// to Common Crawl. A page that was fetched in several generations has its links once for each. The archive has
// warc.MaxOutlinks of a page's links at most.
//
// The archive is read from one end to the other, in memory that does not depend on it. A segment that is being written is
// read as far as it goes. Damage is passed over: judging an archive is for others.

package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/frontier/durable/meter"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// taker takes links. *graph.Builder is one.
type taker interface {
	Vertex(url string) error // a page that was fetched
	Link(source, target string) error
}

// Links gives the links of the archive in the folder dir to take, and returns how many pages it has. A folder that is not
// there has none.
func Links(ctx context.Context, dir string, take taker) (pages int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("archived: %w", err)
	}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".open"); e.IsDir() || !strings.HasSuffix(name, ".warc.gz") {
			continue
		}
		n, err := segment(ctx, filepath.Join(dir, e.Name()), take)
		pages += n
		if err != nil {
			return pages, err
		}
	}
	return pages, nil
}

// ArchivedGraph makes the graph of the archives in those folders.
func ArchivedGraph(ctx context.Context, o Options, dirs ...string) (*Graph, error) {
	b := New(o)
	for _, dir := range dirs {
		if _, err := Links(ctx, dir, b); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b.Graph(ctx)
}

func segment(ctx context.Context, path string, take taker) (pages int64, err error) {
	f, err := warc.OpenListed(path, durable.Open)
	if err != nil {
		return 0, fmt.Errorf("archived: %w", err)
	}
	defer f.Close()
	for l := warc.NewLenient(meter.Reader(ctx, f), nil); ; {
		if err := ctx.Err(); err != nil {
			return pages, err
		}
		rec, err := l.Next()
		if errors.Is(err, io.EOF) {
			return pages, nil
		}
		if err != nil {
			return pages, fmt.Errorf("archived: %s: %w", filepath.Base(path), err)
		}
		if rec.Type != "metadata" || rec.TargetURI() == "" {
			continue
		}
		line, links, err := rec.Metadata()
		if line.Decision == storage.DecisionRobots || err != nil && len(links) == 0 {
			continue
		}
		pages++
		if err := take.Vertex(rec.TargetURI()); err != nil {
			return pages, err
		}
		for _, l := range links {
			if err := take.Link(rec.TargetURI(), l.URL); err != nil {
				return pages, err
			}
		}
	}
}
