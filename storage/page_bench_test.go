package storage_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// pages are records of n pages of 20 KiB with 40 links each, as a crawl has them, and their lines. They compress about as
// well as pages do, 4:1.
func pages(n int) []storage.Record {
	const size = 20 << 10
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 400)
	for i := range words {
		b := make([]byte, 2+rng.IntN(9))
		for j := range b {
			b[j] = "etaoinshrdlu"[rng.IntN(12)]
		}
		words[i] = string(b)
	}
	some := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteString(words[rng.IntN(len(words))] + " ")
		}
		return s.String()
	}
	url := func() string {
		return fmt.Sprintf("http://www.a.test/%s/what-was-found-%08x.html", words[rng.IntN(8)], rng.Uint32())
	}
	began := time.Date(2026, 11, 20, 10, 11, 12, 123456000, time.UTC)
	all := make([]storage.Record, n)
	for i := range all {
		var page strings.Builder
		links := make([]storage.Outlink, 40)
		for k := range links {
			links[k] = storage.Outlink{URL: url(), Kind: "link"}
			fmt.Fprintf(&page, "<p>%s<a href=\"%s\">%s</a>\n", some(80), strings.TrimPrefix(links[k].URL, "http://www.a.test"), some(2))
		}
		body := page.String()[:size]
		head := "HTTP/1.1 200 OK\r\nServer: bench\r\nConnection: keep-alive\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 20480\r\n\r\n"
		digest := sha256.Sum256([]byte(body))
		own := url()
		l := &storage.Line{
			Time: began, URL: own, Via: url(), Kind: "link", Depth: 3, Seed: "http://www.a.test/", Tag: "a", Decision: "allow",
			Reason: "no rule matches", Own: true, RobotsGroup: "*", RobotsSHA256: hex.EncodeToString(digest[:]),
			RobotsRecord: "urn:uuid:6d0f2c3a-6f2f-4c5e-9d5b-0a2b3c4d5e6f", Standard: "rfc9309", Pace: 0, PaceBy: "own", Gap: 1234567,
			Attempt: 1, Began: began, Took: 1234567, FirstByte: 345678, Addr: netip.MustParseAddrPort("127.0.0.1:8080"),
			Outcome: "fetched", Status: 200, Type: "text/html", Octets: int64(len(head) + size), Payload: hex.EncodeToString(digest[:]),
		}
		all[i] = storage.Record{
			URL: own, Time: began, Addr: l.Addr,
			Request:  fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: www.a.test\r\nUser-Agent: curtsy/1 (+https://a.test/bot)\r\nAccept: text/html,*/*;q=0.1\r\nAccept-Encoding: gzip\r\n\r\n", strings.TrimPrefix(own, "http://www.a.test")),
			Response: io.NewSectionReader(strings.NewReader(head+body), 0, int64(len(head)+size)), HeadSize: int64(len(head)),
			PayloadDigest: digest, PayloadSize: size, HasPayload: true, Protocols: []string{"http/1.1"}, Repeatable: true,
			Line: l, Outlinks: links,
		}
	}
	return all
}

// BenchmarkPage is what storage costs a page of 20 KiB with 40 links, without syncs: request, response and metadata records
// in the archive, a line in the index, the payload remembered, and a line in the ledger.
func BenchmarkPage(b *testing.B) {
	dir := b.TempDir()
	index, err := cdxj.Open(b.Context(), dir, cdxj.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer index.Close()
	archive, err := warc.Open(warc.Options{Dir: filepath.Join(dir, "warc"), Name: "bench", Index: index, Originals: index})
	if err != nil {
		b.Fatal(err)
	}
	defer archive.Close()
	lines, err := ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger")})
	if err != nil {
		b.Fatal(err)
	}
	defer lines.Close()
	all := pages(64)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := all[i%len(all)]
		for k, v := 0, i; k < 8; k, v = k+1, v>>8 { // a page of its own each time
			r.PayloadDigest[k] = byte(v)
		}
		id, err := archive.Record(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		l := *r.Line
		l.Record, l.Blocks, l.Heads = id.ID, id.Blocks, id.Heads
		if err := lines.Append(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}
