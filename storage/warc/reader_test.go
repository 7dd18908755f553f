package warc

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const plain = "WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n"

func TestReaderFields(t *testing.T) {
	rd := NewReader(bytes.NewReader(members("WARC/1.0\r\nwarc-type:metadata\r\nWARC-Record-ID: <urn:x:1>\r\n" +
		"WARC-Target-URI: <http://a.test/>\r\nWARC-Date: 2026-01-02T03:04:05.5Z\r\nX-Folded: one\r\n\t two \r\n" +
		"WARC-Concurrent-To: <urn:x:2>\r\nWARC-Concurrent-To: urn:x:3\r\ncontent-length:\t0\r\n\r\n\r\n\r\n")))
	rec, err := rd.Next()
	require.NoError(t, err)
	d, err := rec.Date()
	require.NoError(t, err)
	equal(t, "fields", []string{
		rec.Version, rec.Type, rec.ID(), rec.TargetURI(), d.String(), rec.Fields.Get("x-folded"), rec.ConcurrentTo(),
		strings.Join(rec.Fields.Values("Warc-Concurrent-To"), " "), rec.Fields.Get("none"),
	}, []string{
		"WARC/1.0", "metadata", "urn:x:1", "http://a.test/", "2026-01-02 03:04:05.5 +0000 UTC", "one two", "urn:x:2",
		"<urn:x:2> urn:x:3", "",
	})
	_, err = rd.Next()
	assert.Truef(t, err == io.EOF, "at the end: %v", err)
	_, err = rd.Next()
	assert.Truef(t, err == io.EOF, "and again: %v", err)
}

func TestReaderSkips(t *testing.T) {
	rd := NewReader(bytes.NewReader(members(plain, strings.ReplaceAll(plain, "hello", "world"))))
	first, err := rd.Next()
	require.NoError(t, err)
	if n, err := first.Block.Read(make([]byte, 2)); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	second, err := rd.Next()
	require.NoError(t, err)
	_, err = first.Block.Read(make([]byte, 1))
	assert.Truef(t, err != nil && err != io.EOF, "the passed block reads on: %v", err)
	b, err := io.ReadAll(second.Block)
	assert.Truef(t, string(b) == "world" && err == nil, "%q, %v", b, err)
}

func TestReaderRefuses(t *testing.T) {
	bad := slices.Clone(members(plain))
	bad[len(bad)-5] ^= 1
	for _, c := range []struct {
		name, want string
		in         []byte
	}{
		{"not gzip", "that are not a record", []byte(plain)},
		{"checksum", "checksum", bad},
		{"version", "that are not a record", members("HTTP/1.1 200 OK\r\n\r\n")},
		{"bare LF", "end in only LF", members(strings.ReplaceAll(plain, "\r", ""))},
		{"no colon", "is not a field", members("WARC/1.1\r\nx\r\n\r\n")},
		{"name with space", "is not a field", members("WARC/1.1\r\na b: c\r\n\r\n")},
		{"goes on from nothing", "is not a field", members("WARC/1.1\r\n a: b\r\n\r\n")},
		{"no length", "no Content-Length", members("WARC/1.1\r\n\r\n\r\n\r\n")},
		{"two lengths", "more than once", members("WARC/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n\r\n\r\n")},
		{"signed length", "Content-Length", members("WARC/1.1\r\nContent-Length: +5\r\n\r\nhello\r\n\r\n")},
		{"huge length", "Content-Length", members("WARC/1.1\r\nContent-Length: 9223372036854775808\r\n\r\n")},
		{"length too small", "not the end of a record", members(strings.ReplaceAll(plain, "5", "4"))},
		{"length too large", "member ends within", members(strings.ReplaceAll(plain, "5", "50"))},
		{"half an end", "one line end", members(plain[:len(plain)-1])},
		{"half a head", "member ends within", members(plain[:20])},
		{"two in one", "more than one record", members(plain + plain)},
		{"long line", "header of more than", members("WARC/1.1\r\nx: " + strings.Repeat("y", maxHead))},
		{"long head", "header of more than", members("WARC/1.1\r\n" + strings.Repeat("x: y\r\n", maxHead/6) + "\r\n")},
	} {
		rd := NewReader(bytes.NewReader(append(members(plain), c.in...)))
		var err error
		for err == nil {
			_, err = rd.Next()
		}
		assert.Truef(t, strings.Contains(err.Error(), c.want) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF), "%s: %v", c.name, err)
		_, again := rd.Next()
		assert.Truef(t, again == err, "%s: then %v", c.name, again)
		if _, again := rd.End(); again != err {
			t.Errorf("%s: then %v", c.name, again)
		}
	}
}

func TestReaderBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	bomb := members("WARC/1.1\r\nx: " + strings.Repeat("y", 64<<20))
	if n := allocation(func() {
		_, err := NewReader(bytes.NewReader(bomb)).Next()
		assert.True(t, strings.Contains(err.Error(), "header of more than"), err)
	}); n > 1<<20 {
		t.Errorf("allocated %d octets", n)
	}
}

// Records follow each other without gap, blocks have their length unless there is an error, and each record is found
// again at its offset.
func FuzzReader(f *testing.F) {
	segment, _ := threeExchanges(f)
	f.Add(segment, false)
	f.Add(segment[:len(segment)-3], false)
	f.Add([]byte(plain), true)
	f.Add([]byte("WARC/1.1\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, in []byte, compress bool) {
		if compress {
			in = members(string(in), string(in))
		}
		rd, at := NewReader(bytes.NewReader(in)), int64(0)
		for {
			rec, err := rd.Next()
			if err != nil {
				return
			}
			fields := slices.Clone(rec.Fields)
			n, err := io.Copy(io.Discard, rec.Block)
			require.Equalf(t, (n == rec.Length), (err == nil), "%d octets of %d, %v", n, rec.Length, err)
			end, err := rd.End()
			if err != nil {
				return
			}
			require.Truef(t, rec.Offset == at && end > at && end <= int64(len(in)), "record at %d–%d, the one before ended at %d", rec.Offset, end, at)
			again := NewReader(bytes.NewReader(in[at:end]))
			alone, err := again.Next()
			require.Truef(t, err == nil && slices.Equal(alone.Fields, fields) && alone.Length == n, "separately: %v, %v", alone, err)
			k, err := again.End()
			require.Truef(t, err == nil && k == end-at, "separately: ends at %d of %d, %v", k, end-at, err)
			at = end
		}
	})
}
