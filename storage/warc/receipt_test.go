package warc

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A receipt binds every octet of the blocks that were written, in the order of the records, and of nothing else.
func TestReceiptBindsTheBlocksOfAnExchange(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	silent := record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0)
	var want, ids []string
	for _, r := range []int{0, 1, 2} {
		x := told(r)
		if r == 2 {
			x = silent
		}
		kept, err := w.Record(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		want, ids = append(want, kept.Blocks), append(ids, kept.ID)
	}
	nothing := silent
	nothing.Request = nil
	if kept, err := w.Record(t.Context(), nothing); err != nil || kept.ID != "" || kept.Blocks != "" {
		t.Errorf("%+v %v", kept, err)
	}
	closing(t, w)
	f, err := os.Open(filepath.Join(dir, "crawl-00000.warc.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sums := map[string][]byte{} // by exchange
	for rd, id := NewReader(f), ""; ; {
		rec, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(rec.Block)
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Type {
		case "warcinfo":
			continue
		case "request":
			if id = rec.ConcurrentTo(); id == "" {
				id = rec.ID()
			}
		}
		sum := sha256.Sum256(b)
		sums[id] = append(sums[id], sum[:]...)
	}
	for i, id := range ids {
		sum := sha256.Sum256(sums[id])
		if got := hex.EncodeToString(sum[:]); got != want[i] {
			t.Errorf("exchange %d: the receipt says %s, the blocks %s", i, want[i], got)
		}
	}
}
