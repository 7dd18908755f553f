package warc_test

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
	"curtsy/storage/warc"
)

func Example() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	w, err := warc.Open(warc.Options{Dir: dir, Name: "bakery", Info: warc.Info{Software: "example/1.0"}})
	if err != nil {
		log.Fatal(err)
	}
	const head, body = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", "rye"
	_, err = w.Record(context.Background(), storage.Record{
		URL: "https://bakery.example/bread", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Request:  []byte("GET /bread HTTP/1.1\r\nHost: bakery.example\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(head+body), 0, int64(len(head+body))), HeadSize: int64(len(head)),
		PayloadDigest: sha256.Sum256([]byte(body)), PayloadSize: int64(len(body)), HasPayload: true,
	})
	if err := errors.Join(err, w.Close()); err != nil {
		log.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	if err != nil || len(files) != 1 {
		log.Fatal(files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	for r := warc.NewReader(f); ; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if record.Type != "response" { // beside its warcinfo and its request
			continue
		}
		answer, err := warc.ReadHTTP(record.Block)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(answer.Payload)
		fmt.Println(record.TargetURI(), answer.Status, string(text), err)
	}
	// Output:
	// https://bakery.example/bread 200 rye <nil>
}
