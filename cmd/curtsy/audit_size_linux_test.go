package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

// large makes archive and ledger of a polite crawl of 50 hosts, with at least so many octets of archive in all.
func large(t *testing.T, size int64) (dir string, exchanges int64) {
	t.Helper()
	dir = t.TempDir()
	var book *ledger.Writer
	w, err := warc.Open(warc.Options{Dir: inDir(dir, crawldir.ArchiveName), Name: "curtsy", Finished: func(name string, octets int64, sum [32]byte) error {
		return book.File(t.Context(), crawldir.ArchiveName+"/"+name, octets, hex.EncodeToString(sum[:]))
	}, Info: warc.Info{
		Software: "curtsy/" + crawldir.Version, UserAgent: "curtsy/1", Fields: warc.Fields{{Name: "product-token", Value: "curtsy"}, {Name: "pace-floor-ms", Value: "1000"},
			{Name: "run-began", Value: time.Now().UTC().Format(time.RFC3339Nano)}}, // one run, however many files it fills
	}})
	if err != nil {
		t.Fatal(err)
	}
	book, err = ledger.Open(ledger.Options{Dir: inDir(dir, crawldir.LedgerName), Warcinfo: w.InfoSHA256()})
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<20)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(noise) // never fails
	const hosts = 50
	end := time.Now().Add(time.Second).Truncate(time.Microsecond)
	for n := int64(0); n*20<<10 < size; n++ {
		host, round := n%hosts, n/hosts
		l := storage.Line{
			URL: fmt.Sprintf("http://host%d.test/%d", host, n), Decision: "allow", Attempt: 1, Status: 200, Outcome: "fetched",
			Began: end.Add(time.Duration(round) * 2 * time.Second), Took: 40 * time.Millisecond,
		}
		status, body := "200 OK", noise[rng.Uint64()%(1<<19):][:20<<10]
		if round%30000 == 0 {
			l.URL, l.Decision, l.Status, l.Outcome = fmt.Sprintf("http://host%d.test/robots.txt", host), "robots", 404, ""
			status, body = "404 Not Found", nil
		}
		if round > 0 {
			l.Gap = 2*time.Second - l.Took
		}
		l.Time = l.Began.Add(l.Took)
		head := fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n", status, len(body))
		block := append([]byte(head), body...)
		sum := sha256.Sum256(body)
		l.Octets, l.Payload = int64(len(block)), hex.EncodeToString(sum[:])
		l.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, byte(host)}), 80)
		told := l
		kept, err := w.Record(t.Context(), storage.Record{
			URL: l.URL, Time: l.Began, Addr: l.Addr,
			Request:  fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: host%d.test\r\nUser-Agent: curtsy/1\r\n\r\n", l.URL[len(fmt.Sprintf("http://host%d.test", host)):], host),
			Response: io.NewSectionReader(bytes.NewReader(block), 0, int64(len(block))), HeadSize: int64(len(head)),
			PayloadDigest: sum, PayloadSize: int64(len(body)), HasPayload: true, Line: &told,
		})
		if l.Record, l.Blocks, l.Heads = kept.ID, kept.Blocks, kept.Heads; err == nil {
			err = book.Append(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
		exchanges++
	}
	for _, c := range []io.Closer{w, book} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir, exchanges
}

// The command audits any archive with its ledger in 128 MiB of memory: 64 MiB of archive here, 1 GiB in full size.
func TestAuditOfALargeCrawlStaysBelow128MiB(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it writes a large archive")
	}
	size := int64(64 << 20)
	if full() {
		size = 1 << 30
	}
	dir, exchanges := large(t, size)
	octets := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, crawldir.ArchiveName, "*.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		octets += fi.Size()
	}
	if octets < size {
		t.Fatalf("the archive has %d octets only", octets)
	}
	cmd := curtsy(t, "audit", dir)
	peak := tellingPeak(t, cmd)
	begin := time.Now()
	r := ended(t, cmd)
	took := time.Since(begin)
	r.want(t, cli.ExitDone)
	held := peak()
	t.Logf("%d exchanges, %d MiB of archive with its ledger, in %.1f s: %.0f MB/s, %d MiB resident at most",
		exchanges, octets>>20, took.Seconds(), float64(octets)/1e6/took.Seconds(), held>>20)
	if limit := int64(128 << 20); (held == 0 || held > limit) && !racing {
		t.Errorf("%d octets were resident, more than %d", held, limit)
	}
}
