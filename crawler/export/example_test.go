package export_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// Write a table of a crawl as a file, and go through the rows of another one.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "<title>Bakery</title>")
	}))
	defer server.Close()
	parent, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	ctx, dir := context.Background(), filepath.Join(parent, "bakery")
	settings := crawldir.Defaults()
	settings.Delay = 0 // the site is our own: it is on loopback
	seeds, err := crawldir.SeedURLs(server.URL + "/")
	if err == nil {
		err = crawldir.Create(ctx, dir, &settings, seeds)
	}
	if err == nil {
		_, err = crawldir.Run(ctx, dir, crawldir.Options{})
	}
	if err != nil {
		log.Fatal(err)
	}

	in, err := export.Open(ctx, "", dir)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	for _, s := range export.Sources() {
		switch s.Table.Name {
		case "hosts":
			m, err := export.Write(ctx, in, export.Options{Dir: filepath.Join(parent, "tables"), Format: sink.CSV, Sources: []export.Source{s}})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(m.Tables[0].File, m.Tables[0].Rows)
		case "pages":
			title, status := s.Table.Index("title"), s.Table.Index("fetch_status")
			err := s.Rows(ctx, in, export.NewOut(s.Table, func(r tables.Row) error {
				if !r[title].IsNull() {
					fmt.Println(r[title].Text(), r[status].Number())
				}
				return nil
			}))
			if err != nil {
				log.Fatal(err)
			}
		}
	}
	// Output:
	// Bakery 200
	// hosts.csv 1
}
