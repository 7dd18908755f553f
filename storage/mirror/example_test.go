package mirror_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/warc"
)

func archived(dir string) error {
	w, err := warc.Open(warc.Options{Dir: dir, Name: "bakery", Info: warc.Info{Software: "example/1.0"}})
	if err != nil {
		return err
	}
	for _, page := range [][2]string{
		{"/", `<a href="/bread">bread</a> <a href="/ovens/">ovens</a>`}, {"/bread", `<a href="/">back</a>`},
	} {
		const head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
		body := page[1]
		_, err = w.Record(context.Background(), storage.Record{
			URL: "https://bakery.example" + page[0], Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
			Request:  []byte("GET " + page[0] + " HTTP/1.1\r\nHost: bakery.example\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(head+body), 0, int64(len(head+body))), HeadSize: int64(len(head)),
			PayloadDigest: sha256.Sum256([]byte(body)), PayloadSize: int64(len(body)), HasPayload: true, Repeatable: true,
		})
		if err != nil {
			break
		}
	}
	return errors.Join(err, w.Close())
}

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := archived(filepath.Join(dir, "warc")); err != nil {
		log.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "warc", "*.warc.gz"))
	if err != nil {
		log.Fatal(err)
	}

	summary, err := mirror.Build(context.Background(), mirror.Options{Archive: mirror.Archive{Segments: segments}, Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(summary.Files, "files")
	for entry, err := range mirror.Map(mirror.Tree(dir)) {
		if err != nil {
			log.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(mirror.Tree(dir), filepath.FromSlash(entry.File)))
		fmt.Println(entry.File, string(text), err)
	}
	// Output:
	// 2 files
	// bakery.example/index.html <a href="bread.html">bread</a> <a href="https://bakery.example/ovens/">ovens</a> <nil>
	// bakery.example/bread.html <a href="index.html">back</a> <nil>
}
