package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage"
	"curtsy/storage/warc"
)

// originals is a warc.Originals and warc.Index that knows what the archive has.
type originals map[[32]byte]storage.Original

func (o originals) Original(d [32]byte) (storage.Original, bool, error) {
	v, ok := o[d]
	return v, ok, nil
}
func (o originals) Complete(string) error                    { return nil }
func (o originals) Mended(string, string, int64, bool) error { return nil }
func (o originals) Add(e warc.Entry) error {
	if e.Repeatable {
		o[e.Payload] = storage.Original{URL: e.URL, Date: e.Date, ID: e.ID}
	}
	return nil
}

// evidenceArchive is an archive with a record of each kind.
func evidenceArchive(t *testing.T) string {
	t.Helper()
	dir, known := t.TempDir(), originals{}
	w, err := warc.Open(warc.Options{Dir: dir, Name: "curtsy", Originals: known, Index: known})
	if err != nil {
		t.Fatal(err)
	}
	const head, body = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n", "hello"
	began := time.Now() // of all, so that the revisit names the date of what it refers to
	record := func(path, answer string) storage.Record {
		return storage.Record{
			URL: "http://a.test/" + path, Time: began, Request: []byte("GET /" + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(len(head)),
			PayloadDigest: sha256.Sum256([]byte(body)), PayloadSize: 5, HasPayload: true, Repeatable: true,
			Line: &storage.Line{Decision: "allow", PaceBy: "floor"}, Outlinks: []storage.Outlink{{URL: "http://a.test/x", Kind: "link"}},
		}
	}
	shy := record("shy", head)
	shy.HeadOnly, shy.Repeatable, shy.Truncated, shy.Line.Payload = true, false, "unspecified", fmt.Sprintf("%x", shy.PayloadDigest)
	gone := "HTTP/1.1 304 Not Modified\r\n\r\n"
	same := record("", gone)
	same.HeadSize, same.HasPayload, same.NotModified = int64(len(gone)), false, &storage.Original{URL: "http://a.test/", Date: began}
	for _, r := range []storage.Record{record("", head+body), record("again", head+body), same, shy} {
		if _, err := w.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Refuse(t.Context(), storage.Line{Time: time.Now(), URL: "http://a.test/no", Decision: "disallow"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "curtsy-00000.warc.gz")
}

// The records of every kind are where warcio finds them, and of the kinds that it finds.
func TestWARCIsReadByWarcio(t *testing.T) {
	t.Parallel()
	modules, path := clients(t), evidenceArchive(t)
	out, err := exec.CommandContext(t.Context(), "node", filepath.Join(modules, "warcio", "dist", "cli.js"), "index", path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var foreign []string
	for line := range strings.Lines(string(out)) {
		var l struct {
			Offset any    `json:"offset"`
			Type   string `json:"warc-type"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		foreign = append(foreign, fmt.Sprint(l.Offset, " ", l.Type))
	}
	var ours []string
	r := inside(t, "warc", "ls", path)
	for line := range strings.Lines(r.out) {
		cells := strings.Split(line, "\t")
		ours = append(ours, cells[0]+" "+cells[1])
	}
	if strings.Join(ours, "\n") != strings.Join(foreign, "\n") || len(ours) != 14 {
		t.Errorf("ours:\n%s\nwarcio:\n%s", strings.Join(ours, "\n"), strings.Join(foreign, "\n"))
	}
	if r := inside(t, "warc", "check", path); r.code != cli.ExitDone || r.out != "" {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}
