package warc

import (
	"bytes"
	"compress/gzip"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

func checked(t *testing.T, files ...[]byte) (codes []string, stats Checked) {
	t.Helper()
	c := NewChecker()
	for _, b := range files {
		n, err := c.File(bytes.NewReader(b), func(f Finding) { codes = append(codes, f.Code) })
		require.NoError(t, err)
		stats.Records, stats.Blocks, stats.Bodies = stats.Records+n.Records, stats.Blocks+n.Blocks, stats.Bodies+n.Bodies
	}
	c.Finish(func(_ int, f Finding) { codes = append(codes, f.Code) })
	return codes, stats
}

func ours(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	k := &known{by: map[[32]byte]storage.Original{}}
	w := open(t, Options{Dir: dir, Originals: k, Index: k})
	first := withDecision(1)
	write(t, w, first)
	k.by[first.PayloadDigest] = storage.Original{URL: k.added[0].URL, Date: k.added[0].Date, ID: k.added[0].ID}
	write(t, w, withDecision(1), simple(2))
	require.NoError(t, w.Refuse(t.Context(), refusal(1, 1)))
	closing(t, w)
	return string(gunzip(t, filepath.Join(dir, "crawl-00000.warc.gz")))
}

func TestCheckFindsEachFault(t *testing.T) {
	text := ours(t)
	codes, n := checked(t, []byte(text))
	require.Truef(t, strings.Join(codes, " ") == PlainFile && n.Records == 10 && n.Blocks == 10 && n.Bodies == 2, "clean: %q, %+v", codes, n)
	const u = "<urn:uuid:00000000-0000-0000-0000-00000000000"
	for _, c := range []struct{ name, old, new, want string }{
		{"payload", "\r\n\r\n0002", "\r\n\r\n9992", BlockDigest + " " + PayloadDigest},
		{"head", "Content-Length: 4\r\n\r\n0002", "Content-Length: 5\r\n\r\n0002", BlockDigest},
		{"metadata", "gapMs: 1501.999", "gapMs: 1502.999", BlockDigest},
		{"refusal", `"reason":"disallowed"`, `"reason":"disallowEd"`, BlockDigest},
		{"type", "WARC-Type: request", "X: y", NoType},
		{"date", "WARC-Date: 2026-03-04T04:06:07", "WARC-Date: yesterday, 04:06:07", BadDate},
		{"target", "WARC-Target-URI: http://a.test/2", "X: y", NoTarget},
		{"id", "WARC-Record-ID: " + u + "2", "X: " + u + "2", NoID + " " + MissingConcurrent},
		{"same id", "WARC-Record-ID: " + u + "4", "WARC-Record-ID: " + u + "1", MissingConcurrent + " " + SameID},
		{"warcinfo", "WARC-Record-ID: " + u + "1", "WARC-Record-ID: <urn:x:1", MissingWarcinfo},
		{"profile", "WARC-Profile", "X", NoProfile},
		{"original", "WARC-Refers-To: " + u + "3", "WARC-Refers-To: " + u + "f", MissingOriginal},
		{"original by URL", "WARC-Refers-To: " + u + "3>\r\nWARC-Refers-To-Target-URI: http://a.test/", "WARC-Refers-To-Target-URI: http://b.test/", MissingOriginal},
		{"no warcinfo", "WARC-Type: warcinfo", "WARC-Type: metadata", NoWarcinfo},
		{"unknown digest", "WARC-Payload-Digest: sha256", "WARC-Payload-Digest: sha999", OtherPayload + " " + UnknownDigest},
	} {
		require.Containsf(t, text, c.old, "%s: %q is not there", c.name, c.old)
		codes, _ := checked(t, members(records(strings.Replace(text, c.old, c.new, 1))...))
		for _, want := range strings.Fields(c.want) {
			assert.Containsf(t, strings.Join(codes, " "), want, "%s: found %q, want %q", c.name, codes, c.want)
		}
		assert.Equalf(t, len(strings.Fields(c.want)), len(codes), "%s: found %q, want %q", c.name, codes, c.want)
	}
}

func records(text string) (rs []string) {
	for i, part := range strings.Split(text, "\r\n\r\nWARC/1.1\r\n") {
		if i > 0 {
			part = "WARC/1.1\r\n" + part
		}
		rs = append(rs, part+"\r\n\r\n")
	}
	last := len(rs) - 1
	rs[last] = strings.TrimSuffix(rs[last], "\r\n\r\n")
	return rs
}

func TestCheckAcrossFiles(t *testing.T) {
	rs := records(ours(t))
	first, second := members(rs[:4]...), members(rs[4:]...)
	codes, _ := checked(t, first, second)
	assert.Truef(t, strings.Join(codes, " ") == NoWarcinfo, "both: %q", codes)
	codes, _ = checked(t, second)
	assert.Truef(t, strings.Join(codes, " ") == NoWarcinfo+" "+MissingWarcinfo+" "+MissingOriginal, "the second: %q", codes)
}

func TestChecker_EmptyFileIsNotClean(t *testing.T) {
	for want, in := range map[string][]byte{
		NoRecord: nil, Garbage + " " + NoRecord: []byte("no archive\n"), ExtraLines + " " + NoRecord: []byte("\r\n\r\n"),
	} {
		codes, _ := checked(t, in)
		assert.Truef(t, strings.Join(codes, " ") == want, "%q: %q, want %q", in, codes, want)
	}
}

func TestDigestForms(t *testing.T) {
	for s, want := range map[string]bool{
		"sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ":                                    true,
		"SHA1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj":                                    true,
		"sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709":                            true,
		"md5:d41d8cd98f00b204e9800998ecf8427e":                                     true,
		"sha256:4OYMIQUY7QOBJGX36TEJS35ZEQT24QPEMSNZGTFESWMRW6CSXBKQ====":          true,
		"sha-256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855": true,
		"sha1:da39": false, "sha1": false, "crc:00": false, "": false,
	} {
		d := ParseDigest(s)
		assert.Falsef(t, (d != nil && d.want != nil) != want || want && !d.Holds(), "%q: %v", s, d)
	}
}

func coded(t *testing.T, coding, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 1)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	}
	require.NoError(t, err)
	io.WriteString(w, text) // a bytes.Buffer never fails
	w.Close()
	return b.String()
}

func TestBody(t *testing.T) {
	text := strings.Repeat("hello ", 1000)
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct{ name, block, want string }{
		{"plain", ok + "\r\n" + text, text},
		{"line feeds", "HTTP/1.0 200 OK\nA: b\n\n" + text, text},
		{"chunked", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1;x=y\r\n!\r\n0\r\nTrailer: x\r\n\r\n", "ok!"},
		{"declared as chunked", ok + "Transfer-Encoding: chunked\r\n\r\n<html>", "<html>"},
		{"gzip", ok + "Content-Encoding: GZip\r\n\r\n" + coded(t, "gzip", text), text},
		{"declared as gzip", ok + "Content-Encoding: gzip\r\n\r\n" + text, text},
		{"no coding", ok + "Content-Encoding: utf-8\r\n\r\n" + text, text},
		{"octets behind gzip", ok + "Content-Encoding: gzip\r\n\r\n" + coded(t, "gzip", text) + "junk", text},
		{"deflate", ok + "Content-Encoding: deflate\r\n\r\n" + coded(t, "deflate", text), text},
		{"bare deflate", ok + "Content-Encoding: deflate\r\n\r\n" + coded(t, "raw", text), text},
		{"br", ok + "Content-Encoding: br\r\n\r\n" + coded(t, "br", text), text},
		{"zstd", ok + "Content-Encoding: zstd\r\n\r\n" + coded(t, "zstd", text), text},
		{"two", ok + "Content-Encoding: gzip, br\r\n\r\n" + coded(t, "br", coded(t, "gzip", text)), text},
		{"empty", ok + "Content-Encoding: gzip\r\n\r\n", ""},
		{"no end of head", ok + "A: b", ""},
		{"no head", "\r\nhello", "hello"},
		{"unreadable head", "HTTP/1.1 200 OK\r\n: x\r\n\r\nhello", "hello"},
		{"long head", ok + "A: " + strings.Repeat("x", 4095) + "\r\n\r\nhello", "hello"},
	} {
		h, err := ReadHTTP(strings.NewReader(c.block))
		require.NoError(t, err, c.name)
		r, err := h.Body(1 << 20)
		require.NoError(t, err, c.name)
		b, err := io.ReadAll(r)
		assert.Truef(t, string(b) == c.want && err == nil, "%s: %d octets, %v, want %d", c.name, len(b), err, len(c.want))
	}
	h, _ := ReadHTTP(strings.NewReader(ok + "Content-Encoding: gzip\r\n\r\n" + coded(t, "gzip", text)))
	r, _ := h.Body(10)
	b, err := io.ReadAll(r)
	assert.Truef(t, string(b) == text[:10] && err == ErrTooLarge, "bounded: %q, %v", b, err)
	h, _ = ReadHTTP(strings.NewReader(ok + "Content-Encoding: compress\r\n\r\nx"))
	_, err = h.Body(10)
	assert.Error(t, err, "a coding that cannot be undone is")
}

func TestPayloadDigestOfChunks(t *testing.T) {
	body := "2\r\nok\r\n0\r\n\r\n"
	for digest, want := range map[string]string{labelled([]byte("ok")): "", labelled([]byte(body)): CodedDigest, labelled([]byte("no")): PayloadDigest} {
		block := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
		r := strings.Replace(rec("response", block), "Content-Length", "WARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http;msgtype=response\r\nWARC-Payload-Digest: "+digest+"\r\nContent-Length", 1)
		codes, _ := checked(t, members(r))
		assert.Equal(t, want, strings.TrimSpace(strings.TrimPrefix(strings.Join(codes, " "), NoWarcinfo)), digest)
	}
}

// Reading ends, and head and payload are the block, unless a transfer coding was undone.
func FuzzReadHTTP(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 304 x\nContent-Length: 7\n\nhello"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := ReadHTTP(bytes.NewReader(in))
		require.NoError(t, err)
		coded := h.Header.Get("Transfer-Encoding") != "" || h.Payload != io.Reader(&h.src)
		b, err := io.ReadAll(h.Payload)
		require.Falsef(t, !coded && (err != nil || !bytes.Equal(append(h.Head, b...), in)), "%q + %q of %q, %v", h.Head, b, in, err)
		require.True(t, h.Status >= 0 && h.Status <= 999, h.Status)
	})
}
