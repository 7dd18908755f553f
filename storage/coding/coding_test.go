package coding

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var codings = []string{"gzip", "br", "zstd", "deflate", "bare deflate"}

func code(t testing.TB, coding, s string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriterLevel(&b, 4)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	case "deflate":
		w = zlib.NewWriter(&b)
	default:
		w, err = flate.NewWriter(&b, 6)
	}
	require.NoError(t, err)
	_, err = io.WriteString(w, s)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func name(coding string) string { return strings.TrimPrefix(coding, "bare ") }

func TestContentEncodingNamesCodingsOrNone(t *testing.T) {
	for _, c := range []struct {
		values string
		undo   []string
		stays  string
	}{
		{"", nil, ""}, {"identity", nil, ""}, {"gzip", []string{"gzip"}, ""}, {" X-GZIP ", []string{"gzip"}, ""},
		{"gzip, br", []string{"gzip", "br"}, ""}, {"gzip|br", []string{"gzip", "br"}, ""}, {"gzip;q=1.0", []string{"gzip"}, ""},
		{"utf-8", nil, ""}, {"none", nil, ""}, {"8bit", nil, ""}, {"text/html; charset=utf-8", nil, ""}, {"UTF-8,gzip", []string{"gzip"}, ""},
		{"compress", nil, "compress"}, {"gzip, Compress", nil, "gzip, Compress"}, {"gzip|dcz", nil, "gzip, dcz"},
		{"br,br,br,br", []string{"br", "br", "br", "br"}, ""}, {"br,br,br,br,br", nil, "br,br,br,br,br"},
	} {
		undo, stays := Of(http.Header{"Content-Encoding": strings.Split(c.values, "|")})
		assert.Truef(t, slices.Equal(undo, c.undo) && stays == c.stays, "%q: %q, stays %q", c.values, undo, stays)
	}
}

func TestDecode_MislabelledBodyIsPlain(t *testing.T) {
	const page = "<!DOCTYPE html><p>bread</p>"
	for _, coding := range codings {
		for _, body := range []string{page, "\n <html>", "<?xml version='1.0'?><a/>"} {
			got, err := io.ReadAll(NewReader(strings.NewReader(body), []string{name(coding)}, nil))
			assert.Truef(t, err == nil && string(got) == body, "%s: %q, %v", coding, got, err)
		}
	}
	for _, coding := range []string{"gzip", "zstd"} { // which have a sign
		for _, body := range []string{"b", "user-agent: *\ndisallow: /\n", "\x00\x01"} {
			got, err := io.ReadAll(NewReader(strings.NewReader(body), []string{coding}, nil))
			assert.Truef(t, err == nil && string(got) == body, "%s: %q, %v", coding, got, err)
		}
	}
	for _, coding := range codings {
		whole := code(t, coding, page)
		got, err := io.ReadAll(NewReader(strings.NewReader(whole[:1]), []string{name(coding)}, nil))
		assert.Errorf(t, err, "%s: its first octet decodes to %q", coding, got)
	}
}

func TestGzip_IgnoresTrailingBytes(t *testing.T) {
	sent := code(t, "gzip", "<p>") + code(t, "gzip", "bread</p>") + "\x00\x00junk"
	got, err := io.ReadAll(NewReader(strings.NewReader(sent), []string{"gzip"}, nil))
	assert.Truef(t, err == nil && string(got) == "<p>bread</p>", "%q, %v", got, err)
}

func TestDecode_BoundsBytesBetweenCodings(t *testing.T) {
	nothing := strings.Repeat(code(t, "gzip", ""), 1<<16) // members without an octet
	bomb := code(t, "zstd", nothing)
	require.LessOrEqualf(t, len(bomb), len(nothing)/100, "a bomb of %d octets is too small", len(bomb))
	undo := []string{"gzip", "zstd"}
	n, err := io.Copy(io.Discard, newReader(strings.NewReader(bomb), undo, nil, int64(len(nothing)-1)))
	assert.Truef(t, errors.Is(err, ErrTooLarge) && n == 0, "%d octets, %v", n, err)
	n, err = io.Copy(io.Discard, newReader(strings.NewReader(bomb), undo, nil, int64(len(nothing))))
	assert.Truef(t, err == nil && n == 0, "as much as there may be: %d octets, %v", n, err)
}

// Decoding inverts nested encoders for any bytes and read sizes.
func FuzzCodingRoundTrip(f *testing.F) {
	f.Add([]byte("<p>bread</p>"), byte(0), byte(1), byte(3))
	f.Add([]byte(""), byte(1), byte(9), byte(1))
	f.Add(bytes.Repeat([]byte("bread "), 600), byte(2), byte(3), byte(200))
	var pool Pool
	f.Fuzz(func(t *testing.T, plain []byte, inner, outer, step byte) {
		coding := codings[int(inner)%len(codings)]
		sent, undo := code(t, coding, string(plain)), []string{name(coding)}
		if int(outer) < len(codings) {
			coding = codings[outer]
			sent, undo = code(t, coding, sent), append(undo, name(coding))
		}
		r := NewReader(&slowly{sent, int(step)%512 + 1}, undo, &pool)
		defer r.Close()
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equalf(t, string(plain), string(got), "%s: %d octets became %d", undo, len(plain), len(got))
	})
}

type slowly struct {
	s    string
	most int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.most)], s.s)
	s.s = s.s[n:]
	return n, nil
}

// Decoding any bytes ends, within the memory of a window, and the decoder can be reused.
func FuzzCodingGarbage(f *testing.F) {
	for i, coding := range codings {
		s := code(f, coding, strings.Repeat("bread ", 100))
		f.Add([]byte(s), byte(i))
		f.Add([]byte(s[:len(s)/2]), byte(i))
		f.Add(append([]byte(s), s...), byte(i))
	}
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01, 0, 0}, byte(2)) // a content of 2^63
	f.Add(binary.LittleEndian.AppendUint32([]byte{0x5d, 0x2a, 0x4d, 0x18}, 1<<32-1), byte(2))                        // a skippable frame of 4 GiB
	var pool Pool
	f.Fuzz(func(t *testing.T, garbage []byte, which byte) {
		const most, window = 1 << 20, 32 << 20
		coding := codings[int(which)%len(codings)]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(bytes.NewReader(garbage), []string{name(coding)}, &pool)
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(r, most), make([]byte, 32<<10))
		r.Close()
		runtime.ReadMemStats(&after)
		grown := after.TotalAlloc - before.TotalAlloc
		assert.Truef(t, grown <= window, "%s: %d octets allocated %d MiB", coding, len(garbage), grown>>20)
		if n == 0 && err == nil && len(garbage) > 64 && coding == "gzip" && !bytes.HasPrefix(garbage, []byte(gzipSign)) {
			t.Errorf("%s: nothing, and no error, of %q", coding, garbage)
		}
		next := NewReader(strings.NewReader(code(t, coding, "bread")), []string{name(coding)}, &pool)
		got, err := io.ReadAll(next)
		assert.Truef(t, err == nil && string(got) == "bread", "%s: the next body is %q, %v", coding, got, err)
		next.Close()
	})
}

func TestPooledDecoderLetsGo(t *testing.T) {
	for _, coding := range codings {
		var pool Pool
		r := NewReader(strings.NewReader(code(t, coding, strings.Repeat("bread ", 1000))), []string{name(coding)}, &pool)
		_, err := io.ReadFull(r, make([]byte, 10))
		require.NoError(t, err)
		d := r.chain[0]
		r.Close()
		n, err := r.Read(make([]byte, 10))
		assert.Truef(t, n == 0 && errors.Is(err, io.EOF), "%s: when closed, %d octets and %v", coding, n, err)
		if n, err := d.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: in the pool, %d octets and %v", coding, n, err)
		}
	}
}
