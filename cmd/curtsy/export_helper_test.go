package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// sparse makes archive, index and ledger of a crawl of so many small pages of a thousand hosts, with the writers of a
// crawl. In front of the pages of each host stands its robots.txt. Each page has linksOfSparse links.
func sparse(t *testing.T, pages int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "sparse")
	var book *ledger.Writer
	file := func(folder string) func(string, int64, [32]byte) error {
		return func(name string, octets int64, sum [32]byte) error {
			return book.File(t.Context(), folder+"/"+name, octets, hex.EncodeToString(sum[:]))
		}
	}
	for _, name := range []string{crawldir.ArchiveName, crawldir.IndexName} {
		if err := os.MkdirAll(inDir(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	index, err := cdxj.Open(t.Context(), dir, cdxj.Options{Finished: file(crawldir.IndexName)})
	if err != nil {
		t.Fatal(err)
	}
	w, err := warc.Open(warc.Options{Dir: inDir(dir, crawldir.ArchiveName), Name: "curtsy", Index: index, Originals: index,
		Finished: file(crawldir.ArchiveName), Info: warc.Info{
			Software: "curtsy/" + crawldir.Version, Fields: warc.Fields{{Name: "product-token", Value: "curtsy"}, {Name: "generation", Value: "1"}},
		}})
	if err != nil {
		t.Fatal(err)
	}
	if book, err = ledger.Open(ledger.Options{Dir: inDir(dir, crawldir.LedgerName), Warcinfo: w.InfoSHA256()}); err != nil {
		t.Fatal(err)
	}
	const hosts = 1000
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range pages {
		host, at := fmt.Sprintf("host%03d.example", n%hosts), began.Add(time.Duration(n/hosts)*2*time.Second)
		l := storage.Line{
			URL: fmt.Sprintf("http://%s/pages/%07d?of=%d", host, n, n%7), Via: "http://" + host + "/", Kind: storage.KindLink, Depth: 1 + n%5,
			Seed: "http://" + host + "/", Decision: storage.DecisionAllow, Reason: "rule", RobotsLine: 2, RobotsRule: "Allow: /",
			RobotsGroup: "*", Standard: "rfc9309", Attempt: 1, Outcome: storage.OutcomeFetched, Pace: time.Second, PaceBy: storage.ByFloor,
			Gap: 1960 * time.Millisecond, FirstByte: 12 * time.Millisecond,
		}
		media, body := "text/html; charset=utf-8", fmt.Sprintf("<!doctype html><title>Page %d</title><meta name=description content='What page %d says'><p>%s"+
			"<a href=/>up</a><a href='%d?of=0'>next</a><a href=http://other.example/>away</a>", n, n, strings.Repeat(fmt.Sprintf("word%d ", n%97), 10), n+hosts)
		if n < hosts {
			l = storage.Line{URL: "http://" + host + "/robots.txt", Decision: storage.DecisionRobots, Attempt: 1}
			media, body = "text/plain", fmt.Sprintf("User-agent: *\nAllow: /\n# %d\n", n)
		}
		l.Began, l.Took = at, 40*time.Millisecond
		l.Time, l.Status, l.Type = at.Add(l.Took), 200, strings.Split(media, ";")[0]
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", media, len(body))
		sum := sha256.Sum256([]byte(body))
		l.Octets, l.Payload = int64(len(head)+len(body)), hex.EncodeToString(sum[:])
		l.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(n % hosts)}), 80)
		told := l
		kept, err := w.Record(t.Context(), storage.Record{
			URL: l.URL, Time: l.Began, Addr: l.Addr,
			Request:  fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(l.URL, "http://"+host), host),
			Response: io.NewSectionReader(bytes.NewReader([]byte(head+body)), 0, l.Octets), HeadSize: int64(len(head)),
			PayloadDigest: sum, PayloadSize: int64(len(body)), HasPayload: true, Line: &told,
		})
		if l.Record, l.Blocks, l.Heads = kept.ID, kept.Blocks, kept.Heads; err == nil {
			err = book.Append(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []io.Closer{w, index, book} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ownTables are those of which a crawl of small pages has as many rows as anything.
const ownTables = "pages,robots,decisions,hosts,errors"

const linksOfSparse = 3

// exportedTo is what export.json says of a folder, by table.
func exportedTo(t *testing.T, out string) map[string]export.Made {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(out, export.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	var m export.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	all := map[string]export.Made{}
	for _, made := range m.Tables {
		all[made.Table] = made
		if !made.Check.Agrees() {
			t.Errorf("%s: %+v", made.File, made.Check)
		}
	}
	return all
}
