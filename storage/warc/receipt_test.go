package warc

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func TestReceiptBindsTheBlocksOfAnExchange(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	silent := record("http://a.test/silent", "GET /silent HTTP/1.1\r\n\r\n", "", 0)
	var want, ids []string
	for _, r := range []int{0, 1, 2} {
		x := withDecision(r)
		if r == 2 {
			x = silent
		}
		kept, err := w.Record(t.Context(), x)
		require.NoError(t, err)
		want, ids = append(want, kept.Blocks), append(ids, kept.ID)
	}
	nothing := silent
	nothing.Request = nil
	kept, err := w.Record(t.Context(), nothing)
	assert.Truef(t, err == nil && kept.ID == "" && kept.Blocks == "", "%+v %v", kept, err)
	closing(t, w)
	f, err := os.Open(filepath.Join(dir, "crawl-00000.warc.gz"))
	require.NoError(t, err)
	defer f.Close()
	sums := map[string][]byte{} // by exchange
	for rd, id := NewReader(f), ""; ; {
		rec, err := rd.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		b, err := io.ReadAll(rec.Block)
		require.NoError(t, err)
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
		got := hex.EncodeToString(sum[:])
		assert.Truef(t, got == want[i], "exchange %d: the receipt has %s, the blocks %s", i, want[i], got)
	}
}

func headsOf(octets string) string {
	sum := sha256.Sum256([]byte(octets))
	return hex.EncodeToString(sum[:])
}

func TestReceiptBindsTheHeadsOfAnExchange(t *testing.T) {
	dir := t.TempDir()
	k := &known{by: map[[32]byte]storage.Original{}}
	whole := withDecision(7)
	k.by[whole.PayloadDigest] = storage.Original{URL: "http://a.test/before", Date: page, ID: "urn:x:1"}
	w := open(t, Options{Dir: dir, Originals: k})
	request := string(whole.Request)
	head := "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
	first, repeat, other, headOnly, torn, alone := withDecision(1), whole, withDecision(1), withDecision(1), withDecision(1), withDecision(1)
	other.Response = io.NewSectionReader(strings.NewReader(head+"4321"), 0, int64(len(head)+4))
	headOnly.HeadOnly, headOnly.Response = true, io.NewSectionReader(first.Response, 0, first.HeadSize)
	torn.HeadSize, torn.Line = 0, nil
	alone.Response, alone.HeadSize = nil, 0
	for name, c := range map[string]struct {
		r    storage.Record
		want string
	}{
		"a response": {first, string(first.Request) + head}, "another body": {other, string(first.Request) + head},
		"a revisit": {repeat, request + head}, "no body": {headOnly, string(first.Request) + head},
		"no whole head": {torn, string(first.Request)}, "no answer": {alone, string(first.Request)},
	} {
		kept, err := w.Record(t.Context(), c.r)
		want := headsOf(c.want)
		assert.Truef(t, err == nil && kept.Heads == want, "%s: %+v (%v), want %s", name, kept, err, want)
	}
	closing(t, w)
}
