package watch

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/sitemap"
	"curtsy/frontier/canon"
	"curtsy/storage/cdxj"
	"curtsy/storage/mediatype"
	"curtsy/storage/sorted"
)

// addHints adds what the archived sitemaps say of pages, those of a host of its own pages alone. A sitemap that cannot be
// read says nothing.
func addHints(ctx context.Context, dir string, of map[string]bool, to *sorted.Sorter) error {
	if len(of) == 0 {
		return nil
	}
	files, err := cdxj.Files(filepath.Join(dir, crawldir.IndexName))
	if err != nil {
		return err
	}
	archive := &crawldir.Past{
		Archive: filepath.Join(dir, crawldir.ArchiveName), Index: crawldir.Complete(files),
		Before: time.Now(), MaxBody: sitemap.MaxSize,
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		u, err := canon.Parse(name)
		if err != nil {
			continue
		}
		if err := hintsOf(ctx, archive, u, to); err != nil {
			return err
		}
	}
	return nil
}

func hintsOf(ctx context.Context, archive *crawldir.Past, u canon.URL, to *sorted.Sorter) error {
	last, err := archive.Last(ctx, u)
	if err != nil || last == nil || last.Body == nil {
		return err
	}
	body, file, err := last.Body()
	if err != nil {
		return nil // a damaged archive is for curtsy audit to find
	}
	defer file.Close()
	in := sitemap.Input{URL: u, ContentType: mediatype.Value(last.Header), Body: body}
	_, err = sitemap.Read(in, func(e sitemap.Entry) error {
		if e.URL.Authority() != u.Authority() || e.LastMod.IsZero() && e.ChangeFreq == "" {
			return nil
		}
		return addHint(to, e.URL, e.LastMod, e.ChangeFreq)
	})
	return err
}
