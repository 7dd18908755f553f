package answer

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/warc"
)

func record(kind, block string, fields ...string) *warc.Record {
	r := &warc.Record{Type: kind, Length: int64(len(block)), Block: strings.NewReader(block)}
	for i := 0; i < len(fields); i += 2 {
		r.Fields = append(r.Fields, warc.Field{Name: fields[i], Value: fields[i+1]})
	}
	return r
}

func read(t *testing.T, r *warc.Record) *Answer {
	t.Helper()
	a, err := Read(r, 0)
	require.NoError(t, err)
	return a
}

// RFC 9110 15.2: interim responses are not final ones.
func TestRead_SkipsInterimResponses(t *testing.T) {
	const hints, head = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html, Text/HTML; charset=latin1\r\n\r\n"
	a := read(t, record("response", hints+head+"<p>body", "WARC-Record-ID", "<urn:uuid:1>", "WARC-Date", "2026-01-02T03:04:05Z"))
	assert.Truef(t, a.Status == 200 && a.ID == "urn:uuid:1" && a.Head == int64(len(hints+head)) && a.Whole() && a.Undated == nil && a.Date.Year() == 2026, "%+v", a)
	assert.Truef(t, a.Type().IsHTML() && a.Charset(nil) == "latin1", "type %+v, charset %q", a.Type(), a.Charset(nil))
	body, err := a.Body(1 << 10)
	require.NoError(t, err)
	b, err := io.ReadAll(body)
	assert.Truef(t, string(b) == "<p>body" && err == nil, "%q, %v", b, err)
}

func TestRead_Revisit(t *testing.T) {
	a := read(t, record("Revisit", "HTTP/1.1 304 Not Modified\r\n\r\n", "WARC-Refers-To", "<urn:uuid:2>",
		"WARC-Refers-To-Target-URI", "http://a.test/", "WARC-Refers-To-Date", "2026-01-02T03:04:05.6Z"))
	want := Reference{ID: "urn:uuid:2", URL: "http://a.test/", Date: time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)}
	assert.Truef(t, a.Revisit && !a.Whole() && a.Refers == want && a.Undated != nil, "%+v", a)
}

func TestDigest(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		field string
		ok    bool
	}{{"sha256:" + sum, true}, {"sha256:" + sum[2:], false}, {"sha1:" + sum, false}, {"sha256:" + strings.Repeat("zz", 32), false}, {"", false}} {
		a := read(t, record("response", "", "WARC-Payload-Digest", c.field))
		got, ok := a.Sum()
		assert.Falsef(t, ok != c.ok || ok && got[31] != 10, "%s: %x %v", c.field, got, ok)
	}
	assert.True(t, Digest("sha1:ABC") == Digest("abc") && Digest("") == "", "digests of two spellings differ")
}

func TestDecode_HoldsThePayloadToItsDigest(t *testing.T) {
	const block = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"
	sum := sha256.Sum256([]byte("body"))
	for digest, want := range map[string]error{hex.EncodeToString(sum[:]): nil, strings.Repeat("0a", 32): ErrDigest} {
		var b strings.Builder
		err := read(t, record("response", block, "WARC-Payload-Digest", "sha256:"+digest)).Decode(&b, 1<<10)
		assert.Truef(t, err == want && b.String() == "body", "%q, %v; want %v", b.String(), err, want)
	}
	assert.ErrorIs(t, read(t, record("response", block)).Decode(io.Discard, 3), warc.ErrTooLarge)
}
