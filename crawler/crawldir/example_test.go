package crawldir_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"

	"github.com/PuerkitoBio/goquery"

	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// site is a small web on loopback.
func site() *httptest.Server {
	pages := map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /ovens/\n",
		"/":           `<title>Bakery</title><a href="/bread">bread</a> <a href="/ovens/1">ovens</a>`,
		"/bread":      `<title>Bread</title><a href="/">back</a>`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
}

// Crawl a site into a directory, then read the decision about each URL, and a response from the archive.
func Example() {
	server := site()
	defer server.Close()
	parent, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "bakery")
	ctx := context.Background()

	settings := crawldir.Defaults()
	settings.Delay = 0 // the site is on loopback, and so the operator's own
	seeds, err := crawldir.SeedURLs(server.URL + "/")
	if err != nil {
		log.Fatal(err)
	}
	if err := crawldir.Create(ctx, dir, &settings, seeds); err != nil {
		log.Fatal(err)
	}
	result, err := crawldir.Run(ctx, dir, crawldir.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d fetched\n", result.EndedBy, result.Status.Fetched)

	for line, err := range ledger.Read(filepath.Join(dir, crawldir.LedgerName)) {
		if err != nil {
			log.Fatal(err)
		}
		if u, err := url.Parse(line.URL); err == nil && line.Outcome != "" {
			fmt.Printf("%s: %s (line %d of robots.txt)\n", u.Path, line.Outcome, line.RobotsLine)
		}
	}

	files, err := cdxj.Files(filepath.Join(dir, crawldir.IndexName))
	if err != nil {
		log.Fatal(err)
	}
	for at, err := range cdxj.Lookup(files, server.URL+"/bread") {
		if err != nil {
			log.Fatal(err)
		}
		record, file, err := warc.ReadAt(filepath.Join(dir, crawldir.ArchiveName, at.Filename), at.Offset)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := warc.ReadHTTP(record.Block)
		if err != nil {
			log.Fatal(err)
		}
		body, err := answer.Body(settings.MaxBody) // its content coding undone
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(body)
		file.Close()
		fmt.Println(answer.Status, string(text), err)
	}
	// Output:
	// drained: 2 fetched
	// /: fetched (line 0 of robots.txt)
	// /bread: fetched (line 0 of robots.txt)
	// /ovens/1: disallowed (line 2 of robots.txt)
	// 200 <title>Bread</title><a href="/">back</a> <nil>
}

// Extract the title of each page while the crawl runs: a line names the URL, the index finds its response, and the
// archive has the body. Lines come from several goroutines at once, and a worker waits for each, so they are passed on.
func ExampleOptions_line() {
	server := site()
	defer server.Close()
	parent, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "bakery")
	ctx := context.Background()

	settings := crawldir.Defaults()
	settings.Delay = 0
	seeds, err := crawldir.SeedURLs(server.URL + "/")
	if err == nil {
		err = crawldir.Create(ctx, dir, &settings, seeds)
	}
	if err != nil {
		log.Fatal(err)
	}
	title := func(l storage.Line) (string, error) {
		files, err := cdxj.Files(filepath.Join(dir, crawldir.IndexName))
		if err != nil {
			return "", err
		}
		for at, err := range cdxj.Lookup(files, l.URL) {
			if err != nil {
				return "", err
			}
			record, file, err := warc.ReadAt(filepath.Join(dir, crawldir.ArchiveName, at.Filename), at.Offset)
			if err != nil {
				return "", err
			}
			defer file.Close()
			if record.ID() != l.Record {
				continue // another response of this URL
			}
			response, err := warc.ReadHTTP(record.Block)
			if err != nil {
				return "", err
			}
			body, err := response.Body(settings.MaxBody)
			if err != nil {
				return "", err
			}
			page, err := goquery.NewDocumentFromReader(body)
			if err != nil {
				return "", err
			}
			return page.Find("title").Text(), nil
		}
		return "", fmt.Errorf("%s is not in the index", l.URL)
	}
	lines := make(chan storage.Line, 100)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for l := range lines {
			if l.Outcome == storage.OutcomeFetched && l.Type == "text/html" {
				fmt.Println(title(l))
			}
		}
	}()
	result, err := crawldir.Run(ctx, dir, crawldir.Options{Line: func(l storage.Line) { lines <- l }})
	close(lines)
	<-heard
	fmt.Println(result.EndedBy, err)
	// Output:
	// Bakery <nil>
	// Bread <nil>
	// drained <nil>
}

// A crawl that was stopped, by a budget or by a kill, continues with Run.
func ExampleRun_resume() {
	server := site()
	defer server.Close()
	parent, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "bakery")
	ctx := context.Background()

	settings := crawldir.Defaults()
	settings.Delay, settings.MaxPages = 0, 1
	seeds, err := crawldir.SeedURLs(server.URL + "/")
	if err == nil {
		err = crawldir.Create(ctx, dir, &settings, seeds)
	}
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		result, err := crawldir.Run(ctx, dir, crawldir.Options{Settings: &settings})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d fetched, %d to go\n", result.EndedBy, result.Status.Fetched, result.Status.Queued)
		settings.MaxPages = 0 // no limit, from now on
	}
	// Output:
	// max-pages: 1 fetched, 2 to go
	// drained: 2 fetched, 0 to go
}
